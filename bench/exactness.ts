/** Checks the books after the load: every acknowledged operation is there once, there is no other, and all sums agree. */
import type { BenchDatabase } from './cluster.ts'
import type { Result } from './job.ts'

export type Acknowledged = { posted: number; refused: number; replayed: number }

export function addAcknowledged(total: Acknowledged, result: Result): void {
  total.posted += result.posted
  total.refused += result.refused
  total.replayed += result.replayed
}

export type Exactness = {
  readonly acknowledged: Acknowledged
  /** Each disagreement as a sentence; empty if the books are exact. */
  readonly faults: readonly string[]
}

export async function checkExactness(
  database: BenchDatabase,
  acknowledged: Acknowledged,
  seeded: number,
): Promise<Exactness> {
  const faults: string[] = []
  const expect = (what: string, found: string | undefined, wanted: number) => {
    if (found !== String(wanted)) faults.push(`${what}: ${found}, not ${wanted}`)
  }
  // A version before closed periods has no views of them.
  const [known] = await database.query(`select to_regclass('all_transfers') is not null as has`)
  const all = String(known?.['has']).startsWith('t') ? 'all_' : ''
  const [counts] = await database.query(countsSql(all))
  expect('transfers', counts?.['transfers'], seeded + acknowledged.posted)
  expect('outcomes of transfers', counts?.['posted'], seeded + acknowledged.posted)
  expect('outcomes of refusals', counts?.['refused'], acknowledged.refused)
  expect('transfers counted in the positions', counts?.['counted'], seeded + acknowledged.posted)
  expect('sum of wallets and positions', counts?.['total'], 0)
  const [books] = await database.query(booksSql(all))
  expect('wallets that are not the sum of their transfers', books?.['unequal'], 0)
  expect('transfers whose balance does not follow from the one before', books?.['broken'], 0)
  expect('wallets below zero', books?.['overdrawn'], 0)
  return { acknowledged, faults }
}

const countsSql = (all: string) => `select
  (select count(*) from ${all}transfers) as transfers,
  (select count(*) from ${all}outcomes where sequence is not null) as posted,
  (select count(*) from ${all}outcomes where refusal is not null) as refused,
  (select sum(transfers) from positions) as counted,
  (select sum(balance) from wallets) + (select sum(debited - credited) from positions) as total`

const booksSql = (all: string) => `
with entry as (
  select wallet_id, sequence, amount, balance_after,
    lag(sequence, 1, 0::bigint) over w as sequence_before, lag(balance_after, 1, 0::bigint) over w as balance_before
  from ${all}transfers window w as (partition by wallet_id order by sequence)
), sums as (
  select wallet_id, count(*) as count, sum(amount) as sum,
    count(*) filter (where sequence <> sequence_before + 1 or balance_after <> balance_before + amount or balance_after < 0) as broken
  from entry group by wallet_id
)
select coalesce(sum(broken), 0) as broken,
  count(*) filter (where w.balance <> coalesce(s.sum, 0) or w.sequence <> coalesce(s.count, 0)) as unequal,
  count(*) filter (where w.balance < 0) as overdrawn
from wallets w left join sums s on s.wallet_id = w.id`
