import { changePayment, findPayment, type SandboxDeps } from './change.ts'
import { dueDeliveries, nextDueAt, recordAnswer, type SandboxEvent } from './events.ts'
import { readSettings } from './settings.ts'
import { signatureHeader, signBody } from './signature.ts'

const answerWithinMs = 5_000

/**
 * Sends the webhooks of a payment whose time has come. Returns the milliseconds until there is more to do; undefined when there is
 * nothing left. The caller lets one process at a time do it: one that dies on the way leaves its webhooks to the next, so that a
 * webhook may be sent twice and is never lost.
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

/** It names a payment, and nothing else that a receiver could be tempted to believe. */
export function webhookBody(paymentIntentId: string, { id, type, createdAt }: SandboxEvent): string {
  return JSON.stringify({ id, type, createdAt: new Date(createdAt).toISOString(), paymentIntentId })
}

/** The status our endpoint answered, or 0. The body is signed when it is sent, so that a late webhook is as valid as a prompt one. */
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
