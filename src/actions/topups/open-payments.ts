/**
 * A user has at most one open payment in the top-up pages of an app: a payment that is approved later, in a forgotten window, must
 * not charge a second time for the same need.
 */
import { isRefusal, type Payment } from '../../cards/processor.ts'
import { transact } from '../../store/connection/database.ts'
import { isTopupVersion, updateNextAmount, updateTopupCancelled, type Topup } from '../../store/topups.ts'
import { listOpenPayments } from '../../store/user-topups.ts'
import type { Service } from '../service.ts'
import { resolveTopup, type Resolved } from './resolve-topup.ts'
import { cancelUnpaid } from './topup-limits.ts'
import { isUntried } from './topup-rules.ts'

export type EndedPayments =
  /** No payment is open. `isUntried`: one was, and the payer had not tried to pay it. */
  | { readonly kind: 'ended'; readonly isUntried: boolean }
  /** The payment is open and has the wanted amount; or it took money before it could be cancelled, or is about to. */
  | { readonly kind: 'changed' | 'paid'; readonly topup: Topup; readonly payment: Payment }
  /** The processor did not cancel a payment, so a second one could charge as well. */
  | { readonly kind: 'unavailable' }

/** `keep`: the payment whose amount changes to `amountMinor`, if the payer has not tried to pay it. */
export type Wanted = { readonly keep: string; readonly amountMinor: bigint }

/** More than a user can begin within an hour, after which unpaid top-ups expire. */
const maxOpen = 25

/** Throws ProcessorUnavailable. The top-up with the id `except` is the caller's own. */
export async function endOpenPayments(
  service: Service,
  owner: Pick<Topup, 'userId' | 'clientId'>,
  { wanted, except }: { wanted?: Wanted | undefined; except?: string } = {},
): Promise<EndedPayments> {
  const open = (await listOpenPayments(service.db.pool, owner, maxOpen)).filter(({ id }) => id !== except)
  const isKept = ({ paymentIntentId }: Topup) => paymentIntentId === wanted?.keep
  const others = await Promise.all(open.filter((topup) => !isKept(topup)).map((topup) => endPayment(service, topup)))
  const stopped = others.find(({ kind }) => kind === 'paid') ?? others.find(({ kind }) => kind === 'unavailable')
  if (stopped) return stopped
  const kept = open.find(isKept)
  const last = kept && (await endPayment(service, kept, wanted))
  if (last && last.kind !== 'ended') return last
  return { kind: 'ended', isUntried: [...others, last].some((one) => one?.kind === 'ended' && one.isUntried) }
}

/** Cancels one open payment at the processor, or changes its amount. */
export async function endPayment(service: Service, { id }: Topup, wanted?: Wanted): Promise<EndedPayments> {
  let resolved = await resolveTopup(service, id)
  const wasUntried = isUntried(resolved)
  if (wanted && wasUntried) {
    resolved = await changeAmount(service, resolved, wanted.amountMinor)
    const { topup, payment } = resolved
    if (payment?.amountMinor === wanted.amountMinor && topup.nextAmountMinor === null && isUntried(resolved))
      return { kind: 'changed', topup, payment }
  }
  const { topup, payment } = await cancelUnpaid(service, resolved)
  // Another processor made it, and its page is not here any more.
  if (!payment) return { kind: 'ended', isUntried: false }
  if (topup.state === 'created') return { kind: 'unavailable' }
  if (topup.state === 'processing' || topup.state === 'succeeded') return { kind: 'paid', topup, payment }
  await updateTopupCancelled(service.db.pool, id)
  return { kind: 'ended', isUntried: wasUntried }
}

/**
 * Stores the new amount before the processor gets it: whichever amount the payer then pays is one that was ordered. The processor's
 * answer decides which amount the payment has.
 */
async function changeAmount(service: Service, before: Resolved, amountMinor: bigint): Promise<Resolved> {
  const { topup, payment } = before
  // A former change without an answer may still arrive: a second change would make its amount an unknown one.
  if (topup.nextAmountMinor !== null && topup.nextAmountMinor !== amountMinor) return before
  if (payment!.amountMinor === amountMinor && topup.nextAmountMinor === null) return before
  const marked = await transact(service.db, async (tx) =>
    (await isTopupVersion(tx, topup)) ? await updateNextAmount(tx, topup, amountMinor) : undefined,
  )
  if (!marked) return before
  const idempotencyKey = `amount-${topup.id}-${marked.version}`
  const order = { paymentIntentId: payment!.id, amountMinor, currency: topup.currency, idempotencyKey }
  const answer = await service.cards!.changeAmount(order)
  if (isRefusal(answer)) service.log.info('a payment was not changed', { topupId: topup.id, refused: answer.refused })
  return await resolveTopup(service, topup.id)
}
