/** Stores the sandbox processor's payments, so that every process sees the same ones. */
import { transact, type Database } from './connection/database.ts'
import { addWork } from './work/work.ts'

/** Matches the sandbox's store. The document is opaque here. */
type SandboxRow = {
  readonly id: string
  readonly version: number
  readonly document: string
  readonly createdAt: Date
}

type NewSandboxRow = SandboxRow & { readonly dueAt: Date | undefined }

type Row = { id: string; version: number; document: string; created_at: Date }

export function openSandboxPayments(db: Database) {
  const list = async (text: string, values: unknown[]): Promise<SandboxRow[]> =>
    (await db.pool.query<Row>(text, values)).rows.map(toSandboxRow)
  return {
    find: async (id: string) => (await list('select * from sandbox_payments where id = $1', [id]))[0],
    put: (row: NewSandboxRow) => put(db, row),
    listNewest: (limit: number) => list('select * from sandbox_payments order by created_at desc limit $1', [limit]),
    listAfter: (id: string, limit: number) =>
      list('select * from sandbox_payments where id > $1 order by id limit $2', [id, limit]),
  }
}

/** One statement writes the row, so that of two writers of the same version exactly one succeeds. */
async function put(db: Database, { id, version, document, createdAt, dueAt }: NewSandboxRow): Promise<boolean> {
  const text =
    version === 1
      ? `insert into sandbox_payments (id, version, document, created_at) values ($1, $2, $3, $4) on conflict (id) do nothing`
      : `update sandbox_payments set version = $2, document = $3, created_at = $4 where id = $1 and version = $2 - 1`
  return await transact(db, async (tx) => {
    const isWritten = (await tx.query(text, [id, version, document, createdAt])).rowCount === 1
    if (isWritten && dueAt) await addWork(tx, { kind: 'deliver-sandbox-webhook', key: id, dueAt })
    return isWritten
  })
}

function toSandboxRow({ id, version, document, created_at: createdAt }: Row): SandboxRow {
  return { id, version, document, createdAt }
}
