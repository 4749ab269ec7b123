/** Builds what stays in the database of an archived period's references. Until the period is dropped, nothing reads it. */
import type { Queryable } from '../../connection/open-client.ts'
import { plainArray } from '../../connection/arrays.ts'
import { one } from '../../connection/rows.ts'
import { closedTable } from '../closings.ts'
import { carriedTable, walletsPerPart } from './archived-periods.ts'
import { openBlocks, type ArchivedReference, type ReferenceBlock } from './reference-blocks.ts'
import { readRows } from './write-archive.ts'

export type CarriedCounts = { readonly refusals: number; readonly holds: number }

export async function carryReferences(
  client: Queryable,
  period: number,
  onProgress?: (done: number) => void,
): Promise<CarriedCounts> {
  const outcomes = closedTable('outcomes', period)
  await client.query('begin')
  try {
    await client.query(createSql(period))
    await client.query(numberSql(period, outcomes))
    let blocks: ReferenceBlock[] = []
    const packed = openBlocks((block) => void blocks.push(block))
    const store = async () => {
      await insertBlocks(client, period, blocks)
      blocks = []
    }
    let done = 0
    for await (const rows of readRows<ArchivedReference>(client, referencesSql(outcomes))) {
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

/** A number is a wallet's ordinal among those of the period. What an interrupted run left is replaced. */
const createSql = (period: number) => `
drop table if exists ${carriedTable('references', period)}, ${carriedTable('wallet_ids', period)};
create table ${carriedTable('references', period)} (
  first_key uuid primary key, keys smallint not null, prefix_bits smallint not null, wallet_bits smallint not null, amount_bits smallint not null,
  balance_bits smallint not null, held_bits smallint not null, bits bit varying not null);
alter table ${carriedTable('references', period)} alter column bits set storage plain;
create table ${carriedTable('wallet_ids', period)} (part integer primary key, ids uuid[] not null)`

const numberSql = (period: number, outcomes: string) => `
create temporary table archived_numbers on commit drop as
  select wallet_id, (row_number() over (order by wallet_id) - 1)::integer as number from (select distinct wallet_id from ${outcomes}) w;
analyze archived_numbers;
insert into ${carriedTable('wallet_ids', period)} (part, ids)
  select number / ${walletsPerPart}, array_agg(wallet_id order by number) from archived_numbers group by 1 order by 1`

const referencesSql = (outcomes: string) => `
select replace(o.reference_key::text, '-', '') as key, n.number as wallet, o.amount as "amountMinor", o.balance as "balanceMinor",
  case when o.sequence is not null then 'ENTRY' else coalesce(o.refusal, 'HOLD') end as result, coalesce(o.held, 0) as "heldMinor"
from ${outcomes} o join archived_numbers n on n.wallet_id = o.wallet_id order by o.reference_key`

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
