/**
 * The sandbox's store of payments. The service backs it with a table, so that payments survive a restart and every process sees the
 * same ones. The store treats a document as opaque text.
 */
export type SandboxRow = {
  readonly id: string
  /** Starts at 1; every change adds one. */
  readonly version: number
  readonly document: string
  readonly createdAt: Date
}

export type SandboxStore = {
  find(id: string): Promise<SandboxRow | undefined>
  /**
   * Compare and set: writes only over version `row.version - 1` (none, for version 1), atomically. False when another writer was
   * first. At `dueAt` (a payment ends, a webhook is due) the service calls `deliverDue`.
   */
  put(row: SandboxRow & { readonly dueAt: Date | undefined }): Promise<boolean>
  /** The newest first, by `createdAt`. */
  listNewest(limit: number): Promise<readonly SandboxRow[]>
  /** Ordered by id, after this one. */
  listAfter(id: string, limit: number): Promise<readonly SandboxRow[]>
}
