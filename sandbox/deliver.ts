import { changePayment, findPayment, type SandboxDeps } from './change.ts'
import { dueDeliveries, nextDueAt, recordAnswer, type SandboxEvent } from './events.ts'
import { readSettings } from './settings.ts'
import { signatureHeader, signBody } from './signature.ts'

const answerWithinMs = 5_000

/**
 * Sends the due webhooks of a payment. Returns the milliseconds until the payment is due again; undefined when nothing is left to
 * do. The caller runs it in one process at a time. If that process dies, the next run sends the rest: a webhook may be sent twice
 * and is never lost.
 */
export async function deliverDue(deps: SandboxDeps, id: string): Promise<number | undefined> {
  const { mode } = await readSettings(deps.store)
  await changePayment(deps, mode, id, (payment) => payment)
  const payment = await findPayment(deps.store, id)
  if (!payment) return undefined
  for (const due of dueDeliveries(payment, deps.now().getTime())) {
    const answered = await post(deps, id, due.event)
    await changePayment(deps, mode, id, (current, { now }) => recordAnswer(current, due, answered, now))
  }
  const after = await findPayment(deps.store, id)
  const dueAt = after && nextDueAt(after)
  return dueAt === undefined ? undefined : Math.max(dueAt - deps.now().getTime(), 0)
}

/** The body only names the payment, so that the receiver has to ask for its state. */
export function webhookBody(paymentIntentId: string, { id, type, createdAt }: SandboxEvent): string {
  return JSON.stringify({ id, type, createdAt: new Date(createdAt).toISOString(), paymentIntentId })
}

/** Returns the status of the answer, or 0 without one. Signs at sending time, so that a late webhook is as valid as a prompt one. */
async function post(deps: SandboxDeps, paymentIntentId: string, event: SandboxEvent): Promise<number> {
  const body = webhookBody(paymentIntentId, event)
  const signature = signBody(body, deps.webhookSecret, deps.now())
  try {
    const answer = await fetch(deps.webhookUrl(), {
      method: 'POST',
      headers: { 'content-type': 'application/json', [signatureHeader]: signature },
      body,
      signal: AbortSignal.timeout(answerWithinMs),
    })
    await answer.body?.cancel()
    return answer.status
  } catch {
    return 0
  }
}
