/** Builds what stays in the database of an archived period's references. Until the period is dropped, nothing reads it. */
import { isSpread, type Checking } from '../../cluster/agreement.ts'
import { readOnNodes } from '../../cluster/period-pages.ts'
import type { Queryable } from '../../connection/open-client.ts'
import { plainArray } from '../../connection/arrays.ts'
import { one } from '../../connection/rows.ts'
import { closedTable } from '../closings.ts'
import { carriedTable, walletsPerPart } from './archived-periods.ts'
import { createCarriedSql } from './carried-tables.ts'
import { openBlocks, type ArchivedReference, type ReferenceBlock } from './reference-blocks.ts'
import { readRows } from './write-archive.ts'

export type CarriedCounts = { readonly refusals: number; readonly holds: number }

export async function carryReferences(
  client: Checking,
  period: number,
  onProgress?: (done: number) => void,
): Promise<CarriedCounts> {
  const outcomes = closedTable('outcomes', period)
  await client.query('begin')
  try {
    for (const name of ['references', 'wallet_ids'] as const)
      for (const sql of createCarriedSql(name, period)) await client.query(sql)
    await client.query(numberSql(period, outcomes))
    let blocks: ReferenceBlock[] = []
    const packed = openBlocks((block) => void blocks.push(block))
    const store = async () => {
      await insertBlocks(client, period, blocks)
      blocks = []
    }
    let done = 0
    const pages = isSpread(client)
      ? referencesOnNodes(client, outcomes)
      : readRows<ArchivedReference>(client, referencesSql(outcomes))
    for await (const rows of pages) {
      for (const row of rows) packed.add(row)
      await store()
      onProgress?.((done += rows.length))
    }
    packed.flush()
    await store()
    const counts = await countResults(client, outcomes)
    await client.query('commit')
    return counts
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** A number is a wallet's ordinal among those of the period. */
const numberSql = (period: number, outcomes: string) => `
create temporary table archived_numbers on commit drop as
  select wallet_id, (row_number() over (order by wallet_id) - 1)::integer as number from (select distinct wallet_id from ${outcomes}) w;
create unique index on archived_numbers (wallet_id);
analyze archived_numbers;
insert into ${carriedTable('wallet_ids', period)} (part, ids)
  select number / ${walletsPerPart}, array_agg(wallet_id order by number) from archived_numbers group by 1 order by 1`

const referenceColumns = `replace(o.reference_key::text, '-', '') as key, o.amount as "amountMinor", o.balance as "balanceMinor",
  case when o.sequence is not null then 'ENTRY' else coalesce(o.refusal, 'HOLD') end as result, coalesce(o.held, 0) as "heldMinor"`

const referencesSql = (outcomes: string) => `
select ${referenceColumns}, n.number as wallet from ${outcomes} o join archived_numbers n on n.wallet_id = o.wallet_id order by o.reference_key`

/** The numbers are on one server, the outcomes on all of them. */
async function* referencesOnNodes(client: Queryable, outcomes: string): AsyncGenerator<ArchivedReference[]> {
  const columns = `${referenceColumns}, o.wallet_id as "walletId"`
  const pages = readOnNodes<Omit<ArchivedReference, 'wallet'> & { walletId: string }>(
    client,
    outcomes,
    'reference_key',
    columns,
  )
  for await (const rows of pages) {
    const numbers = await client.query<{ id: string; number: number }>(
      'select wallet_id as id, number from archived_numbers where wallet_id = any($1::uuid[])',
      [plainArray(rows, ({ walletId }) => walletId)],
    )
    const numberOf = new Map(numbers.rows.map(({ id, number }) => [id, number]))
    yield rows.map((row) => ({ ...row, wallet: numberOf.get(row.walletId)! }))
  }
}

async function insertBlocks(client: Queryable, period: number, blocks: readonly ReferenceBlock[]): Promise<void> {
  if (blocks.length === 0) return
  await client.query(
    `insert into ${carriedTable('references', period)} (first_key, keys, prefix_bits, wallet_bits, amount_bits, balance_bits, held_bits, bits)
     select first_key, keys, prefix_bits, wallet_bits, amount_bits, balance_bits, held_bits, ('x' || bits)::bit varying
     from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::smallint[], $5::smallint[], $6::smallint[], $7::smallint[], $8::text[])
       as b(first_key, keys, prefix_bits, wallet_bits, amount_bits, balance_bits, held_bits, bits)`,
    [
      plainArray(blocks, ({ firstKey }) => firstKey),
      plainArray(blocks, ({ keys }) => keys),
      plainArray(blocks, ({ prefixBits }) => prefixBits),
      plainArray(blocks, ({ walletBits }) => walletBits),
      plainArray(blocks, ({ amountBits }) => amountBits),
      plainArray(blocks, ({ balanceBits }) => balanceBits),
      plainArray(blocks, ({ heldBits }) => heldBits),
      plainArray(blocks, ({ bits }) => bits),
    ],
  )
}

async function countResults(client: Queryable, outcomes: string): Promise<CarriedCounts> {
  const { rows } = await client.query<CarriedCounts>(
    `select count(refusal)::float8 as refusals, count(is_hold)::float8 as holds from ${outcomes}`,
  )
  return one(rows)
}
