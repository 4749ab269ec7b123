/**
 * Compares the books with the newest checkpoint of the log, again and again: the leaves with the signed root, and what was sealed with the
 * rows of today. A contradiction is a problem of the books. `npx billfold verify --checkpoint` compares with one that was kept outside.
 */
import { addLeaves, noPeaks, rootOf, type Peaks } from '../../proof/merkle.ts'
import type { Transaction } from '../../store/connection/database.ts'
import { findChangedRecords } from '../../store/proofs/audit-leaves.ts'
import { findLog, findNewestCheckpoint, listLeafHashes } from '../../store/proofs/proof-log.ts'
import { hex } from '../../store/proofs/subtrees.ts'
import { nextSealed } from '../../store/proofs/wallet-trees.ts'
import type { BooksState, LogCursor, Problem } from '../../store/verify/books-check.ts'
import { bookFault, entryFault, walletFault, type Fault } from '../../store/verify/fault.ts'
import { laterBy, replaceProblems, type Step, type StepResult } from '../money/check-step.ts'
import { logOrigin, type Sealing } from './checkpoint.ts'
import { readOwnCheckpoint } from './own-checkpoint.ts'
import { verifyDays } from './verify-days.ts'
import { verifyAddedRecords, verifyIncarnations, verifyWallets, type LogFault } from './verify-log.ts'

const leavesPerStep = 10_000
const walletsPerStep = 1_000
/** A step takes no further wallets after this time. */
const walletsForMs = 300
/** The comparison uses a fiftieth of one connection's time. */
const restFactor = 50
const minRestMs = 200
const betweenMs = 60_000
const untilSignedMs = 10_000

export function logStep(sealing: Sealing): Step {
  return {
    name: 'log',
    dueAt: ({ nextLogAt }) => nextLogAt,
    check: async (tx, before) => {
      const started = before.logCursor ? { cursor: before.logCursor, faults: [] } : await start(tx, sealing)
      if (!started) return idle(before)
      const { cursor } = started
      const page = await compare(tx, cursor, sealing.config.currency.code)
      return result(before, cursor, { ...page, faults: [...started.faults, ...page.faults] })
    },
  }
}

/** Undefined if nothing is signed yet. */
async function start(tx: Transaction, sealing: Sealing) {
  const log = await findLog(tx)
  const newest = log && (await findNewestCheckpoint(tx, logOrigin(sealing, log)))
  if (!log || !newest || log.sealedKey === null) return undefined
  const signed = await readOwnCheckpoint(sealing, log, newest.note)
  const faults = signed
    ? []
    : [bookFault('sealed-log', 'The newest checkpoint in the database is not signed by the log.')]
  const root = signed ? hex(signed.root) : ''
  const cursor: LogCursor = { size: newest.size, root, peaks: writePeaks(noPeaks), wallet: null, found: [] }
  return { cursor, faults }
}

function idle(state: BooksState): StepResult {
  const after = { ...state, nextLogAt: laterBy(state.now, untilSignedMs) }
  return { faults: [], entries: 0, keep: () => Promise.resolve(after) }
}

type Page = {
  readonly faults: readonly Fault[]
  readonly entries: number
  /** Null after the last page. */
  readonly next: Pick<LogCursor, 'peaks' | 'wallet'> | null
}

async function compare(tx: Transaction, { size, root, peaks, wallet }: LogCursor, currency: string): Promise<Page> {
  const compared = readPeaks(peaks)
  return compared.size < size
    ? await compareLeaves(tx, compared, { size, root })
    : await compareWallets(tx, { size, peaks, wallet }, currency)
}

async function compareLeaves(tx: Transaction, before: Peaks, signed: { size: number; root: string }): Promise<Page> {
  const until = Math.min(before.size + leavesPerStep, signed.size)
  const records = await findChangedRecords(tx, before.size, until)
  const faults = records.map(({ id, isMissing }) =>
    toFault({ kind: 'audit', id, was: isMissing ? 'removed' : 'changed' }),
  )
  const hashes = await listLeafHashes(tx, before.size, until - before.size)
  const peaks = addLeaves(before, hashes)
  const isShort = peaks.size < until
  if (isShort || (until === signed.size && hex(rootOf(peaks)) !== signed.root)) faults.push(toFault({ kind: 'log' }))
  const next = { peaks: isShort ? { size: signed.size, hashes: [] } : writePeaks(peaks), wallet: null }
  return { faults, entries: hashes.length, next }
}

async function compareWallets(
  tx: Transaction,
  { size, peaks, wallet }: Pick<LogCursor, 'size' | 'peaks' | 'wallet'>,
  currency: string,
): Promise<Page> {
  const faults: Fault[] = []
  if (wallet === null) {
    for await (const fault of verifyIncarnations(tx, size)) faults.push(toFault(fault))
    for await (const fault of verifyDays(tx, size, currency)) faults.push(toFault(fault))
    for await (const fault of verifyAddedRecords(tx, size)) faults.push(toFault(fault))
  }
  const endsAt = performance.now() + walletsForMs
  const wallets = await nextSealed(tx, wallet, walletsPerStep)
  let compared = 0
  for await (const group of verifyWallets(tx, wallets, size, currency)) {
    faults.push(...group.faults.map(toFault))
    compared += group.compared
    if (performance.now() > endsAt) break
  }
  const isLast = compared === wallets.length && wallets.length < walletsPerStep
  return { faults, entries: compared, next: isLast ? null : { peaks, wallet: wallets[compared - 1]!.walletId } }
}

/** Findings stay until a whole comparison did not find them again. */
function result(state: BooksState, cursor: LogCursor, { faults, entries, next }: Page): StepResult {
  return {
    faults,
    entries,
    keep: (_, confirmed, tookMs) => {
      const found = [...cursor.found, ...confirmed.map(({ message }) => message)]
      const isGone = (problem: Problem) => next === null && isOfLog(problem) && !found.includes(problem.message)
      const after = { ...state, problems: replaceProblems(state, isGone, confirmed) }
      const restMs = Math.max(minRestMs, tookMs * restFactor)
      const nextLogAt = laterBy(state.now, tookMs + (next ? restMs : Math.max(betweenMs, restMs)))
      return Promise.resolve(
        next
          ? { ...after, logCursor: { ...cursor, ...next, found: found.slice(0, maxFound) }, nextLogAt }
          : { ...after, logCursor: null, nextLogAt, logCheckedAt: state.now, logCheckedSize: cursor.size },
      )
    },
  }
}

const maxFound = 100

export const isOfLog = ({ check }: Pick<Problem, 'check'>) => check.startsWith('sealed-')

const writePeaks = ({ size, hashes }: Peaks): LogCursor['peaks'] => ({ size, hashes: hashes.map(hex) })
const readPeaks = ({ size, hashes }: LogCursor['peaks']): Peaks => ({
  size,
  hashes: hashes.map((hash) => new Uint8Array(Buffer.from(hash, 'hex'))),
})

const recordTexts = {
  changed: 'is not what was sealed',
  removed: 'was sealed and is not there',
  added: 'is older than the sealed ones and was not sealed with them',
} as const

function toFault(fault: LogFault): Fault {
  if (fault.kind === 'log') return bookFault('sealed-log', 'The leaves of the log are not those that were signed.')
  if (fault.kind === 'audit') return bookFault('sealed-record', `Audit record ${fault.id} ${recordTexts[fault.was]}.`)
  if (fault.kind === 'books')
    return bookFault(
      'sealed-books',
      `What ${fault.account ?? 'the accounts'} moved up to ${fault.day ?? 'a day'} is not what was sealed.`,
    )
  const { walletId, from, until, entry } = fault
  return entry === undefined
    ? walletFault('sealed-entry', walletId, `the entries ${from} to ${until} are not those that were sealed`)
    : entryFault('sealed-entry', walletId, BigInt(entry), 'it is not what was sealed')
}
