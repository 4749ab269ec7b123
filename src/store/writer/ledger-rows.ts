/** The rows of the ledger that the writer's statements insert: transfers, outcomes, positions. And those that a careful batch decided. */

/**
 * Follows a statement's `operation` CTE, which has a row for each posting that posts or is refused for good: wallet_id,
 * sequence (null for a refusal and for a hold), balance and held after it, at, amount, the reference, and refusal (null when it
 * posts); with `hasHolds` also is_hold. Without `hasEntries` no row has a sequence. `writer` is the parameter with the connection's
 * number. Only that connection adds to the position rows of that number, so no two connections wait for the total of a busy app.
 */
export function ledgerRowsSql(
  writer: string,
  { hasHolds, hasEntries = true }: { readonly hasHolds: boolean; readonly hasEntries?: boolean },
): string {
  const { transfers, outcomes, positions } = ledgerInserts(writer, { hasHolds })
  // A statement that leaves out one of its parameters is refused.
  if (!hasEntries) return `outcome as (${outcomes} where ${writer}::integer is not null\n)`
  return `transfer as (${transfers}
), outcome as (${outcomes}
), position as (${positions}
)`
}

/** The same as separate statements, each after `with operation as (…)`. */
export function ledgerInserts(writer: string, { hasHolds }: { readonly hasHolds: boolean }) {
  const isHold = hasHolds ? ', is_hold' : ''
  return {
    transfers: `
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id, description)
  select wallet_id, sequence, amount, balance, reference_key, at, counter_account, reference_type, reference_id, description
  from operation where sequence is not null`,
    outcomes: `
  insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at, refusal, held${isHold})
  select reference_key, wallet_id, amount, balance, sequence, at, refusal, nullif(held, 0)${isHold} from operation`,
    positions: `
  insert into positions as p (counter_account, day, writer, debited, credited, transfers)
  select counter_account, (at at time zone 'UTC')::date, ${writer}::integer,
    sum(greatest(-amount, 0))::bigint, sum(greatest(amount, 0))::bigint, count(*)
  from operation where sequence is not null group by 1, 2
  on conflict (counter_account, day, writer) do update set
    debited = p.debited + excluded.debited, credited = p.credited + excluded.credited, transfers = p.transfers + excluded.transfers`,
  }
}

/** The decided values: parameters $1 to $6 of wallets, and $7 to $18 of operations. */
export type DecidedRows = {
  readonly wallets: readonly string[]
  readonly operations: readonly string[]
  /** The wallet of each operation. */
  readonly walletIds: readonly string[]
}

/** The rows are locked, so the update needs no condition. */
export const walletUpdateSql = `
  update wallets w set balance = c.balance, held = c.held, open_holds = coalesce(c.open_holds, w.open_holds), sequence = c.sequence, padding = null,
    frozen_for = c.frozen_for, frozen_reason = case when w.frozen_for is not distinct from c.frozen_for then w.frozen_reason end
  from unnest(${parametersOf(1, ['uuid', 'bigint', 'bigint', 'bigint', 'text', 'integer'])})
    as c(wallet_id, balance, held, sequence, frozen_for, open_holds)
  where w.id = c.wallet_id`

const operationColumns = {
  wallet_id: 'uuid',
  sequence: 'bigint',
  balance: 'bigint',
  amount: 'bigint',
  reference_key: 'uuid',
  counter_account: 'text',
  reference_type: 'text',
  reference_id: 'text',
  description: 'text',
  refusal: 'text',
  held: 'bigint',
  is_hold: 'boolean',
}

/** As table o. `first` is the number of the first parameter; `more` are further columns with their types. */
export const operationsSql = (first: number, more: Readonly<Record<string, string>> = {}) => {
  const columns = { ...operationColumns, ...more }
  return `unnest(${parametersOf(first, Object.values(columns))}) as o(${Object.keys(columns).join(', ')})`
}

function parametersOf(first: number, types: readonly string[]): string {
  return types.map((type, i) => `$${first + i}::${type}[]`).join(', ')
}
