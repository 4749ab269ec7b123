/** Exchanges the tables of a closed period for what stays of it, in one short transaction. Either all of it happens or nothing. */
import type { Connection, OpenClient, Queryable } from '../../connection/open-client.ts'
import { locks } from '../../locks.ts'
import { isSpread } from '../../cluster/agreement.ts'
import { exchangeTables, type CloseOptions } from '../close-ledger.ts'
import { closedTable, listClosings, periodsIn } from '../closings.ts'
import { ArchiveRefused } from './archive-file.ts'
import { viewsSql, type Archive } from './archived-periods.ts'

export type DropOptions = CloseOptions & {
  readonly period: number
  readonly archive: Pick<Archive, 'sha256' | 'refusals' | 'holds' | 'carried'>
}

export async function dropPeriod(
  connection: Connection,
  client: OpenClient,
  { period, archive, ...options }: DropOptions,
): Promise<void> {
  await exchangeTables(connection, client, options, async () => {
    const closings = await listClosings(client)
    const isNext = periodsIn(closings, 'database')[0] === period
    if (!isNext) throw new ArchiveRefused(`Period ${period} is not the oldest one in the database any more.`)
    await options.record(client, period)
    await restartRound(client)
    const closed = periodsIn(closings, 'database').filter((id) => id !== period)
    await client.query(
      `insert into archives (closing_id, sha256, refusals, holds, carried) values ($1, $2, $3, $4, $5)`,
      [period, archive.sha256, archive.refusals, archive.holds, archive.carried],
    )
    const dropped = (['transfers', 'outcomes'] as const).map((name) => closedTable(name, period))
    return [
      // A reader that needs one snapshot has locked closings first.
      `lock table closings, ${dropped.join()} in access exclusive mode`,
      ...viewsSql(closed, [...periodsIn(closings, 'files'), period], isSpread(client)),
      `drop table ${dropped.join()}`,
    ]
  })
}

/** The sums of a round of the continuous check would be partly of the time before, partly of the time after. */
export async function restartRound(db: Queryable): Promise<void> {
  await db.query('select pg_advisory_xact_lock($1)', [locks.booksCheck])
  await db.query('update books_check set cursor = null')
}
