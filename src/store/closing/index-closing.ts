/** Counts the rows of a closed period and builds the filter of its references. Until then, every reference of a batch is looked up. */
import type { OpenClient, Queryable } from '../connection/open-client.ts'
import { one } from '../connection/rows.ts'
import { closedTable, type Closing } from './closings.ts'
import { addKey, emptyFilter } from './filter.ts'

export type IndexOptions = {
  readonly onProgress?: (done: number, of: number) => void
  readonly signal?: AbortSignal
  /** The size of a part of the filter. */
  readonly partBytes?: number
}

export type Indexed = { readonly transfers: number; readonly outcomes: number; readonly filterBytes: number }

const keyBytes = 16
const keysPerRead = 50_000
const mostPartBytes = 1_048_576

/** The connection needs no limit for the time of a statement. Interrupted, it can be repeated. */
export async function indexClosing(client: OpenClient, { id }: Closing, options: IndexOptions = {}): Promise<Indexed> {
  // Its rows never change again: after this no vacuum needs to read them, and a question of its keys reads the index alone.
  for (const name of ['transfers', 'outcomes'] as const) {
    options.signal?.throwIfAborted()
    await client.query(`vacuum (freeze, analyze) ${closedTable(name, id)}`)
  }
  const [transfers, outcomes] = [await countRows(client, 'transfers', id), await countRows(client, 'outcomes', id)]
  const filter = await buildFilter(client, id, outcomes, options)
  await storeFilter(client, id, filter, { transfers, outcomes, partBytes: options.partBytes ?? mostPartBytes })
  return { transfers, outcomes, filterBytes: filter.byteLength }
}

async function countRows(db: Queryable, name: 'transfers' | 'outcomes', id: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`select count(*)::float8 as count from ${closedTable(name, id)}`)
  return one(rows).count
}

async function buildFilter(
  db: Queryable,
  id: number,
  outcomes: number,
  { onProgress, signal }: IndexOptions,
): Promise<Uint32Array> {
  const filter = emptyFilter(outcomes)
  let after: string | null = null
  let done = 0
  for (;;) {
    signal?.throwIfAborted()
    const keys: Buffer | null = await readKeys(db, id, after)
    if (!keys) break
    for (let at = 0; at < keys.length; at += keyBytes) addKey(filter, keys.readUInt32BE(at), keys.readUInt32BE(at + 12))
    after = keys.toString('hex', keys.length - keyBytes)
    done += keys.length / keyBytes
    onProgress?.(done, outcomes)
  }
  if (done !== outcomes) throw new Error(`Of ${outcomes} references of closed period ${id}, ${done} were read.`)
  return filter
}

/** The next keys in their order, one after the other; null after the last. */
async function readKeys(db: Queryable, id: number, after: string | null): Promise<Buffer | null> {
  const { rows } = await db.query<{ keys: Buffer | null }>(
    `select string_agg(uuid_send(reference_key), '' order by reference_key) as keys from (
       select reference_key from ${closedTable('outcomes', id)} where $1::uuid is null or reference_key > $1
       order by reference_key limit ${keysPerRead}) as k`,
    [after],
  )
  return one(rows).keys
}

/** All parts and the counts, or nothing: no process reads half of a filter. */
async function storeFilter(
  client: OpenClient,
  id: number,
  filter: Uint32Array,
  { transfers, outcomes, partBytes }: Omit<Indexed, 'filterBytes'> & { readonly partBytes: number },
): Promise<void> {
  const bytes = Buffer.from(filter.buffer)
  await client.query('begin')
  try {
    await client.query('delete from closed_references where closing_id = $1', [id])
    for (let part = 0; part * partBytes < bytes.length; part++)
      await client.query('insert into closed_references (closing_id, part, bytes) values ($1, $2, $3)', [
        id,
        part,
        bytes.subarray(part * partBytes, (part + 1) * partBytes),
      ])
    await client.query(
      'update closings set transfers = $2, outcomes = $3, indexed_at = clock_timestamp() where id = $1',
      [id, transfers, outcomes],
    )
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
