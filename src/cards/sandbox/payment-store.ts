/**
 * Where the sandbox keeps its payments. The service gives it a table, so that payments survive a restart and every
 * process sees the same ones; a record is opaque text to whoever stores it.
 */
export type SandboxRecord = {
  readonly id: string
  /** 1 when a record is first written, one more with every change. */
  readonly version: number
  readonly document: string
  readonly createdAt: Date
  /** When something is to happen by itself: a payment settles, a webhook is sent. */
  readonly dueAt: Date | undefined
}

export type SandboxStore = {
  find(id: string): Promise<SandboxRecord | undefined>
  /** Compare and set: writes only over version `record.version - 1` (none, for version 1), atomically. False when somebody else was first. */
  put(record: SandboxRecord): Promise<boolean>
  /** By `createdAt`, the newest first. */
  listNewest(limit: number): Promise<readonly SandboxRecord[]>
  /** Those with a `dueAt` at or before `now`, the longest overdue first. */
  listDue(now: Date, limit: number): Promise<readonly SandboxRecord[]>
}

/** A full implementation for one process that may forget: what unit tests use, and all that a throw-away demo needs. */
export function createMemorySandboxStore(): SandboxStore {
  const records = new Map<string, SandboxRecord>()
  return {
    find: async (id) => records.get(id),
    put: async (record) => {
      if ((records.get(record.id)?.version ?? 0) !== record.version - 1) return false
      records.set(record.id, record)
      return true
    },
    listNewest: async (limit) =>
      [...records.values()].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime()).slice(0, limit),
    listDue: async (now, limit) =>
      [...records.values()]
        .filter((record) => record.dueAt && record.dueAt <= now)
        .sort((a, b) => a.dueAt!.getTime() - b.dueAt!.getTime())
        .slice(0, limit),
  }
}
