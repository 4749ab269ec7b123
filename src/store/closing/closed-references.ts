/**
 * What a process knows of the references of closed periods: a filter of each, in its memory. A batch whose references are in no filter need
 * not look them up, if its statement finds that no further period was closed. Until every filter is read, and after one was closed, each
 * reference is looked up in all periods: that costs time and changes no answer. On a cluster every batch looks its references up in the closed
 * periods, and the filters are those of the archived ones.
 */
import type { Connection, Queryable } from '../connection/open-client.ts'
import { maybe } from '../connection/rows.ts'
import { openClient } from '../connection/servers.ts'
import { listClosings, noMark } from './closings.ts'
import { emptyFilter, mayHaveKey } from './filter.ts'

export type KnownClosings = {
  /** The mark of the last one; on a cluster, of the last archived one. */
  readonly lastMark: string
  /** Of a reference key, in hex. */
  readonly mayHave: (referenceKey: string) => boolean
}

export type ClosedReferences = {
  /** Undefined while not every filter is known. Asking also begins to read them. */
  readonly known: () => KnownClosings | undefined
  /** A statement found that the last period has this mark. */
  readonly found: (lastMark: string) => void
  readonly close: () => void
}

const retryMs = 1_000

export function openClosedReferences(connection: Connection, onFault: (error: unknown) => void): ClosedReferences {
  let known: KnownClosings | undefined
  let isReading = false
  let isClosed = false
  let askAgainAt = -Infinity
  const filters = new Map<string, Uint32Array>()
  const read = async () => {
    const client = await openClient(connection, { name: 'billfold closed references' })
    try {
      return await readFilters(client, filters, () => isClosed, client.isCluster())
    } finally {
      await client.end()
    }
  }
  const begin = () => {
    if (isReading || isClosed || performance.now() < askAgainAt) return
    isReading = true
    read()
      .then((found) => (known = found), onFault)
      .finally(() => {
        isReading = false
        askAgainAt = performance.now() + retryMs
      })
  }
  return {
    known: () => {
      if (!known) begin()
      return known
    },
    found: (lastMark) => {
      if (known?.lastMark !== lastMark) known = undefined
    },
    close: () => void (isClosed = true),
  }
}

/** Adds the filters that are missing, by mark. Undefined while one is being built. */
export async function readFilters(
  db: Queryable,
  filters: Map<string, Uint32Array>,
  isClosed: () => boolean,
  onlyArchived = false,
): Promise<KnownClosings | undefined> {
  const closings = (await listClosings(db)).filter(({ archivedAt }) => !onlyArchived || archivedAt !== null)
  for (const { id, mark, outcomes } of closings) {
    if (outcomes === null || isClosed()) return undefined
    if (!filters.has(mark)) filters.set(mark, await readFilter(db, id, outcomes))
  }
  const all = closings.map(({ mark }) => filters.get(mark)!)
  return {
    lastMark: closings.at(-1)?.mark ?? noMark,
    mayHave: (key) => {
      if (all.length === 0) return false
      const [first, last] = [Number.parseInt(key.slice(0, 8), 16), Number.parseInt(key.slice(-8), 16)]
      return all.some((filter) => mayHaveKey(filter, first, last))
    },
  }
}

async function readFilter(db: Queryable, closingId: number, outcomes: number): Promise<Uint32Array> {
  const filter = emptyFilter(outcomes)
  const bytes = new Uint8Array(filter.buffer)
  let at = 0
  for (let part = 0; at < bytes.length; part++) {
    const { rows } = await db.query<{ bytes: Buffer }>(
      'select bytes from closed_references where closing_id = $1 and part = $2',
      [closingId, part],
    )
    const found = maybe(rows)?.bytes
    if (!found || at + found.length > bytes.length)
      throw new Error(`The filter of closed period ${closingId} is damaged at part ${part}: run billfold period index.`)
    bytes.set(found, at)
    at += found.length
  }
  return filter
}
