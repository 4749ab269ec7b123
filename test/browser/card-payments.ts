/** Card payments in the sandbox without its pages: paying, and later events at the bank. */
import { resolveTopup } from '../../src/actions/topups/resolve-topup.ts'
import { findTopupByPayment } from '../../src/store/topups.ts'
import { newPage } from '../page.ts'
import type { Rig } from './rig.ts'
import type { Tenant } from './shop.ts'

export async function payByCard(
  rig: Rig,
  tenant: Tenant,
  amount: number,
  number = '4242424242424242',
  order: { replaces?: null } = {},
): Promise<string> {
  const page = newPage(rig.app.fetch, rig.base)
  const session = await tenant.newSession()
  const { body } = await page.post(`/api/widget/topup/create-intent?session=${session}`, { amount, ...order })
  const { paymentIntentId, clientSecret } = body as { paymentIntentId: string; clientSecret: string }
  await page.post('/sandbox/confirm', { paymentIntentId, clientSecret, number, expiry: '12/40', cvc: '123' })
  await page.post(`/api/widget/topup/confirm?session=${session}`, { paymentIntentId })
  return paymentIntentId
}

/** Does what a button of the sandbox's panel does, and waits until the service has received the event. */
export async function atTheBank(rig: Rig, paymentIntentId: string, action: string, amount?: number): Promise<void> {
  const body = new URLSearchParams(amount === undefined ? {} : { amount: String(amount) })
  const url = `${rig.base}/sandbox/panel/payments/${paymentIntentId}/${action}`
  const { status } = await rig.app.fetch(new Request(url, { method: 'POST', body }))
  if (status !== 303) throw new Error(`${action} of ${paymentIntentId}: ${status}`)
  const topup = await findTopupByPayment(rig.service.db.pool, paymentIntentId)
  await resolveTopup(rig.service, topup!.id)
}
