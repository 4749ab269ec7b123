/**
 * The one way money comes in by card. Confirm, webhook and background work all call it, also concurrently. It asks the
 * processor, stores the answer together with the movements it implies, then posts those movements to the ledger under
 * idempotent references. If the process dies at any step, the next attempt continues.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Payment, ProcessorEvent } from '../../cards/processor.ts'
import { getDatabaseTime, transact, type Transaction } from '../../store/connection/database.ts'
import { Unavailable } from '../../store/writer/posting.ts'
import {
  countMovements,
  insertMovement,
  insertProcessorEvent,
  listUnpostedMovements,
  updateCreditRefused,
  updateMovementPosted,
  type Movement,
} from '../../store/topup-movements.ts'
import type { Outcome } from '../../store/outcomes.ts'
import { findTopup, isTopupVersion, updateTopup, type Topup } from '../../store/topups.ts'
import { dropWork, getAttempts, rescheduleWork } from '../../store/work/work.ts'
import { sendSoon } from '../mails/notify.ts'
import { postForService } from '../money/post.ts'
import type { Service } from '../service.ts'
import { notifyGivenUp, notifyMovement } from './notify-topup.ts'
import { movementTexts, nextAttemptAt, readPayment, referenceIdOf, type MovementType } from './topup-rules.ts'

export type Resolved = {
  readonly topup: Topup
  /** As the processor reported it; undefined when there is none, or another processor holds it. */
  readonly payment: Payment | undefined
}

const maxTries = 8
/** Longer than posting takes. If this process dies before it has posted the movements, another one posts them after this time. */
const postWithinMs = 60_000

/** Throws ProcessorUnavailable when the processor does not answer; the stored state stays as it was. */
export async function resolveTopup(service: Service, topupId: string, event?: ProcessorEvent): Promise<Resolved> {
  for (let tries = 1; tries <= maxTries; tries++) {
    const before = await findTopup(service.db.pool, topupId)
    if (!before) throw new Error('a top-up vanished')
    // No transaction is open here, because the processor may be slow.
    const payment = await askProcessor(service, before)
    if (!payment) return { topup: await postMovements(service, before), payment }
    const after = await writeDown(service, before, payment, event)
    if (after) return { topup: await postMovements(service, after), payment }
    await sleep(Math.random() * 30 * tries)
  }
  throw new Unavailable('a top-up is being resolved by too many at once')
}

async function askProcessor(service: Service, topup: Topup): Promise<Payment | undefined> {
  const { cards, log } = service
  if (topup.paymentIntentId === null || cards?.page.kind !== topup.processor) return undefined
  const payment = await cards.retrievePayment(topup.paymentIntentId)
  if (!payment) log.error('the card processor does not know the payment of a top-up', { topupId: topup.id })
  return payment
}

/** Undefined when the row has a newer version than `before`: this answer may be older than the stored one, so it is discarded. */
async function writeDown(
  service: Service,
  before: Topup,
  payment: Payment,
  event: ProcessorEvent | undefined,
): Promise<Topup | undefined> {
  const after = await transact(service.db, async (tx) => {
    if (!(await isTopupVersion(tx, before))) return undefined
    const at = await getDatabaseTime(tx)
    const reported = event && {
      isNew: await insertProcessorEvent(tx, { id: event.id, topupId: before.id, type: event.type, at }),
      isDecline: /declin|fail/.test(event.type),
    }
    const { changes, movements, isChanged } = readPayment(before, payment, {
      at,
      reported,
      ledgerCurrency: service.config.currency.code,
    })
    const written = await updateTopup(tx, before, changes)
    const postedBy = movements.length > 0 ? new Date(at.getTime() + postWithinMs) : undefined
    await scheduleAttempt(tx, written, { at, isReset: isChanged, ...(postedBy && { dueAt: postedBy }) })
    let number = movements.length === 0 ? 0 : await countMovements(tx, before.id)
    for (const { referenceType, amountMinor } of movements) {
      number++
      const referenceId = referenceIdOf(referenceType, payment.id, number)
      await insertMovement(tx, { topupId: before.id, number, referenceType, referenceId, amountMinor }, at)
    }
    await notifyGivenUp(tx, before, written)
    return written
  })
  if (after && after.state !== before.state) {
    service.metrics.topup(after.state)
    sendSoon(service)
  }
  if (after && after.dispute !== before.dispute) service.metrics.dispute(after.dispute)
  if (after && after.problem !== before.problem) {
    service.log.error('a card payment is not what was ordered, and is not credited', { topupId: after.id })
  }
  return after
}

/** Posts the movements that have no posted_at yet. Each has a unique reference, so posting one twice moves money once. */
async function postMovements(service: Service, topup: Topup): Promise<Topup> {
  const movements = await listUnpostedMovements(service.db.pool, topup.id)
  for (const movement of movements) {
    const { refusal, outcome } = await post(service, topup, movement)
    if (refusal !== null) {
      service.log.error('the ledger refused a paid top-up', { topupId: topup.id, refusal })
      await transact(service.db, async (tx) => updateCreditRefused(tx, topup.id, await getDatabaseTime(tx), refusal))
      return { ...topup, problem: 'credit-refused' }
    }
    await transact(service.db, async (tx) => {
      const at = await getDatabaseTime(tx)
      if (await updateMovementPosted(tx, movement, at, null)) await notifyMovement(tx, topup, movement, { outcome, at })
    })
    sendSoon(service)
  }
  if (movements.length > 0) await scheduleUnchanged(service, topup)
  return topup
}

/** Schedules nothing if the row has a newer version: its writer has scheduled an attempt. */
export async function scheduleUnchanged(service: Service, topup: Topup): Promise<void> {
  await transact(service.db, async (tx) => {
    if (await isTopupVersion(tx, topup))
      await scheduleAttempt(tx, topup, { at: await getDatabaseTime(tx), isReset: false })
  })
}

/** The caller holds the lock of the top-up. */
async function scheduleAttempt(
  tx: Transaction,
  topup: Topup,
  { at, isReset, dueAt }: { at: Date; isReset: boolean; dueAt?: Date },
): Promise<void> {
  const work = { kind: 'resolve-topup', key: topup.id } as const
  const next = dueAt ?? nextAttemptAt(topup, isReset ? 0 : await getAttempts(tx, work.kind, work.key), at)
  if (next) await rescheduleWork(tx, { ...work, dueAt: next, isReset })
  else await dropWork(tx, work.kind, work.key)
}

type Posted =
  | { readonly refusal: null; readonly outcome: Outcome }
  | { readonly refusal: string; readonly outcome?: never }

async function post(service: Service, topup: Topup, movement: Movement): Promise<Posted> {
  const { referenceType, referenceId, amountMinor } = movement
  const result = await postForService(service, {
    walletId: topup.userId,
    counterAccount: 'cards',
    amountMinor,
    isReversal: amountMinor < 0n,
    referenceType,
    referenceId,
    description: movementTexts[referenceType as MovementType],
  })
  // The user was deleted after the top-up had failed, and its payment arrived later. An operator refunds it.
  if (result.kind === 'unknown-user') return { refusal: 'WALLET_CLOSED' }
  // Unreachable: every user has a wallet, and a freeze stops neither a credit nor a reversal.
  if (result.kind !== 'outcome') throw new Error(`a top-up could not be posted: ${result.kind}`)
  const { outcome } = result
  return outcome.refusal === null ? { refusal: null, outcome } : { refusal: outcome.refusal }
}
