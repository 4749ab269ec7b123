/**
 * Seals the books: the entries that the continuous check found right become leaves of their wallets' trees, and each tree that grew
 * becomes a leaf of the log. When a pass over the wallets ends, the state of the log is signed. One process at a time does this, and
 * nothing of it is in the path of a debit.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { marksOf } from '../../proof/marks.ts'
import { addJoined, hashLeaf, noPeaks, rootOf } from '../../proof/merkle.ts'
import { headLeaf } from '../../../sdk/verify/leaves.ts'
import { transact, type Transaction } from '../../store/connection/database.ts'
import {
  appendLeaves,
  findLog,
  insertLog,
  lockLog,
  updateAuditSealed,
  updatePass,
  type LogLeaf,
  type LogState,
} from '../../store/proofs/proof-log.ts'
import { isStored } from '../../store/proofs/subtrees.ts'
import { findUnsealedRecords } from '../../store/proofs/audit-leaves.ts'
import { hashFoundEntries, type LeafRange } from '../../store/proofs/entry-leaves.ts'
import { findCheckedAfter, keepTrees, nextGrown } from '../../store/proofs/wallet-trees.ts'
import type { GrownWallet, PageLimits, WalletSubtree, WalletTree } from '../../store/proofs/wallet-trees.ts'
import { hashBytes, sha256Hex } from '../../proof/sha256.ts'
import { newKeySeed } from '../../proof/sign-note.ts'
import { canSign, sealLogSeed, signCheckpoint, type Sealing } from './checkpoint.ts'
import { enterIncarnation, newIncarnationId } from './incarnation.ts'
import { readOutside } from './outside.ts'
import { sealDay } from './seal-day.ts'

/** Sealing a page takes about 100 ms. */
const pageLimits: PageLimits = { wallets: 20_000, grown: 3_000, entries: 20_000 }
/** The first page finds out how many wallets fill one. */
const grownAtFirst = 500
const betweenSignaturesMs = 10 * 60_000

/** Longer than a proof waits between two attempts, so that every proof that is asked for finds the log free after each page. */
const freeForMs = 50
export const retryAfterMs = 40

/** The job: takes the steps of a pass that is due, until the pass ends or another process has the log. */
export async function sealBooks(
  sealing: Sealing,
  { betweenPages = async () => await sleep(freeForMs) } = {},
): Promise<void> {
  const log = await beginLog(sealing)
  if (!(await canSign(sealing, log))) return refuseLate(log)
  for (let limits = { ...pageLimits, grown: grownAtFirst }; ;) {
    const step = await transact(sealing.db, async (tx) => await takeStep(tx, sealing, limits))
    if (!step) return
    if (step.log.passStartedAt === null) return await signCheckpoint(sealing, step.log)
    limits = { ...limits, grown: nextGrownLimit(step.grown) }
    await betweenPages()
  }
}

/** Reading a wallet that no longer fits into the page costs as much as one that does. */
const nextGrownLimit = (grown: number) => Math.min(pageLimits.grown, Math.max(2 * grown, 100))

/** Without the key it is left to the processes that have it, as long as they seal. */
function refuseLate({ nextPassAt, now }: LogState): void {
  if (now.getTime() - nextPassAt.getTime() > betweenSignaturesMs)
    throw new Error(`No process with the key of the log seals the books: SECRETS_KEY has another key.`)
}

/** Also reads what is known of the log outside, where it shows a database that went back. */
export async function beginLog(sealing: Sealing): Promise<LogState> {
  const { pool } = sealing.db
  const log = await findLog(pool)
  if (log) {
    if (await canSign(sealing, log)) await readOutside(sealing, log)
    return log
  }
  const id = newIncarnationId()
  await insertLog(pool, id, await sealLogSeed(sealing, id, newKeySeed()))
  return (await findLog(pool))!
}

/** One page of wallets and of audit records. Undefined where nothing is due, or another process seals. */
async function takeStep(
  tx: Transaction,
  sealing: Sealing,
  limits: PageLimits,
): Promise<{ readonly log: LogState; readonly grown: number } | undefined> {
  const locked = await lockLog(tx)
  if (!locked || (locked.passStartedAt === null && locked.nextPassAt > locked.now)) return undefined
  const state = await enterIncarnation(tx, sealing, locked)
  const startedAt = state.passStartedAt ?? state.now
  const records = await sealRecords(tx, await sealDay(tx, state, sealing.config.currency.code))
  const page = await nextGrown(tx, state.passFrom, limits)
  const { grown, isFull } = cut(page.grown, limits)
  const { peaks, sealed } = await sealTrees(tx, records.log, grown, sealing.config.currency.code)
  const next = isFull ? await followingOf(tx, grown.at(-1)!, sealed) : page.until
  const isLast = next === null && records.areAll
  const pass = isLast
    ? {
        passFrom: null,
        passStartedAt: null,
        nextPassAt: nextPassAt(startedAt, state.now),
        sealedUpTo: startedAt,
      }
    : {
        passFrom: next,
        passStartedAt: startedAt,
        nextPassAt: state.nextPassAt,
        sealedUpTo: state.sealedUpTo,
      }
  await updatePass(tx, pass)
  return { log: { ...records.log, ...pass, peaks }, grown: grown.length }
}

/** Full load may have begun since a short pass. */
const shortestMs = 2 * 60_000
const longestMs = betweenSignaturesMs / 2

/**
 * What a pass sealed is signed at its end. The next one begins earlier by the time that it may take, so that its signature comes ten minutes after
 * the begin of this one.
 */
function nextPassAt(startedAt: Date, endedAt: Date): Date {
  const tookMs = endedAt.getTime() - startedAt.getTime()
  const earlierMs = Math.min(Math.max(tookMs, shortestMs), longestMs)
  return new Date(startedAt.getTime() + betweenSignaturesMs - earlierMs)
}

const recordsPerStep = 5_000

/** Adds audit records to the log, oldest first. */
async function sealRecords(
  tx: Transaction,
  log: LogState,
): Promise<{ readonly log: LogState; readonly areAll: boolean }> {
  const records = await findUnsealedRecords(tx, log.auditUpTo, recordsPerStep)
  const last = records.at(-1)
  if (!last) return { log, areAll: true }
  const leaves = records.map(({ id, hash }): LogLeaf => ({ kind: 'audit', subject: id, size: null, hash }))
  const auditUpTo = log.auditUpTo && log.auditUpTo > last.at ? log.auditUpTo : last.at
  await updateAuditSealed(tx, auditUpTo)
  const { peaks } = await appendLeaves(tx, log.peaks, leaves)
  return { log: { ...log, peaks, auditUpTo }, areAll: records.length < recordsPerStep }
}

type Growth = GrownWallet & { readonly until: number }

/** The entries of all but the last wallet fit into one page, and the last one is cut. */
function cut(
  wallets: readonly GrownWallet[],
  limits: PageLimits,
): { readonly grown: readonly Growth[]; readonly isFull: boolean } {
  let left = limits.entries
  const grown = wallets.map((wallet): Growth => {
    const size = wallet.tree?.peaks.size ?? 0
    const until = Math.min(wallet.checkedUpTo, size + left)
    left -= until - size
    return { ...wallet, until }
  })
  return { grown, isFull: left === 0 || grown.length === limits.grown }
}

/** The next step goes on with a wallet that was cut, unless nothing of it could be sealed. */
async function followingOf(tx: Transaction, last: Growth, sealed: ReadonlySet<string>): Promise<string | null> {
  const { walletId, until, checkedUpTo } = last
  return until < checkedUpTo && sealed.has(walletId) ? walletId : await findCheckedAfter(tx, walletId)
}

/**
 * Adds the entries up to `until` to the wallets' trees, and the trees' new states to the log. A wallet that lost one of them is left out: a
 * gap would shift its later leaves. The check of the books names the gap, and the other wallets are sealed.
 */
export async function sealTrees(tx: Transaction, log: LogState, wallets: readonly Growth[], currency: string) {
  const ranges = wallets.map(({ walletId, tree, until }): Range => {
    const before = tree ?? newTree(walletId)
    return { ...namedTree(before), tree: before, after: before.peaks.size, until }
  })
  const found = await hashFoundEntries(tx, ranges, currency)
  const complete = ranges.flatMap((range, i) => {
    const hashes = found[i]!
    return hashes.length === (range.until - range.after) * hashBytes ? [{ ...range, hashes }] : []
  })
  const sealed = new Set(complete.map(({ walletId }) => walletId))
  if (complete.length === 0) return { peaks: log.peaks, sealed }
  const subtrees: WalletSubtree[] = []
  const grown = complete.map(({ walletId, tree, hashes }) => {
    const keep = (level: number, index: number, hash: Uint8Array) => {
      if (isStored(level)) subtrees.push({ walletId, level, index, hash: hash.slice() })
    }
    return addJoined(tree.peaks, hashes, keep)
  })
  const leaves = complete.map(({ walletId, name, hashes }, i): LogLeaf => {
    const head = { wallet: name, size: grown[i]!.size, root: rootOf(grown[i]!) }
    const hash = hashLeaf(headLeaf(head))
    return { kind: 'wallet', subject: walletId, size: head.size, hash, marks: marksOf(hashes) }
  })
  const { first, peaks } = await appendLeaves(tx, log.peaks, leaves)
  const trees = complete.map(({ tree }, i) => ({
    ...tree,
    peaks: grown[i]!,
    leaf: first + i,
    isNew: tree.leaf === null,
  }))
  await keepTrees(tx, trees, subtrees)
  return { peaks, sealed }
}

type Range = LeafRange & { readonly tree: WalletTree }

const newTree = (walletId: string): WalletTree => ({
  walletId,
  salt: new Uint8Array(randomBytes(32)),
  peaks: noPeaks,
  leaf: null,
})

const idBytes = 16

/** The wallet's name in the log says nothing about the wallet: the salt is in no proof. */
export function namedTree({ walletId, salt }: Pick<WalletTree, 'walletId' | 'salt'>) {
  const bytes = new Uint8Array(idBytes + salt.length)
  bytes.setFromHex(walletId.replaceAll('-', ''))
  bytes.set(salt, idBytes)
  return { walletId, salt, name: sha256Hex(bytes) }
}
