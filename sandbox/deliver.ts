import { changePayment, findPayment, type SandboxDeps } from './change.ts'
import { claimDelivery, dueDeliveries, recordAnswer, type DueDelivery, type SandboxEvent } from './events.ts'
import { readSettings } from './settings.ts'
import { signatureHeader, signBody } from './signature.ts'

const answerWithinMs = 5_000

/**
 * Sends the webhooks whose time has come. Every process may run it: a delivery is claimed in the store before it is sent,
 * and a process that dies in between leaves a claim that runs out, so a webhook may come twice and is never lost.
 */
export async function deliverDue(deps: SandboxDeps): Promise<void> {
  const { mode } = await readSettings(deps.store)
  const rows = await deps.store.listDue(deps.now(), 50)
  await Promise.all(
    rows.map(async ({ id }) => {
      await changePayment(deps, mode, id, (payment) => payment)
      const payment = await findPayment(deps.store, id)
      if (!payment) return
      for (const due of dueDeliveries(payment, deps.now().getTime())) await deliverOne(deps, id, due)
    }),
  )
}

async function deliverOne(deps: SandboxDeps, id: string, due: DueDelivery): Promise<void> {
  const { mode } = await readSettings(deps.store)
  let isMine = false
  await changePayment(deps, mode, id, (payment, { now }) => {
    const current = payment.events.find((event) => event.id === due.event.id)?.deliveries[due.index]
    isMine = current?.state === 'waiting' && current.attempts === due.delivery.attempts
    return isMine ? claimDelivery(payment, due, now) : payment
  })
  if (!isMine) return
  const answered = await post(deps, id, due.event)
  await changePayment(deps, mode, id, (payment, { now }) => recordAnswer(payment, due, answered, now))
}

/** It says which payment to look at, and nothing else that anyone could be tempted to believe. */
export function webhookBody(paymentIntentId: string, { id, type, createdAt }: SandboxEvent): string {
  return JSON.stringify({ id, type, createdAt: new Date(createdAt).toISOString(), paymentIntentId })
}

/** The status our endpoint answered, or 0. It is signed when it is sent, so a late webhook is as valid as a prompt one. */
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
