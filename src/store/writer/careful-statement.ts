/** The careful batch: lock and read its wallets, decide one posting after the other, write. */
import type { Operation, Wallet } from '../../ledger/decide.ts'
import { viewHold, type HoldView } from '../../ledger/hold.ts'
import { decideInTurn, type Step } from '../../ledger/plan.ts'
import { beginBatch, roundTrip, walletClockSql } from '../cluster/batch.ts'
import { updateOnNodes } from '../cluster/narrow-write.ts'
import { isUnsettled, readHoldsOnNodes, waitToSettle } from '../cluster/read-holds.ts'
import { plainArray, textArray } from '../connection/arrays.ts'
import { commit, type Queryable } from '../connection/database.ts'
import type { OpenClient } from '../connection/open-client.ts'
import { journalEntries, journalUserFact, type HoldEntry, type PostedEntry } from '../events/journal.ts'
import { findOutcomes, type Outcome } from '../outcomes.ts'
import { confirmSql } from './connection.ts'
import {
  countOpen,
  planHold,
  readHolds,
  releaseExpired,
  writeHolds,
  type HoldBook,
  type HoldKey,
  type StepKind,
} from './hold-book.ts'
import { ledgerRowsSql, operationsSql, walletUpdateSql, type DecidedRows } from './ledger-rows.ts'
import { resolveLinks, type ResolvedLink } from './resolve-links.ts'
import { asReplay, type HoldResult, type PendingPosting, type PostingResult } from './posting.ts'

export type CarefulAnswers = {
  readonly answers: readonly (readonly [PendingPosting, HoldResult])[]
  /** Postings of wallets that another transaction has locked, or has committed on some nodes of a cluster only. */
  readonly held: readonly PendingPosting[]
  readonly holdSteps: readonly StepKind[]
}

type HowToPost = {
  readonly isPatient: boolean
  readonly writer: number
  /** On a cluster: asks only the servers that have a row of the batch. */
  readonly isNarrow?: boolean
}

type Writing = Queryable & Partial<Pick<OpenClient, 'isCluster'>>

/**
 * One transaction. Wallet rows are locked one by one, in the order of their ids. With `isPatient` it waits for a row that
 * another transaction has locked, up to the connection's lock_timeout; otherwise it skips the row and returns its
 * postings as held. When this throws, nothing was written, unless the connection broke during the commit.
 */
export async function postLocked(
  client: Writing,
  batch: readonly PendingPosting[],
  { isPatient, writer, isNarrow = false }: HowToPost,
): Promise<CarefulAnswers> {
  try {
    const [, links] = await roundTrip([beginBatch(client), resolveLinks(client, batch)])
    const [wallets, outcomes] = await lock(client, batch, links, isPatient)
    const before = new Map(wallets)
    const book = await readBook(client, batch, links, wallets, outcomes)
    if (book) releaseExpired(book, wallets)
    const { answers, held, planned, reported, unsettled } = decideEach(batch, links, { wallets, outcomes, book })
    // On a cluster also the wallet of a refusal is updated: its row has the clock.
    const written = new Set(planned.map(({ walletId }) => walletId))
    const after = new Map([...wallets].filter(([id, wallet]) => wallet !== before.get(id) || written.has(id)))
    // Answers that were only read also need a commit that the synchronous standby, if there is one, has received.
    const rows = rowsOf(planned, after, book && countOpen(book))
    const insert = isNarrow && after.size > 0 ? await updateOnNodes(client, rows) : undefined
    const writing = after.size > 0 ? (insert?.(writer) ?? write(client, rows, writer)) : client.query(confirmSql)
    // On a cluster, both statements insert what they select, for which Citus prepares the commit on every node before any commits.
    const holding = book && writeHolds(client, book)
    await roundTrip([writing, holding, ...journal(client, reported, { before, after }, writer), commit(client)])
    if (unsettled > 0) await waitToSettle()
    return { answers, held, holdSteps: book?.steps.map(({ kind }) => kind) ?? [] }
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** Locks and reads the wallets, and reads the recorded outcomes. Outcomes are read after the locks, so both belong to one state. */
async function lock(
  client: Writing,
  batch: readonly PendingPosting[],
  links: readonly (ResolvedLink | undefined)[],
  isPatient: boolean,
): Promise<[Map<string, Wallet>, Map<string, Outcome>]> {
  const ids = [...new Set(links.flatMap((link) => (link?.isReachable ? [link.walletId] : [])))].sort()
  // One round trip: the connection is in pipeline mode, and the server runs the queries in order.
  const locking = lockWallets(client, ids, isPatient)
  const reading = findOutcomes(
    client,
    plainArray(batch.filter(hasOutcome), (posting) => posting.referenceKey),
  )
  return await roundTrip([locking, reading])
}

type WalletRow = [id: string, balanceMinor: bigint, heldMinor: bigint, sequence: bigint, frozenFor: Wallet['frozenFor']]

const walletSql = 'select id, balance, held, sequence, frozen_for from wallets where id ='
/** The rows of the array are joined one after the other, so that a row is locked before the next one is read. */
const walletsSql = (end: string) =>
  `select w.* from unnest($1::uuid[]) as i(id) cross join lateral (${walletSql} i.id for update${end}) as w`

/** In the order of the ids. A cluster refuses a statement that locks rows of several shards. */
async function lockWallets(client: Writing, ids: readonly string[], isPatient: boolean): Promise<Map<string, Wallet>> {
  const name = isPatient ? 'lock-wallets' : 'lock-free-wallets'
  const end = isPatient ? '' : ' skip locked'
  const locking = client.isCluster?.()
    ? ids.map((id) => ({ name: `${name}-of-node`, text: `${walletSql} $1::uuid for update${end}`, values: [id] }))
    : [{ name, text: walletsSql(end), values: [plainArray(ids, String)] }]
  const locked = await Promise.all(locking.map((each) => client.query<WalletRow>({ ...each, rowMode: 'array' })))
  const rows = locked.flatMap((each) => each.rows)
  return new Map(
    rows.map(([id, balanceMinor, heldMinor, sequence, frozenFor]) => [
      id,
      { balanceMinor, heldMinor, sequence: Number(sequence), frozenFor },
    ]),
  )
}

/** A void, an extension and an expiry have no reference. */
function hasOutcome({ hold }: PendingPosting): boolean {
  return hold === undefined || hold.kind === 'reserve' || hold.kind === 'capture'
}

/** Undefined, without a round trip, where no posting is about a hold and no wallet has one. */
async function readBook(
  client: Writing,
  batch: readonly PendingPosting[],
  links: readonly (ResolvedLink | undefined)[],
  wallets: ReadonlyMap<string, Wallet>,
  outcomes: ReadonlyMap<string, Outcome>,
): Promise<HoldBook | undefined> {
  const holding = [...wallets].flatMap(([id, { heldMinor }]) => (heldMinor > 0n ? [id] : []))
  if (holding.length === 0 && !batch.some(({ hold }) => hold)) return undefined
  const named = batch.flatMap(({ hold, referenceKey }, i): HoldKey[] => {
    if (!hold || hold.kind === 'expire') return []
    const walletId = hold.kind === 'reserve' ? outcomes.get(referenceKey)?.walletId : links[i]?.walletId
    return walletId ? [{ walletId, id: hold.kind === 'reserve' ? referenceKey : hold.holdId }] : []
  })
  if (client.isCluster?.())
    return await readHoldsOnNodes(client, batch, links, { lockedIds: [...wallets.keys()], named })
  return await readHolds(client, holding, named)
}

type State = {
  readonly wallets: Map<string, Wallet>
  readonly outcomes: Map<string, Outcome>
  readonly book: HoldBook | undefined
}

/**
 * Decides one posting after the other, in the order of the batch. A repeat gets the outcome of the first use, which may be in this
 * batch too: both are committed together. The state is brought up to date with each decision.
 */
function decideEach(
  batch: readonly PendingPosting[],
  links: readonly (ResolvedLink | undefined)[],
  { wallets, outcomes, book }: State,
) {
  const answers: [PendingPosting, HoldResult][] = []
  const held: PendingPosting[] = []
  const planned: Planned[] = []
  /** In the order of each wallet: a capture's entry comes before the step of its hold. */
  const reported: (PostedEntry | HoldEntry)[] = []
  let unsettled = 0
  const reportHolds = () => book && reported.push(...book.unreported.splice(0))
  for (const [i, posting] of batch.entries()) {
    reportHolds()
    const link = links[i]
    const outcome = hasOutcome(posting) ? outcomes.get(posting.referenceKey) : undefined
    const wallet = link && wallets.get(link.walletId)
    if (isUnsettled(book, posting, outcome, wallet !== undefined || !link?.isReachable)) {
      held.push(posting)
      unsettled++
    } else if (outcome) answers.push([posting, replayOf(outcome, posting, link, book)])
    else if (!link?.isReachable) answers.push([posting, { kind: 'unknown-user' }])
    else if (!wallet) held.push(posting)
    else {
      const plan = posting.hold && book ? planHold(book, link.walletId, posting, wallet) : { operation: posting }
      if ('result' in plan) {
        answers.push([posting, plan.result])
        continue
      }
      const [step] = decideInTurn(wallet, [plan.operation]) as [Step]
      wallets.set(link.walletId, step.wallet)
      const hold = 'apply' in plan && !step.refusal ? plan.apply(step.wallet) : undefined
      const each: Planned = { walletId: link.walletId, posting, step, ...amountsOf(posting, plan.operation, step) }
      const result = resultOf(each, hold ?? findView(book, posting))
      answers.push([posting, result])
      if (result.kind !== 'outcome') continue
      planned.push(each)
      if (!step.refusal && each.movedMinor !== 0n) reported.push({ posting, sequence: step.wallet.sequence })
      outcomes.set(posting.referenceKey, result.outcome)
    }
  }
  reportHolds()
  return { answers, held, planned, reported, unsettled }
}

/** A posting that leaves an outcome. */
type Planned = {
  readonly walletId: string
  readonly posting: PendingPosting
  readonly step: Step
  /** What was asked for: a new hold moves nothing, and a capture may ask for all that remains. */
  readonly amountMinor: bigint
  readonly movedMinor: bigint
  /** What was held after it; of a refused capture without its own hold, whose money it could have used. */
  readonly heldMinor: bigint
}

function amountsOf({ hold, amountMinor }: PendingPosting, operation: Operation, { refusal, wallet }: Step) {
  const { amountMinor: movedMinor, heldMinor: changeMinor = 0n } = operation
  return {
    amountMinor: hold?.kind === 'reserve' ? amountMinor : movedMinor,
    movedMinor,
    heldMinor: refusal && changeMinor < 0n ? wallet.heldMinor + changeMinor : wallet.heldMinor,
  }
}

/** The answer of the first use, with the hold as it is now. */
function replayOf(
  outcome: Outcome,
  posting: PendingPosting,
  link: ResolvedLink | undefined,
  book: HoldBook | undefined,
): PostingResult {
  const replay = asReplay(outcome, posting, link?.walletId)
  const hold = findView(book, posting)
  return hold ? { ...replay, hold } : replay
}

/** The hold that a posting is about; undefined when there is none, as after a refused one. */
function findView(book: HoldBook | undefined, { hold: request, referenceKey }: PendingPosting): HoldView | undefined {
  if (!book || !request || request.kind === 'expire') return undefined
  const hold = book.holds.get(request.kind === 'reserve' ? referenceKey : request.holdId)
  return hold && viewHold(hold, book.at(hold.walletId))
}

function resultOf(planned: Planned, hold: HoldView | undefined): HoldResult {
  const { walletId, posting, step, amountMinor, heldMinor } = planned
  const { balanceMinor } = step.wallet
  const ofHold = hold ? { hold } : {}
  if (step.refusal === 'WALLET_INACTIVE') return { kind: 'inactive' }
  // The link was live when it was read, before the wallet was locked; its user has been deleted since.
  if (step.refusal === 'WALLET_CLOSED') return { kind: 'unknown-user' }
  if (step.refusal === 'HOLD_UNCOVERED') return { kind: 'hold-refused', refusal: step.refusal, ...ofHold }
  if (hold && !hasOutcome(posting)) return { kind: 'hold', hold, balanceMinor, heldMinor, isRepeat: false }
  const { referenceKey } = posting
  const isHold = posting.hold?.kind === 'reserve' && !step.refusal
  const outcome = { referenceKey, walletId, amountMinor, balanceMinor, heldMinor, refusal: step.refusal, isHold }
  return { kind: 'outcome', outcome, ...ofHold }
}

/** The clock is read in this statement, after the locks, so that the transfers of one wallet never go back in time. */
const sqlOf = ({ isCluster }: { readonly isCluster: boolean }) => `
with changed as (${walletUpdateSql}${isCluster ? ` returning w.id, ${walletClockSql} as at` : ''}
), operation as (
  select o.*, t.at from ${isCluster ? 'changed' : '(select clock_timestamp() as at)'} as t join
    ${operationsSql(7)}
    on ${isCluster ? 't.id = o.wallet_id' : 'true'}
), ${ledgerRowsSql('$19', { hasHolds: true })}
select 1`

const statement = {
  name: 'post-carefully',
  text: sqlOf({ isCluster: false }),
  onCluster: sqlOf({ isCluster: true }),
}

async function write(client: Queryable, { wallets, operations }: DecidedRows, writer: number): Promise<void> {
  await client.query({ ...statement, values: [...wallets, ...operations, String(writer)] })
}

function rowsOf(
  planned: readonly Planned[],
  after: ReadonlyMap<string, Wallet>,
  open: ReadonlyMap<string, number> | undefined,
): DecidedRows {
  const wallets = [...after]
  const asked = planned.map(({ posting }) => posting)
  return {
    walletIds: planned.map(({ walletId }) => walletId),
    wallets: [
      plainArray(wallets, ([id]) => id),
      plainArray(wallets, ([, wallet]) => wallet.balanceMinor),
      plainArray(wallets, ([, wallet]) => wallet.heldMinor),
      plainArray(wallets, ([, wallet]) => wallet.sequence),
      plainArray(wallets, ([, wallet]) => wallet.frozenFor),
      // Without a book no hold is open or has changed.
      plainArray(wallets, ([id]) => (open ? (open.get(id) ?? 0) : null)),
    ],
    operations: [
      plainArray(planned, ({ walletId }) => walletId),
      plainArray(planned, ({ step, movedMinor }) => (step.refusal || movedMinor === 0n ? null : step.wallet.sequence)),
      plainArray(planned, ({ step }) => step.wallet.balanceMinor),
      plainArray(planned, ({ amountMinor }) => amountMinor),
      plainArray(asked, (posting) => posting.referenceKey),
      textArray(asked, (posting) => posting.counterAccount),
      textArray(asked, (posting) => posting.referenceType),
      textArray(asked, (posting) => posting.referenceId),
      textArray(asked, (posting) => posting.description),
      plainArray(planned, ({ step }) => step.refusal),
      plainArray(planned, ({ heldMinor }) => heldMinor),
      plainArray(planned, ({ step, movedMinor }) => (!step.refusal && movedMinor === 0n ? true : null)),
    ],
  }
}

/** Reports the entries and holds, and the wallets that a debt froze or whose debt was repaid. */
function journal(
  client: Queryable,
  reported: readonly (PostedEntry | HoldEntry)[],
  { before, after }: Record<'before' | 'after', ReadonlyMap<string, Wallet>>,
  writer: number,
): (Promise<unknown> | undefined)[] {
  const changed = [...after].filter(
    ([id, { frozenFor }]) => (frozenFor === null) !== (before.get(id)?.frozenFor === null),
  )
  const entries = journalEntries(client, reported, writer)
  // After the entries that caused them.
  const facts = changed.map(([id, { frozenFor }]) =>
    journalUserFact(client, frozenFor === null ? 'wallet.unfrozen' : 'wallet.frozen', id, writer),
  )
  return [entries, ...facts]
}
