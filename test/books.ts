/** The invariants that every test of money checks at its end, in the database itself and not through the code under test. */
import { expect } from 'bun:test'
import type { Queryable } from '../src/store/connection/database.ts'

const invariants = {
  'wallets and positions cancel out': `select s from (select coalesce((select sum(balance) from wallets), 0)
    + coalesce((select sum(debited - credited) from positions), 0) as s) x where s <> 0`,
  'a position is what its transfers say': `select * from
    (select counter_account, sum(debited - credited) p, sum(transfers) n from positions group by 1) p full join
    (select counter_account, -sum(amount) p, count(*) n from all_transfers group by 1) t using (counter_account)
    where p.p is distinct from t.p or p.n is distinct from t.n`,
  'a balance is the sum of its transfers': `select w.id from wallets w left join all_transfers t on t.wallet_id = w.id
    group by w.id having w.balance <> coalesce(sum(t.amount), 0) or w.sequence <> count(t.wallet_id)`,
  'every entry follows from the one before': `select * from (select wallet_id, sequence, amount, balance_after,
      lag(balance_after, 1, 0) over w as before, row_number() over w as n,
      lag(created_at, 1, '-infinity') over w as earlier, created_at
    from all_transfers window w as (partition by wallet_id order by sequence)) t
    where balance_after <> before + amount or sequence <> n or created_at < earlier`,
  'no active wallet has less than zero available': `select id from wallets where balance - held < 0 and frozen_for is null`,
  'what a wallet holds is what remains of its holds': `select * from (select id, held from wallets where held <> 0) w full join
    (select wallet_id as id, sum(amount - captured - released) as held from holds where closed_at is null group by 1) h using (id)
    where w.held is distinct from h.held`,
  'a wallet has as many open holds as it says': `select * from (select id, open_holds from wallets where open_holds <> 0) w full join
    (select wallet_id as id, count(*) as open_holds from holds where closed_at is null group by 1) h using (id)
    where w.open_holds is distinct from h.open_holds`,
  'the key of a hold has its state': `select id from holds where is_closed <> (closed_at is not null)`,
  'every hold has its outcome and every outcome of a hold its hold': `with h as materialized (select * from holds), o as materialized (select * from all_outcomes where is_hold)
    select * from h full join o on o.reference_key = h.id and o.wallet_id = h.wallet_id where h.amount is distinct from -o.amount`,
  'what was captured is what the entries took': `select h.id from holds h left join hold_steps s on s.wallet_id = h.wallet_id and s.hold_id = h.id
    left join all_transfers t on t.wallet_id = s.wallet_id and t.sequence = s.sequence
    group by h.wallet_id, h.is_closed, h.id having h.captured + h.extra <> coalesce(-sum(t.amount), 0) or h.steps <> count(s.number)
      or h.captured + h.extra <> coalesce(sum(s.amount) filter (where s.kind = 'capture'), 0)`,
  'every transfer has its outcome and every outcome its transfer': `with t as materialized (select * from all_transfers),
      o as materialized (select * from all_outcomes where refusal is null and is_hold is null)
    select * from t full join o using (reference_key)
    where t.wallet_id is distinct from o.wallet_id or t.amount is distinct from o.amount
      or t.sequence is distinct from o.sequence or t.balance_after is distinct from o.balance`,
  'no refusal moved money': `with o as materialized (select reference_key from all_outcomes where refusal is not null)
    select 1 from all_transfers where reference_key in (select reference_key from o)`,
}

export async function expectBalancedBooks({ db }: { db: { pool: Queryable } }): Promise<void> {
  for (const [fact, sql] of Object.entries(invariants)) {
    const { rows } = await db.pool.query(sql)
    expect(rows, fact).toEqual([])
  }
}
