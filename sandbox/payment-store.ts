/**
 * Where the sandbox keeps its payments. The service gives it a table, so that payments survive a restart and every process sees the
 * same ones; a row is opaque text to the store.
 */
export type SandboxRow = {
  readonly id: string
  /** 1 when a row is first written, one more with every change. */
  readonly version: number
  readonly document: string
  readonly createdAt: Date
}

export type SandboxStore = {
  find(id: string): Promise<SandboxRow | undefined>
  /**
   * Compare and set: writes only over version `row.version - 1` (none, for version 1), atomically. False when another writer was
   * first. `dueAt`: when something is to happen by itself (a payment ends, a webhook is sent); the service then calls `deliverDue`.
   */
  put(row: SandboxRow & { readonly dueAt: Date | undefined }): Promise<boolean>
  /** By `createdAt`, the newest first. */
  listNewest(limit: number): Promise<readonly SandboxRow[]>
  /** By id, those after this one. */
  listAfter(id: string, limit: number): Promise<readonly SandboxRow[]>
}
