/**
 * The usual batch, in one round trip and without reading first. Each posting posts, repeats an outcome, has no user, or is
 * a lone debit or hold of a wallet that is frozen or lacks the money. Every other posting gets no answer here.
 */
import type { Operation } from '../../ledger/decide.ts'
import { maxBalanceMinor } from '../../ledger/money.ts'
import { sumUp, type Sum } from '../../ledger/plan.ts'
import { walletClockSql } from '../cluster/batch.ts'
import { bigintArray, hexUuidArray, plainArray, queryArrays, textArray, zip } from '../connection/arrays.ts'
import { lastMarkSql, noMark } from '../closing/closings.ts'
import type { Queryable } from '../connection/database.ts'
import {
  fastJournalSql,
  fastJournalValues,
  hasEvents,
  journalParameterCount,
  togetherByApp,
} from '../events/journal.ts'
import { referenceKeyOfUuid, type Outcome, type OutcomeRefusal } from '../outcomes.ts'
import { holdParts, holdPartsOnNodes, holdValues, noHolds, placedHold, type HoldParts } from './fast-holds.ts'
import type { StepKind } from './hold-book.ts'
import { ledgerRowsSql } from './ledger-rows.ts'
import type { ResolvedLink } from './resolve-links.ts'
import { asReplay, type ByLink, type PendingPosting, type PostingResult } from './posting.ts'

type TextParts = {
  readonly changeSql: (holds: HoldParts) => string
  readonly clockSql: string
  readonly holdParts: (first: number, isJournalled: boolean) => HoldParts
  /** For a batch with entries to report. The journal costs the other ones nothing. */
  readonly isJournalled: boolean
  /** For a batch with new holds. They too cost the other ones nothing. */
  readonly hasHolds: boolean
  /** False for a batch of new holds alone: to prepare for entries costs each of 64 holds a microsecond. */
  readonly hasEntries: boolean
  /** The mark of the last closed period that the references were compared with, for references that are expected to be new. */
  readonly newSince: string | undefined
  /** False on a cluster, where the caller has left out the archived references. */
  readonly hasArchive: boolean
}

/** The parameters of every batch. Those of the journal follow, if it has them, and then those of holds. */
const usualParameters = 16

/**
 * `change` has a row for each link of the batch. The link is found by its key alone and compared with its app afterwards:
 * without statistics the planner would walk every link of the app instead.
 *
 * `moved` updates a wallet unless a reference of the change has an outcome already, the wallet is frozen, or its balance
 * would leave the limits on the way: this condition is `allPost` of ledger/plan. Wallet rows are locked in the order of
 * their ids, or two processes could deadlock: hence the sort, and the connection has sequential and bitmap scans switched
 * off, so that the plan walks the sorted changes and the key of wallets. The clock is read after the row is locked, so
 * that the transfers of one wallet never go back in time.
 *
 * `unmoved` has the lone debits and holds that a frozen wallet or a missing balance refuses, of wallets without holds: a hold may have
 * expired, and only the careful lane gives back what it held. It reads the statement's snapshot, without a lock: the refusal was
 * true while the request was under way. Two changes of one wallet (two apps) cannot both
 * move here, because an UPDATE joins one source row; the second is not moved, and gets no answer unless the snapshot
 * refuses it.
 *
 * A transaction that used one of the references after the snapshot makes `outcome` collide with outcomes_pkey: then nothing
 * of the batch is written. The text for references that are expected to be new relies on that: it looks up only those of changes that
 * were not moved, which saves a sixth of the database's time, and a used reference of the others makes the batch collide. The key has the
 * references of the open period alone. The caller has compared the batch with the closed ones (closing/closed-references), and the
 * statement moves nothing if a further one was closed.
 */
function sqlOf(parts: TextParts): string {
  const { changeSql, clockSql, holdParts: partsOf, isJournalled, hasHolds, hasEntries, newSince } = parts
  const isExpectedNew = newSince !== undefined
  // References that are expected to be new are in no closed period, so neither in an archived one.
  const hasArchive = !isExpectedNew && parts.hasArchive
  const isCurrent = isExpectedNew ? ` and ${lastMarkSql} = '${newSince}'` : ''
  const journal = isJournalled ? journalParameterCount : 0
  const holds = hasHolds ? partsOf(usualParameters + journal + 1, isJournalled) : noHolds
  const repeatedSql = `repeated as (
  select o.n, o.ordinal, k.reference_key, k.wallet_id, k.amount, k.balance, k.refusal, coalesce(k.held, 0) as held
  from unnest($7::bigint[], $11::uuid[]) with ordinality as o(n, reference_key, ordinal)
  join all_outcomes k on k.reference_key = o.reference_key${isExpectedNew ? ' where o.n not in (select n from moved)' : ''}${hasArchive ? archivedSql : ''}
)`
  const movedSql = `moved as (
  update wallets w set balance = w.balance + c.net, sequence = w.sequence + c.count, padding = null${holds.set}
  from (select * from change where is_reachable${isExpectedNew ? isCurrent : ' and n not in (select n from repeated)'} order by wallet_id) as c
  where w.id = c.wallet_id and w.frozen_for is null
    and w.balance - w.held + c.lowest >= 0 and w.balance + c.highest <= ${maxBalanceMinor}${holds.guard}
  returning c.n, w.id as wallet_id, w.balance - c.net as balance, ${holds.heldBefore}, w.sequence - c.count as sequence, ${clockSql} as at${holds.movedColumns}
)`
  return `
with change as (${changeSql(holds)}
), ${isExpectedNew ? `${movedSql}, ${repeatedSql}` : `${repeatedSql}, ${movedSql}`}, unmoved as (
  select c.n, w.id as wallet_id, w.balance, w.frozen_for is not null as is_frozen, clock_timestamp() as at
  from change c join wallets w on w.id = c.wallet_id
  where c.is_reachable and ${holds.isLone} and w.held = 0 and (w.frozen_for is not null or w.balance + ${holds.taken} < 0)
    and c.n not in (select n from moved) and c.n not in (select n from repeated)
), operation as (
  select m.wallet_id, m.sequence + o.sequence_offset as sequence, m.balance + o.balance_offset as balance, ${holds.held}, m.at,
    o.amount, o.reference_key, o.counter_account, o.reference_type, o.reference_id, o.description, null as refusal${isJournalled ? ', o.ordinal' : ''}${holds.columns}
  from unnest($7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::uuid[], $12::text[], $13::text[], $14::text[], $15::text[]${holds.arrays}${isJournalled ? ') with ordinality' : ')'}
    as o(n, sequence_offset, balance_offset, amount, reference_key, counter_account, reference_type, reference_id, description${holds.names}${isJournalled ? ', ordinal' : ''})
  join moved m on m.n = o.n
  union all
  select u.wallet_id, null, u.balance, 0, u.at, o.amount, o.reference_key, null, null, null, null, 'INSUFFICIENT_BALANCE'${isJournalled ? ', null' : ''}${holds.noColumns}
  from unnest($7::bigint[], $10::bigint[], $11::uuid[]) as o(n, amount, reference_key)
  join unmoved u on u.n = o.n where not u.is_frozen
), ${ledgerRowsSql('$16', { hasHolds, hasEntries })}${holds.rows}${isJournalled ? `, ${fastJournalSql('$16', { hasHolds })}` : ''}
select a.*, r.*, case when current_setting('synchronous_standby_names') <> '' then '{t}' end${isExpectedNew ? `, array[${lastMarkSql}]` : ''} from (
  select array_agg(n), array_agg(wallet_id), array_agg(balance), array_agg(held), array_agg(answer)${holds.time} from (
    select n, wallet_id, balance, held, 'moved' as answer${holds.timeOfMoved} from moved
    union all select n, wallet_id, balance, 0, case when is_frozen then 'frozen' else 'refused' end${holds.noTime} from unmoved
    union all select n, null, null, null, 'unknown'${holds.noTime} from change where is_reachable is not true
  ) as answered
) as a, (
  select array_agg(r.ordinal), array_agg(c.wallet_id), array_agg(r.reference_key), array_agg(r.wallet_id), array_agg(r.amount),
    array_agg(r.balance), array_agg(r.refusal), array_agg(r.held)
  from repeated r join change c on c.n = r.n
) as r`
}

const archivedSql = `
  union all select o.n, o.ordinal, k.reference_key, k.wallet_id, k.amount, k.balance, k.refusal, k.held
  from archived_outcomes($11::uuid[]) k join unnest($7::bigint[], $11::uuid[]) with ordinality as o(n, reference_key, ordinal)
  on o.reference_key = k.reference_key`

const sums = '$3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]'

const linkedChangeSql = (holds: HoldParts) => `
  select c.n, c.net, c.count, c.lowest, c.highest${holds.sumColumns}, l.user_id as wallet_id,
    l.client_id = c.client_id and l.disconnected_at is null as is_reachable
  from unnest($1::text[], $2::text[], ${sums}${holds.sums}) with ordinality
    as c(link_id, client_id, net, count, lowest, highest${holds.sumNames}, n)
  left join links l on l.id = c.link_id`

/** For a cluster, where the server that writes the batch may not have the links: they are resolved before. */
const resolvedChangeSql = (holds: HoldParts) => `
  select * from unnest($1::uuid[], $2::boolean[], ${sums}${holds.sums}) with ordinality
    as c(wallet_id, is_reachable, net, count, lowest, highest${holds.sumNames}, n)`

const linked = {
  changeSql: linkedChangeSql,
  clockSql: 'clock_timestamp()',
  holdParts,
  hasArchive: true,
} as const
const resolved = {
  changeSql: resolvedChangeSql,
  clockSql: walletClockSql,
  holdParts: holdPartsOnNodes,
  hasArchive: false,
} as const

type Variant = Pick<TextParts, 'isJournalled' | 'hasHolds' | 'hasEntries'>

const textsOf = (parts: Omit<TextParts, keyof Variant>) => {
  const named = (name: string, variant: Variant) => ({
    name:
      parts.newSince === undefined ? name : parts.newSince === noMark ? `${name}-new` : `${name}-new-${parts.newSince}`,
    text: sqlOf({ ...parts, ...variant }),
  })
  const plainAndJournalled = (suffix: string, variant: Omit<Variant, 'isJournalled'>) =>
    [
      named(`post-fast${suffix}`, { isJournalled: false, ...variant }),
      named(`post-fast-journal${suffix}`, { isJournalled: true, ...variant }),
    ] as const
  return {
    entries: plainAndJournalled('', { hasHolds: false, hasEntries: true }),
    mixed: plainAndJournalled('-mixed', { hasHolds: true, hasEntries: true }),
    holds: plainAndJournalled('-holds', { hasHolds: true, hasEntries: false }),
  }
}

export const fastStatements = textsOf({ ...linked, newSince: undefined })
let forNew = { lastMark: noMark as string, texts: textsOf({ ...linked, newSince: noMark }) }
/** Periods are closed rarely, so the texts for the last one are enough. */
export function statementsForNew(lastMark: string) {
  if (forNew.lastMark !== lastMark) forNew = { lastMark, texts: textsOf({ ...linked, newSince: lastMark }) }
  return forNew.texts
}
/** The server of a cluster that has the journal writes every batch with entries to report. */
const clusterStatements = textsOf({ ...resolved, newSince: undefined })

type AnsweredRow = readonly [
  n: string,
  walletId: string,
  balance: string,
  held: string,
  answer: 'moved' | 'frozen' | 'refused' | 'unknown',
  /** When it moved, in a batch with holds. */
  ...atMs: string[],
]
type RepeatedRow = readonly [
  ordinal: string,
  askedWalletId: string,
  referenceKey: string,
  walletId: string,
  amount: string,
  balance: string,
  refusal: OutcomeRefusal | 'NULL',
  held: string,
]

export type FastAnswers = {
  readonly answers: readonly (readonly [PendingPosting, PostingResult])[]
  /** False: the commit wrote nothing, so what was read may not have reached the standby. */
  readonly hasWritten: boolean
  readonly hasStandby: boolean
  /** Whether a reference was used before. */
  readonly hasRepeats: boolean
  /** The mark of the last closed period, from a statement for new references. */
  readonly lastMark?: string
  /** What it did to holds, besides making new ones. */
  readonly holdSteps?: readonly StepKind[]
  /** Why a part of the batch failed. */
  readonly fault?: unknown
}

type HowToPost = {
  /** On a cluster: the resolved link of each posting. */
  readonly links?: readonly (ResolvedLink | undefined)[]
  /**
   * For references that are in no closed period up to the one with this mark. The batch fails with a unique violation if a reference was used
   * in the open period, unless its change is not moved. If a further period was closed, nothing moves.
   */
  readonly newSince?: string
}

/** Does not answer the callers: the lane first checks whether the commit reached the standby. */
export async function postFast(
  db: Queryable,
  batch: readonly PendingPosting[],
  writer: number,
  { links, newSince }: HowToPost = {},
): Promise<FastAnswers> {
  const hasHolds = batch.some(isNewHold)
  const isJournalled = hasEvents(batch)
  const groups = groupByLink(batch, hasHolds)
  const changes = isJournalled ? togetherByApp(groups, ({ link }) => link.clientId) : groups
  const planned = changes.flatMap(({ postings, sum }, i) => {
    let entries = 0
    return postings.map((posting, j) => ({
      posting,
      n: i + 1,
      offset: isNewHold(posting) ? null : ++entries,
      offsetMinor: sum.offsetsMinor[j] ?? 0n,
      heldOffsetMinor: sum.heldOffsetsMinor[j] ?? 0n,
    }))
  })
  const asked = planned.map(({ posting }) => posting)
  const linkOf = new Map(links && batch.map((posting, i) => [posting, links[i]]))
  const resolvedOf = ({ postings }: Change) => linkOf.get(postings[0]!)
  const linkValues = links
    ? [
        plainArray(changes, (change) => resolvedOf(change)?.walletId ?? null),
        plainArray(changes, (change) => resolvedOf(change)?.isReachable ?? null),
      ]
    : [textArray(changes, ({ link }) => link.serviceUserId), textArray(changes, ({ link }) => link.clientId)]
  const statements = links ? clusterStatements : newSince === undefined ? fastStatements : statementsForNew(newSince)
  const hasEntries = !batch.every(isNewHold)
  const [plain, journalled] = statements[hasHolds ? (hasEntries ? 'mixed' : 'holds') : 'entries']
  const columns = await queryArrays(db, isJournalled ? journalled : plain, [
    ...linkValues,
    bigintArray(changes, ({ sum }) => sum.netMinor),
    bigintArray(changes, ({ postings, sum }) => postings.length - sum.holds),
    bigintArray(changes, ({ sum }) => sum.lowestMinor),
    bigintArray(changes, ({ sum }) => sum.highestMinor),
    bigintArray(planned, ({ n }) => n),
    bigintArray(planned, ({ offset }) => offset),
    bigintArray(planned, ({ offsetMinor }) => offsetMinor),
    bigintArray(asked, (posting) => posting.amountMinor),
    hexUuidArray(asked.map((posting) => posting.referenceKey)),
    textArray(asked, (posting) => posting.counterAccount),
    textArray(asked, (posting) => posting.referenceType),
    textArray(asked, (posting) => posting.referenceId),
    textArray(asked, (posting) => posting.description),
    String(writer),
    ...(isJournalled ? fastJournalValues(asked, { hasHolds }) : []),
    ...(hasHolds ? holdValues(changes, planned) : []),
    ...(hasHolds && links ? [textArray(changes, ({ link }) => link.clientId)] : []),
  ])
  const width = hasHolds ? 6 : 5
  const answered = zip<AnsweredRow>(columns.slice(0, width))
  const repeated = zip<RepeatedRow>(columns.slice(width, width + 8))
  const answers: [PendingPosting, PostingResult][] = []
  const repeatedAt = new Set<number>()
  for (const [ordinal, askedWalletId, uuid, walletId, amount, balance, refusal, held] of repeated) {
    const posting = asked[Number(ordinal) - 1]!
    repeatedAt.add(Number(ordinal) - 1)
    // The answer has the hold as it is now, which the careful lane reads.
    if (isNewHold(posting)) continue
    const outcome = {
      referenceKey: referenceKeyOfUuid(uuid),
      walletId,
      amountMinor: BigInt(amount),
      balanceMinor: BigInt(balance),
      heldMinor: BigInt(held),
      // The references of holds have namespaces that no debit or credit uses.
      isHold: false,
      refusal: refusal === 'NULL' ? null : refusal,
    }
    answers.push([posting, asReplay(outcome, posting, askedWalletId === 'NULL' ? undefined : askedWalletId)])
  }
  const rowOf: AnsweredRow[] = []
  for (const row of answered) rowOf[Number(row[0])] = row
  for (let i = 0; i < planned.length; i++) {
    const each = planned[i]!
    const row = rowOf[each.n]
    if (row && !repeatedAt.has(i)) answers.push([each.posting, resultOf(each, row)])
  }
  const hasWritten = answered.some(([, , , , answer]) => answer === 'moved' || answer === 'refused')
  const hasStandby = columns[width + 8]?.[0] === 't'
  const lastMark = newSince === undefined ? undefined : columns[width + 9]?.[0]
  return {
    answers,
    hasWritten,
    hasStandby,
    hasRepeats: repeated.length > 0,
    ...(lastMark !== undefined && { lastMark }),
  }
}

type Planned = {
  readonly posting: PendingPosting
  readonly offsetMinor: bigint
  readonly heldOffsetMinor: bigint
}

function resultOf({ posting, offsetMinor, heldOffsetMinor }: Planned, row: AnsweredRow): PostingResult {
  const [, walletId, balance, held, answer, atMs] = row
  if (answer === 'unknown') return { kind: 'unknown-user' }
  if (answer === 'frozen') return { kind: 'inactive' }
  const { referenceKey, amountMinor } = posting
  const refusal = answer === 'refused' ? 'INSUFFICIENT_BALANCE' : null
  const balanceMinor = BigInt(balance) + (refusal ? 0n : offsetMinor)
  const heldMinor = BigInt(held) + (refusal ? 0n : heldOffsetMinor)
  const hold = refusal || atMs === undefined ? undefined : placedHold(posting, walletId, Number(atMs))
  const isHold = hold !== undefined
  const outcome: Outcome = { referenceKey, walletId, amountMinor, balanceMinor, heldMinor, refusal, isHold }
  return hold ? { kind: 'outcome', outcome, hold } : { kind: 'outcome', outcome }
}

function isNewHold({ hold }: PendingPosting): boolean {
  return hold?.kind === 'reserve'
}

type Change = { readonly link: ByLink; readonly postings: PendingPosting[]; readonly sum: Sum }

function groupByLink(batch: readonly PendingPosting[], hasHolds: boolean): Change[] {
  const groups = new Map<string, { readonly link: ByLink; readonly postings: PendingPosting[] }>()
  for (const posting of batch) {
    if ('walletId' in posting.by) continue
    const key = `${posting.by.serviceUserId} ${posting.by.clientId}`
    const group = groups.get(key)
    if (group) group.postings.push(posting)
    else groups.set(key, { link: posting.by, postings: [posting] })
  }
  return Array.from(groups.values(), ({ link, postings }) => ({
    link,
    postings,
    sum: sumUp(hasHolds ? postings.map(operationOf) : postings),
  }))
}

function operationOf(posting: PendingPosting): Operation {
  if (!isNewHold(posting)) return posting
  return { amountMinor: 0n, heldMinor: -posting.amountMinor, isReversal: false }
}
