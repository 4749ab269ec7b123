/** The ledger rows that both write statements insert: transfers, outcomes, positions. */

/**
 * Follows a statement's `operation` CTE, which has a row for each posting that posts or is refused for good: wallet_id,
 * sequence (null for a refusal and for a hold), balance and held after it, at, amount, the reference, and refusal (null when it
 * posts); with `hasHolds` also is_hold. `writer` is the parameter with the connection's number. Only that connection adds to the
 * position rows of that number, so no two connections wait for the total of a busy app.
 */
export function ledgerRowsSql(writer: string, { hasHolds }: { readonly hasHolds: boolean }): string {
  const isHold = hasHolds ? ', is_hold' : ''
  return `transfer as (
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id, description)
  select wallet_id, sequence, amount, balance, reference_key, at, counter_account, reference_type, reference_id, description
  from operation where sequence is not null
), outcome as (
  insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at, refusal, held${isHold})
  select reference_key, wallet_id, amount, balance, sequence, at, refusal, nullif(held, 0)${isHold} from operation
), position as (
  insert into positions as p (counter_account, day, writer, debited, credited, transfers)
  select counter_account, (at at time zone 'UTC')::date, ${writer}::integer,
    sum(greatest(-amount, 0))::bigint, sum(greatest(amount, 0))::bigint, count(*)
  from operation where sequence is not null group by 1, 2
  on conflict (counter_account, day, writer) do update set
    debited = p.debited + excluded.debited, credited = p.credited + excluded.credited, transfers = p.transfers + excluded.transfers
)`
}
