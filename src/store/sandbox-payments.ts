/** Where the sandbox processor keeps its payments, for every process to see the same. */
import type { Queryable } from './connection/database.ts'

/** As the sandbox's own store wants it: the document is opaque here. */
type SandboxRow = {
  readonly id: string
  readonly version: number
  readonly document: string
  readonly createdAt: Date
  readonly dueAt: Date | undefined
}

type Row = { id: string; version: number; document: string; created_at: Date; due_at: Date | null }

export function openSandboxPayments(db: Queryable) {
  const list = async (text: string, values: unknown[]): Promise<SandboxRow[]> =>
    (await db.query<Row>(text, values)).rows.map(toSandboxRow)
  return {
    find: async (id: string) => (await list('select * from sandbox_payments where id = $1', [id]))[0],
    put: (row: SandboxRow) => put(db, row),
    listNewest: (limit: number) => list('select * from sandbox_payments order by created_at desc limit $1', [limit]),
    listAfter: (id: string, limit: number) =>
      list('select * from sandbox_payments where id > $1 order by id limit $2', [id, limit]),
    listDue: (now: Date, limit: number) =>
      list('select * from sandbox_payments where due_at <= $1 order by due_at limit $2', [now, limit]),
  }
}

/** One statement, so that of two writers of one version exactly one writes. */
async function put(db: Queryable, { id, version, document, createdAt, dueAt }: SandboxRow): Promise<boolean> {
  const values = [id, version, document, createdAt, dueAt ?? null]
  const text =
    version === 1
      ? `insert into sandbox_payments (id, version, document, created_at, due_at) values ($1, $2, $3, $4, $5)
         on conflict (id) do nothing`
      : `update sandbox_payments set version = $2, document = $3, created_at = $4, due_at = $5
         where id = $1 and version = $2 - 1`
  return (await db.query(text, values)).rowCount === 1
}

function toSandboxRow({ id, version, document, created_at: createdAt, due_at }: Row): SandboxRow {
  return { id, version, document, createdAt, dueAt: due_at ?? undefined }
}
