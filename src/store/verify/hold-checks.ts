/** Checks what wallets hold against their holds, and holds against their steps, entries and outcomes. */
import { isSpread, type Checking } from '../cluster/agreement.ts'
import { plainArray } from '../connection/arrays.ts'
import { formatMinor, maxFaultsPerStatement, walletFault, type Fault } from './fault.ts'
import { inRange, type WalletRange } from './slice.ts'

type HeldRow = { id: string; held: bigint; remaining: bigint }

const heldSql = `select coalesce(w.id, h.wallet_id) as id, coalesce(w.held, 0) as held, coalesce(h.remaining, 0) as remaining
    from (select id, held from wallets where ${inRange('id')}) w
    full join (select wallet_id, sum(amount - captured - released)::bigint as remaining from holds
      where ${inRange('wallet_id')} group by wallet_id) h on h.wallet_id = w.id
    where coalesce(w.held, 0) <> coalesce(h.remaining, 0) order by 1 limit ${maxFaultsPerStatement}`

type HoldCheck = 'hold-steps' | 'hold-entry' | 'hold-without-outcome'

type HoldRow = { wallet_id: string; id: string; fault: HoldCheck }

/** The entry of the step is in files. */
const isArchivedSql = `exists (select 1 from all_transfers a where a.is_archived and a.wallet_id = s.wallet_id and a.sequence >= s.sequence)`

/** The steps of each hold; `entries` joins `t` with the entry of each capture. */
const stepsSql = (entries: string, isArchived: string) => `
  select s.wallet_id, s.hold_id, count(*) as steps, max(s.number) as last,
    sum(s.amount) filter (where s.kind = 'capture') as captured, sum(s.amount) filter (where s.kind in ('void', 'expiry')) as released,
    bool_or(s.kind = 'capture' and t.amount is distinct from -s.amount and not ${isArchived}) as has_wrong_entry
  from hold_steps s left join ${entries} where ${inRange('s.wallet_id')} group by 1, 2`

const contradictsSteps = `h.steps <> coalesce(s.steps, 0) or h.steps <> coalesce(s.last, 0)
  or h.captured + h.extra <> coalesce(s.captured, 0) or (h.ended_by <> 'capture' and h.released <> coalesce(s.released, 0))`

const holdsOfRange = `(select * from holds where ${inRange('wallet_id')}) h
  full join step s on s.wallet_id = h.wallet_id and s.hold_id = h.id`

const isOutcome = 'o.reference_key = h.id and o.is_hold and o.wallet_id = h.wallet_id'

/** `h` has the hold, or nulls for steps without one. */
const faultsSql = (contradicts: string, source: string) => `
select * from (
  select coalesce(h.wallet_id, s.wallet_id) as wallet_id, coalesce(h.id, s.hold_id) as id, unnest(array_remove(array[
    case when h.id is null or ${contradicts} then 'hold-steps' end,
    case when s.has_wrong_entry then 'hold-entry' end,
    case when h.id is not null and o.amount is distinct from -h.amount then 'hold-without-outcome' end
  ], null)) as fault
  from ${source}
) f order by 1, 2, 3 limit ${maxFaultsPerStatement}`

/** The limits make the planner look outcomes and entries up by their keys. */
const holdsSql = {
  text: `with step as (${stepsSql(
    `lateral (
      select t.amount from all_transfers t where t.wallet_id = s.wallet_id and t.sequence = s.sequence limit 1) t on true`,
    isArchivedSql,
  )}
    )${faultsSql(
      contradictsSteps,
      `${holdsOfRange}
      left join lateral (select o.amount from all_outcomes o where ${isOutcome}
        union all select o.amount from archived_outcomes(array[h.id]) o where ${isOutcome} limit 1) o on true`,
    )}`,
}

/** On a cluster, one server has a hold, its steps and their entries. Its outcome may be on another. */
const onClusterSql = (
  isArchived: string,
  archivedOutcomes: string,
) => `with step as (${stepsSql('all_transfers t on t.wallet_id = s.wallet_id and t.sequence = s.sequence', isArchived)}
    ), found as materialized (
      select h.wallet_id, h.id, h.amount, s.wallet_id as step_wallet_id, s.hold_id, s.has_wrong_entry,
        ${contradictsSteps} as contradicts
      from ${holdsOfRange}
    ), key as materialized (
      select id from found where id is not null
    ), o as materialized (
      select o.reference_key, o.wallet_id, o.amount, o.is_hold from all_outcomes o where o.reference_key in (select id from key)
      ${archivedOutcomes}
    )${faultsSql(
      's.contradicts',
      `found h cross join lateral (select h.step_wallet_id as wallet_id, h.hold_id, h.has_wrong_entry, h.contradicts) s
      left join o on ${isOutcome}`,
    )}`

const clusterSql = {
  usual: onClusterSql('false', ''),
  archived: onClusterSql(
    isArchivedSql,
    'union all select a.*, true from unnest($3::uuid[], $4::uuid[], $5::bigint[]) a',
  ),
}

type HoldOutcome = { readonly id: string; readonly walletId: string; readonly amount: bigint }

/**
 * On a cluster, a statement that also reads other tables may ask for archived outcomes over another connection. That one does not see what an
 * import has not yet committed, so they are read apart.
 */
async function findBesideArchive(db: Checking, range: readonly [from: string | null, until: string | null]) {
  const holds = await db.query<{ id: string }>(`select id from holds where ${inRange('wallet_id')}`, [...range])
  const { rows } = await db.query<HoldOutcome>(
    `select reference_key as id, wallet_id as "walletId", amount from archived_outcomes($1::uuid[]) where is_hold`,
    [plainArray(holds.rows, ({ id }) => id)],
  )
  return await db.query<HoldRow>(clusterSql.archived, [
    ...range,
    plainArray(rows, ({ id }) => id),
    plainArray(rows, ({ walletId }) => walletId),
    plainArray(rows, ({ amount }) => amount),
  ])
}

const problems: Record<HoldCheck, string> = {
  'hold-steps': 'does not follow from its steps',
  'hold-entry': 'has a capture without its entry',
  'hold-without-outcome': 'has no outcome of its reference',
}

/** A cluster refuses the condition on archived entries where no view names an archived period. */
async function hasArchives(db: Checking): Promise<boolean> {
  return (await db.query('select 1 from archives limit 1')).rows.length > 0
}

export async function verifyHolds(db: Checking, { from, until }: WalletRange, words = formatMinor): Promise<Fault[]> {
  const wallets = await db.query<HeldRow>(heldSql, [from, until])
  const holds =
    isSpread(db) && (await hasArchives(db))
      ? await findBesideArchive(db, [from, until])
      : await db.query<HoldRow>({ ...holdsSql, onCluster: clusterSql.usual, values: [from, until] })
  return [
    ...wallets.rows.map(({ id, held, remaining }) =>
      walletFault(
        'wallet-held',
        id,
        `it says that ${words(held)} is held, but its holds add up to ${words(remaining)}`,
      ),
    ),
    ...holds.rows.map(({ wallet_id: walletId, id, fault }) =>
      walletFault(fault, walletId, `its hold ${id} ${problems[fault]}`),
    ),
  ]
}
