/** Closes the open period of the ledger, and builds the filters of closed periods that have none. */
import { closeLedger, ClosingRefused } from '../../store/closing/close-ledger.ts'
import { listClosings, type Closing } from '../../store/closing/closings.ts'
import { indexClosing, type Indexed, type IndexOptions } from '../../store/closing/index-closing.ts'
import type { Connection, OpenClient, Queryable } from '../../store/connection/open-client.ts'
import { withPatientClient } from '../../store/connection/patient-client.ts'
import { recordAudit, type Actor } from '../audit.ts'

export type ClosedPeriod = Pick<Closing, 'id' | 'closedAt'> & Indexed

type Options = IndexOptions & { readonly onClosed?: (closing: Closing) => void }

/** Interrupted after the closing, it leaves a period without a filter, which the next call, or `indexPeriods`, builds. */
export async function closePeriod(
  connection: Connection,
  actor: Actor,
  options: Options = {},
): Promise<ClosedPeriod[]> {
  const record = (db: Queryable, id: number) => recordAudit(db, actor, 'period.close', `period:${id}`)
  const { signal } = options
  return await withPatientClient(connection, 'billfold period', async (client) => {
    const closing = await closeLedger(connection, client, { record, ...(signal && { signal }) })
    options.onClosed?.(closing)
    return await indexMissing(client, options)
  })
}

export async function indexPeriods(
  connection: Connection,
  actor: Actor,
  options: IndexOptions = {},
): Promise<ClosedPeriod[]> {
  return await withPatientClient(connection, 'billfold period', async (client) => {
    const missing = (await listClosings(client)).filter(({ isIndexed }) => !isIndexed)
    if (missing.length > 0) await recordAudit(client, actor, 'period.index', `period:${missing[0]!.id}`)
    return await indexMissing(client, options)
  })
}

async function indexMissing(client: OpenClient, options: IndexOptions): Promise<ClosedPeriod[]> {
  const done: ClosedPeriod[] = []
  for (const closing of await listClosings(client)) {
    if (closing.isIndexed) continue
    if (closing.archivedAt)
      throw new ClosingRefused(
        `The filter of period ${closing.id} is built from its references, and those are in files. Bring it back first: npx billfold archive restore ${closing.id} --from FOLDER.`,
      )
    done.push({ id: closing.id, closedAt: closing.closedAt, ...(await indexClosing(client, closing, options)) })
  }
  return done
}
