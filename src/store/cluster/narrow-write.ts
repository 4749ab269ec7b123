/**
 * Writes a careful batch while a node is away. The usual statement has parts that read the rows of other parts, which Citus sends to every
 * node. These statements have only parameters, so Citus asks the nodes that have a row of the batch.
 */
import { textArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/open-client.ts'
import { ledgerInserts, operationsSql, walletUpdateSql, type DecidedRows } from '../writer/ledger-rows.ts'
import { roundTrip, walletClockSql } from './batch.ts'

/** The time is read as text: a Date drops the microseconds, and an entry could then be older than the one before it. */
const updateSql = `with changed as (${walletUpdateSql} and w.id = any($1::uuid[]) returning w.id, ${walletClockSql} as at)
  select id, at::text from changed`

const operationSql = `with operation as (select * from ${operationsSql(1, { at: 'timestamptz' })})`
const { transfers, outcomes, positions } = ledgerInserts('$14', { hasHolds: true })

/** Returns what sends the inserts, with the time at which each wallet was updated. */
export async function updateOnNodes(
  client: Queryable,
  { wallets, operations, walletIds }: DecidedRows,
): Promise<(writer: number) => Promise<unknown>> {
  const { rows } = await client.query<{ id: string; at: string }>(updateSql, [...wallets])
  const clocks = new Map(rows.map(({ id, at }) => [id, at]))
  const values = [...operations, textArray(walletIds, (id) => clocks.get(id)!)]
  return (writer) =>
    roundTrip([
      client.query(`${operationSql}${transfers}`, values),
      client.query(`${operationSql}${outcomes}`, values),
      client.query(`${operationSql}${positions}`, [...values, String(writer)]),
    ])
}
