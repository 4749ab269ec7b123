/**
 * The pass over the wallets that changed: each is followed from the point up to which its ledger was found right, so that a
 * day's work is the day's entries. When it is through, every entry from before its start was looked at.
 */
import type { BooksState } from '../../store/verify/books-check.ts'
import { maxFaultsPerStatement, type Fault } from '../../store/verify/fault.ts'
import { endOfLedger, type Stretch } from '../../store/verify/stretch.ts'
import {
  deleteCheckpoints,
  findCheckpointAt,
  nextChanges,
  upsertCheckpoints,
  type ChangedWallet,
  type Changes,
  type Checkpoint,
} from '../../store/verify/verified-wallets.ts'
import { verifyStretches } from '../../store/verify/verify.ts'
import type { Transaction } from '../../store/connection/database.ts'
import { laterBy, replaceProblems, type Step } from './check-step.ts'

/** To compare so many takes some 30 ms, to check so many entries some 300. */
const walletsPerPage = 20_000
const entriesPerPage = 20_000
/** A twentieth of one connection's time; a fifth when it is behind, for what nobody has looked at is what it is for. */
const restFactor = 20
const hurriedRestFactor = 4
const behindAfterMs = 60_000
const betweenPassesMs = 5_000

export const changesStep: Step = {
  name: 'changes',
  dueAt: ({ nextPassAt }) => nextPassAt,
  check: async (tx, before, words, isSecond) => {
    const state = before.pass ? before : startPass(before)
    const page = await nextChanges(tx, state.pass!.from, walletsPerPage)
    const plan = planStretches(page, state.pass!.target, isSecond)
    const faults = await verifyStretches(tx, plan.parts, words)
    const { parts, next, entries } = plan
    return {
      faults,
      entries,
      keep: async (writing, confirmed, tookMs) => {
        await keepPoints(writing, parts, faults)
        const looked = new Set(parts.filter(({ isWhole }) => isWhole).map(({ walletId }) => walletId))
        const problems = replaceProblems(
          state,
          ({ check, walletId }) => walletId !== null && looked.has(walletId) && isFollowed(check),
          confirmed,
        )
        const passWallets = state.passWallets + parts.length
        const passEntries = state.passEntries + entries
        const after = { ...state, problems, pass: next, passWallets, passEntries }
        const restMs = tookMs * (isBehind(state) ? hurriedRestFactor : restFactor)
        if (next) return { ...after, nextPassAt: laterBy(state.now, tookMs + restMs) }
        return {
          ...after,
          nextPassAt: laterBy(state.now, tookMs + Math.max(betweenPassesMs, restMs)),
          checkedUpTo: state.passStartedAt,
          lastPassMs: state.now.getTime() - state.passStartedAt!.getTime() + Math.round(tookMs),
          lastPassWallets: passWallets,
          lastPassEntries: passEntries,
        }
      },
    }
  },
}

function startPass(state: BooksState): BooksState {
  return { ...state, pass: { from: null, target: null }, passStartedAt: state.now, passWallets: 0, passEntries: 0 }
}

function isBehind({ now, checkedUpTo, passStartedAt }: BooksState): boolean {
  return now.getTime() - (checkedUpTo ?? passStartedAt!).getTime() > behindAfterMs
}

/** What a pass sees of a wallet; the rest is for the round over everything. */
function isFollowed(check: string): boolean {
  return check.startsWith('entry-') || (check.startsWith('wallet-') && !roundChecks.includes(check))
}
const roundChecks = ['wallet-missing', 'wallet-without-user']

type Part = Stretch & { readonly wallet: ChangedWallet; readonly isWhole: boolean }
type Plan = { readonly parts: readonly Part[]; readonly next: BooksState['pass']; readonly entries: number }

/**
 * What is looked at now, and where the pass goes on. A wallet with more entries than fit is cut; it is done when it was
 * followed to where it stood when the pass first came to it, so one that grows all the time does not hold the others up.
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
      // Also a wallet without a new entry costs something.
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

/** From the point, unless that is of no use. The second look trusts none, where the whole ledger can be looked at in one go. */
function startOf(wallet: ChangedWallet, isSecond: boolean): Checkpoint {
  const { walletId, sequence, fromSequence, fromBalanceMinor } = wallet
  const isFresh = fromSequence > sequence || (isSecond && sequence <= BigInt(entriesPerPage))
  return isFresh
    ? { walletId, sequence: 0n, balanceMinor: 0n }
    : { walletId, sequence: fromSequence, balanceMinor: fromBalanceMinor }
}

/**
 * A wallet in which one look alone has found something is not found right either. And where there are more faults than a
 * statement tells of, nobody knows which wallets have none.
 */
async function keepPoints(tx: Transaction, parts: readonly Part[], faults: readonly Fault[]): Promise<void> {
  const faulty = new Set(faults.flatMap(({ walletId }) => walletId ?? []))
  const isInRuins = faults.length >= maxFaultsPerStatement
  const points: Checkpoint[] = []
  for (const { walletId, wallet, isWhole, until } of parts) {
    if (isInRuins || faulty.has(walletId)) continue
    const point = isWhole ? wallet : await findCheckpointAt(tx, walletId, until)
    if (point) points.push(point)
  }
  await upsertCheckpoints(tx, points)
  await deleteCheckpoints(tx, [...faulty])
}
