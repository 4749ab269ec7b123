/**
 * The pass over changed wallets: it checks each from its checkpoint, so a day's work is the day's entries. When a pass ends,
 * every entry older than its start has been checked.
 */
import type { BooksState, Problem } from '../../store/verify/books-check.ts'
import { findLacking } from '../../store/verify/entries.ts'
import { maxFaultsPerStatement, type Fault, type FormatMoney } from '../../store/verify/fault.ts'
import { endOfLedger, type Stretch } from '../../store/verify/stretch.ts'
import {
  checkNextChanges,
  deleteCheckpoints,
  findCheckpointAt,
  keepCheckpoints,
  nextChanges,
  nextReachableChanges,
  upsertCheckpoints,
  type ChangedWallet,
  type Changes,
  type Checkpoint,
} from '../../store/verify/verified-wallets.ts'
import { verifyStretches } from '../../store/verify/verify.ts'
import { isSpread } from '../../store/cluster/agreement.ts'
import type { Transaction } from '../../store/connection/database.ts'
import { laterBy, replaceProblems, type Attempt, type Step, type StepResult } from './check-step.ts'

/** Comparing a page of wallets takes about 30 ms, checking a page of entries about 300 ms. */
const walletsPerPage = 20_000
const entriesPerPage = 20_000
/** The pass uses a twentieth of one connection's time; a fifth when it is behind. */
const restFactor = 20
const hurriedRestFactor = 4
const behindAfterMs = 60_000
const betweenPassesMs = 5_000

export const changesStep: Step = {
  name: 'changes',
  dueAt: ({ nextPassAt }) => nextPassAt,
  mayLeaveOut: true,
  check: async (tx, before, words, attempt) => {
    const state = before.pass ? before : startPass(before)
    return (await checkRightPage(tx, state, attempt)) ?? (await checkPage(tx, state, words, attempt))
  },
}

/** Nearly always every entry of a page is right. Undefined where one is not, and where only the other statements help: after a fault, on a cluster, and for a wallet with more entries than a page. */
async function checkRightPage(
  tx: Transaction,
  state: BooksState,
  { isSecond, away }: Attempt,
): Promise<StepResult | undefined> {
  const { from, target, isPartial } = state.pass!
  const isUsual = !isSecond && away.length === 0 && target === null && !state.problems.some(isOfPass)
  if (!isUsual || isSpread(tx)) return undefined
  const page = await checkNextChanges(tx, from, { wallets: walletsPerPage, entries: entriesPerPage })
  if (!page.areRight || page.isCut) return undefined
  const { wallets, entries, until } = page
  return {
    faults: [],
    entries,
    keep: async (writing, _, tookMs) => {
      await keepCheckpoints(writing, page)
      const next = until === null ? null : { from: until, target: null }
      return afterPage(state, { next, isPartial: isPartial === true, wallets, entries }, tookMs)
    },
  }
}

async function checkPage(
  tx: Transaction,
  state: BooksState,
  words: FormatMoney,
  { isSecond, away }: Attempt,
): Promise<StepResult> {
  const { page, isPagePartial } = await takePage(tx, state.pass!.from, away)
  // From the first entry on, nearly every wallet has an outcome on the server that is away.
  const plan = planStretches(page, state.pass!.target, isSecond && away.length === 0)
  const lacking = away.length > 0 ? await findLacking(tx, plan.parts, away) : noWallets
  const parts = plan.parts.filter(({ walletId }) => !lacking.has(walletId))
  const found = await verifyStretches(tx, parts, words)
  // Without a snapshot of all servers, an outcome may only not be visible yet. What one server has is of one snapshot.
  const faults = away.length > 0 ? found.filter(({ check }) => !isOfOutcome(check)) : found
  const isPartial = state.pass!.isPartial || isPagePartial || lacking.size > 0 || faults.length < found.length
  const { next, entries } = plan
  return {
    faults,
    entries,
    keep: async (writing, confirmed, tookMs) => {
      await saveCheckpoints(writing, parts, found)
      const checked = new Set(parts.filter(({ isWhole }) => isWhole).map(({ walletId }) => walletId))
      const problems = replaceProblems(
        state,
        (problem) => isOfPass(problem) && checked.has(problem.walletId!),
        confirmed,
      )
      return afterPage({ ...state, problems }, { next, isPartial, wallets: parts.length, entries }, tookMs)
    },
  }
}

type CheckedPart = Pick<Plan, 'next' | 'entries'> & { readonly isPartial: boolean; readonly wallets: number }

function afterPage(state: BooksState, { next, isPartial, wallets, entries }: CheckedPart, tookMs: number): BooksState {
  const passWallets = state.passWallets + wallets
  const passEntries = state.passEntries + entries
  const after = { ...state, pass: next && { ...next, ...(isPartial && { isPartial }) }, passWallets, passEntries }
  const restMs = tookMs * (isBehind(state) ? hurriedRestFactor : restFactor)
  if (next) return { ...after, nextPassAt: laterBy(state.now, tookMs + restMs) }
  return {
    ...after,
    nextPassAt: laterBy(state.now, tookMs + Math.max(betweenPassesMs, restMs)),
    checkedUpTo: isPartial ? state.checkedUpTo : state.passStartedAt,
    lastPassMs: state.now.getTime() - state.passStartedAt!.getTime() + Math.round(tookMs),
    lastPassWallets: passWallets,
    lastPassEntries: passEntries,
  }
}

/** These compare an entry with its outcome, which may be on another server. */
function isOfOutcome(check: string): boolean {
  return ['entry-without-outcome', 'entry-with-refusal', 'entry-unlike-outcome'].includes(check)
}

const noWallets: ReadonlySet<string> = new Set()

/** While a server is away the wallets are named one by one, which takes longer. */
async function takePage(tx: Transaction, from: string | null, away: readonly number[]) {
  if (away.length === 0) return { page: await nextChanges(tx, from, walletsPerPage), isPagePartial: false }
  const { isPartial, ...page } = await nextReachableChanges(tx, from, walletsPerPage / 10, away)
  return { page, isPagePartial: isPartial }
}

function startPass(state: BooksState): BooksState {
  return { ...state, pass: { from: null, target: null }, passStartedAt: state.now, passWallets: 0, passEntries: 0 }
}

function isBehind({ now, checkedUpTo, passStartedAt }: BooksState): boolean {
  return now.getTime() - (checkedUpTo ?? passStartedAt!).getTime() > behindAfterMs
}

/** Whether the pass makes this check of a wallet; only the full round makes the others. */
function isOfPass({ check, walletId }: Problem): boolean {
  return (
    walletId !== null && (check.startsWith('entry-') || (check.startsWith('wallet-') && !roundChecks.includes(check)))
  )
}
const roundChecks = ['wallet-missing', 'wallet-without-user']

type Part = Stretch & { readonly wallet: ChangedWallet; readonly isWhole: boolean }
type Plan = { readonly parts: readonly Part[]; readonly next: BooksState['pass']; readonly entries: number }

/**
 * Plans this step's stretches and where the pass continues. A wallet with more entries than fit is cut. It is done at the
 * sequence it had when the pass first reached it, so a wallet that keeps growing does not delay the others.
 */
function planStretches(page: Changes, target: number | null, isSecond: boolean): Plan {
  const parts: Part[] = []
  let entries = 0
  for (const wallet of page.changed) {
    const { walletId, sequence } = wallet
    const goal = target !== null && walletId === page.from ? BigInt(target) : sequence
    const start = startOf(wallet, isSecond)
    if (start.sequence >= goal && goal < sequence) continue
    const left = entriesPerPage - entries
    if (left <= 0) return { parts, next: { from: walletId, target: null }, entries }
    const needed = Number(sequence - start.sequence)
    if (needed <= left) {
      parts.push({ ...start, until: endOfLedger, wallet, isWhole: true })
      // A wallet without a new entry has a cost too.
      entries += Math.max(1, needed)
      continue
    }
    const until = start.sequence + BigInt(left)
    parts.push({ ...start, until, wallet, isWhole: false })
    entries += left
    if (until < goal) return { parts, next: { from: walletId, target: Number(goal) }, entries }
  }
  return { parts, next: page.until === null ? null : { from: page.until, target: null }, entries }
}

/** Starts at the checkpoint if it is usable. The second check ignores it when the whole ledger fits into one step. */
function startOf(wallet: ChangedWallet, isSecond: boolean): Checkpoint {
  const { walletId, sequence, fromSequence, fromBalanceMinor } = wallet
  const isFresh = fromSequence > sequence || (isSecond && sequence <= BigInt(entriesPerPage))
  return isFresh
    ? { walletId, sequence: 0n, balanceMinor: 0n }
    : { walletId, sequence: fromSequence, balanceMinor: fromBalanceMinor }
}

/**
 * A wallet with a fault that only one of two checks found gets no checkpoint. When the faults reach the limit of a statement,
 * the list is incomplete and no wallet is known to be right.
 */
async function saveCheckpoints(tx: Transaction, parts: readonly Part[], faults: readonly Fault[]): Promise<void> {
  const faulty = new Set(faults.flatMap(({ walletId }) => walletId ?? []))
  const isListCut = faults.length >= maxFaultsPerStatement
  const checkpoints: Checkpoint[] = []
  for (const { walletId, wallet, isWhole, until } of parts) {
    if (isListCut || faulty.has(walletId)) continue
    const checkpoint = isWhole ? wallet : await findCheckpointAt(tx, walletId, until)
    if (checkpoint) checkpoints.push(checkpoint)
  }
  await upsertCheckpoints(tx, checkpoints)
  await deleteCheckpoints(tx, [...faulty])
}
