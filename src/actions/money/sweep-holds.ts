/**
 * Closes the holds that have expired, of all wallets, and gives the notices that are due. Every process runs it each second, one at a
 * time. A wallet whose holds cannot be closed gets a piece of work, which retries and reports it, and is left out here.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { faultFields, faultText } from '../../platform/log.ts'
import type { App } from '../../store/apps.ts'
import { transact, type Queryable, type Transaction } from '../../store/connection/database.ts'
import { locks, tryLock } from '../../store/locks.ts'
import { addFailedWork, listFailedKeys } from '../../store/work/work.ts'
import { listDueNotices, listExpiredHolds, type DueHold, type ExpiredHold } from '../../store/writer/due-holds.ts'
import { expireFast } from '../../store/writer/fast-expiries.ts'
import { isRetryable } from '../../store/writer/posting.ts'
import type { Service } from '../service.ts'
import { expireHolds } from './manage-holds.ts'

const batch = 500
/** No more wallets that fail are left out. */
const maxLeftOut = 10_000
/** The next run goes on: a job that takes a minute counts as failed. */
const runForMs = 20_000
/** Between batches it rests twice as long as the last one took, so that many that expire at once leave the database to debits. */
const restFactor = 2
const maxRestMs = 1_000
const retryAfterMs = 1_000

export async function sweepHolds(service: Service): Promise<void> {
  const endsAt = performance.now() + runForMs
  const apps = await service.apps.list()
  if (dueOf(await listDue(service.db.pool, apps, 1)).length === 0) return
  const isSwept = new Set<string>()
  for (let first = 0; performance.now() < endsAt;) {
    const startedAt = performance.now()
    const due = await sweepBatch(service, [...apps.slice(first), ...apps.slice(0, first)])
    // By the clock of a wallet's own server they may not have expired yet.
    if (due.every(({ walletId }) => isSwept.has(walletId))) return
    for (const { walletId } of due) isSwept.add(walletId)
    // An app with many does not keep the others waiting: it is the last in the next batch.
    const ofDue = new Set(due.map(({ clientId }) => clientId))
    first = 1 + apps.findLastIndex(({ clientId }) => ofDue.has(clientId))
    await sleep(Math.min(maxRestMs, restFactor * (performance.now() - startedAt)))
  }
}

/** Returns what was due. */
async function sweepBatch(service: Service, apps: readonly App[]): Promise<readonly DueHold[]> {
  const found = await whileAlone(service, (tx) => listDue(tx, apps, batch))
  if (!found) return []
  const due = dueOf(found)
  const closed = await closeTogether(service, apps, found.expired)
  const left = new Set(due.flatMap(({ walletId }) => (closed.has(walletId) ? [] : [walletId])))
  if (left.size > 0) await whileAlone(service, (tx) => closeEach(service, tx, [...left]))
  return due
}

/** Undefined when another process is at it. */
async function whileAlone<T>({ db }: Service, work: (tx: Transaction) => Promise<T>): Promise<T | undefined> {
  return await transact(db, async (tx) => ((await tryLock(tx, locks.sweepHolds)) ? await work(tx) : undefined))
}

type Found = { readonly expired: readonly ExpiredHold[]; readonly notices: readonly DueHold[] }

async function listDue(db: Queryable, apps: readonly App[], limit: number): Promise<Found> {
  const except = await listFailedKeys(db, 'expire-holds', maxLeftOut)
  const search = { except, limit }
  const clientIds = apps.map(({ clientId }) => clientId)
  return { expired: await listExpiredHolds(db, { ...search, clientIds }), notices: await listDueNotices(db, search) }
}

function dueOf({ expired, notices }: Found): DueHold[] {
  return [...expired, ...notices]
}

const none: ReadonlySet<string> = new Set()

/** By one statement, which reports nothing: the holds of apps with events are closed one wallet after the other. */
async function closeTogether(
  service: Service,
  apps: readonly App[],
  expired: readonly ExpiredHold[],
): Promise<ReadonlySet<string>> {
  const quiet = new Set(apps.flatMap(({ clientId, hasEvents }) => (hasEvents ? [] : [clientId])))
  const due = expired.filter(({ clientId }) => quiet.has(clientId))
  if (due.length === 0) return none
  try {
    const closed = (await whileAlone(service, (tx) => expireFast(tx, due))) ?? none
    service.metrics.hold('expired', due.filter(({ walletId }) => closed.has(walletId)).length)
    for (const walletId of closed) service.live.poke(walletId)
    return closed
  } catch (error) {
    service.log.info('expired holds could not be closed together', faultFields(error))
    return none
  }
}

/** Each wallet by itself: one that fails does not stop the others. */
async function closeEach(service: Service, tx: Transaction, walletIds: readonly string[]): Promise<void> {
  const results = await Promise.allSettled(walletIds.map((walletId) => expireHolds(service, walletId)))
  const failed = results.flatMap((result, i) =>
    result.status === 'rejected' ? [{ key: walletIds[i]!, error: result.reason as unknown }] : [],
  )
  // Of several none could be closed in time: the ledger is away, rather than these wallets at fault.
  const isAway =
    failed.length > 1 && failed.length === results.length && failed.every(({ error }) => isRetryable(error))
  if (isAway) throw failed[0]!.error
  for (const { key, error } of failed)
    await addFailedWork(tx, { kind: 'expire-holds', key, afterMs: retryAfterMs }, faultText(error))
}
