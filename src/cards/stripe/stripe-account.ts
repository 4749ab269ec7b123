/** Reads the Stripe account: whether it accepts the keys, and its webhook endpoints. */
import { Stripe } from 'stripe'
import { openStripe, type StripeSettings } from './stripe.ts'

export type Endpoint = { readonly url: string; readonly isEnabled: boolean; readonly events: readonly string[] }

export type StripeAccount =
  | { readonly kind: 'refused'; readonly said: string }
  | { readonly kind: 'away'; readonly said: string }
  /** `endpoints` is undefined when a restricted key may not list them. */
  | { readonly kind: 'known'; readonly isLive: boolean; readonly endpoints: readonly Endpoint[] | undefined }

export async function readStripeAccount(settings: StripeSettings): Promise<StripeAccount> {
  const stripe = openStripe(settings)
  try {
    const { livemode } = await stripe.balance.retrieve()
    return { kind: 'known', isLive: livemode, endpoints: await listEndpoints(stripe) }
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    const isRefused =
      error instanceof Stripe.errors.StripeAuthenticationError || error instanceof Stripe.errors.StripePermissionError
    return { kind: isRefused ? 'refused' : 'away', said }
  }
}

async function listEndpoints(stripe: Stripe): Promise<Endpoint[] | undefined> {
  try {
    const { data } = await stripe.webhookEndpoints.list({ limit: 100 })
    return data.map((endpoint) => ({
      url: endpoint.url,
      isEnabled: endpoint.status === 'enabled',
      events: endpoint.enabled_events,
    }))
  } catch (error) {
    if (error instanceof Stripe.errors.StripePermissionError) return undefined
    throw error
  }
}

/** Without these events the service learns of a payment late, by polling. */
export const neededEvents = [
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.processing',
  'payment_intent.requires_action',
  'payment_intent.canceled',
  'charge.refunded',
  'charge.refund.updated',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
] as const
