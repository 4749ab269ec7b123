import fixtures from './stripe-fixtures.json'

/** The state that Stripe would keep: intents, charges, refunds, disputes, and an event for every change. Shaped like Stripe's fixtures. */

export type StripeObject = Record<string, unknown> & { id: string }
export type Intent = StripeObject & { status: string; amount: number; currency: string; latest_charge: string | null }
type Charge = StripeObject & { amount: number; amount_refunded: number; disputed: boolean; paid: boolean }
type Booking = StripeObject & { amount: number; created: number; source: string | null }
type Dispute = StripeObject & { amount: number; status: string; balance_transactions: { amount: number }[] }

/** Stripe's error answer: `{ error: { type, code?, message, param? } }` with a status. */
export class StripeRefusal extends Error {
  readonly status: number
  readonly body: Record<string, unknown>
  constructor(status: number, error: { type?: string; code?: string; message: string; param?: string }) {
    super(error.message)
    this.status = status
    this.body = { error: { type: 'invalid_request_error', ...error } }
  }
}

function refuseAmount(amount: number, currency: string): void {
  if (!Number.isSafeInteger(amount))
    throw new StripeRefusal(400, { code: 'parameter_invalid_integer', message: 'Invalid integer', param: 'amount' })
  if (currency === 'usd' && amount < 50)
    throw new StripeRefusal(400, {
      code: 'amount_too_small',
      message: 'Amount must be at least $0.50 usd',
      param: 'amount',
    })
}

export class StripeState {
  readonly intents = new Map<string, Intent>()
  readonly charges = new Map<string, Charge>()
  readonly refunds: StripeObject[] = []
  readonly disputes: (Dispute & { payment_intent: string })[] = []
  /** Oldest first. */
  readonly bookings: Booking[] = []
  readonly #onEvent: (event: StripeObject) => void
  #count = 0

  constructor(onEvent: (event: StripeObject) => void) {
    this.#onEvent = onEvent
  }

  #id(prefix: string): string {
    this.#count += 1
    return `${prefix}_standin${String(this.#count).padStart(6, '0')}`
  }

  #emit(type: string, object: object): void {
    const snapshot: unknown = structuredClone(object)
    const created = Math.floor(Date.now() / 1000)
    this.#onEvent({ ...fixtures.resources.event, id: this.#id('evt'), type, created, data: { object: snapshot } })
  }

  createIntent(params: Record<string, unknown>): Intent {
    const amount = Number(params['amount'])
    const currency = String(params['currency'])
    if (currency !== currency.toLowerCase())
      throw new StripeRefusal(400, { message: 'Invalid currency', param: 'currency' })
    refuseAmount(amount, currency)
    const id = this.#id('pi')
    const intent: Intent = {
      ...structuredClone(fixtures.resources.payment_intent),
      id,
      amount,
      currency,
      client_secret: `${id}_secret_standin`,
      description: params['description'] ?? null,
      metadata: params['metadata'] ?? {},
      latest_charge: null,
    }
    this.intents.set(id, intent)
    this.#emit('payment_intent.created', intent)
    return intent
  }

  intent(id: string): Intent {
    const intent = this.intents.get(id)
    if (intent) return intent
    throw new StripeRefusal(404, {
      code: 'resource_missing',
      message: `No such payment_intent: '${id}'`,
      param: 'intent',
    })
  }

  /** Stripe also changes the amount of an intent whose payer has to act. */
  changeAmount(id: string, amount: number): Intent {
    const intent = this.intent(id)
    if (!['requires_payment_method', 'requires_action'].includes(intent.status)) {
      const message = `This PaymentIntent's amount could not be updated because it has a status of ${intent.status}.`
      throw new StripeRefusal(400, { code: 'payment_intent_unexpected_state', message })
    }
    refuseAmount(amount, intent.currency)
    Object.assign(intent, { amount })
    return intent
  }

  cancel(id: string): Intent {
    const intent = this.intent(id)
    if (!['requires_payment_method', 'requires_action'].includes(intent.status)) {
      const message = `You cannot cancel this PaymentIntent because it has a status of ${intent.status}.`
      throw new StripeRefusal(400, { code: 'payment_intent_unexpected_state', message })
    }
    Object.assign(intent, { status: 'canceled', canceled_at: Math.floor(Date.now() / 1000) })
    this.#emit('payment_intent.canceled', intent)
    return intent
  }

  pay(id: string): void {
    const intent = this.intent(id)
    const charge = this.#charge(intent, { paid: true, captured: true, status: 'succeeded' })
    const paid = { status: 'succeeded', amount_received: intent.amount, latest_charge: charge.id }
    Object.assign(intent, paid, { last_payment_error: null, next_action: null })
    const fee = Math.round(intent.amount * 0.029) + 30
    this.book({ type: 'charge', reporting_category: 'charge', amount: intent.amount, fee, source: charge.id })
    this.#emit('charge.succeeded', charge)
    this.#emit('payment_intent.succeeded', intent)
  }

  decline(id: string, code: string): void {
    const intent = this.intent(id)
    const charge = this.#charge(intent, { paid: false, status: 'failed', failure_code: 'card_declined' })
    const message = 'Your card was declined.'
    const error = { type: 'card_error', code: 'card_declined', decline_code: code, message, charge: charge.id }
    Object.assign(intent, { status: 'requires_payment_method', latest_charge: charge.id, last_payment_error: error })
    this.#emit('payment_intent.payment_failed', intent)
  }

  requireAction(id: string): void {
    const intent = this.intent(id)
    Object.assign(intent, { status: 'requires_action', next_action: { type: 'use_stripe_sdk', use_stripe_sdk: {} } })
    this.#emit('payment_intent.requires_action', intent)
  }

  process(id: string): void {
    const intent = this.intent(id)
    Object.assign(intent, { status: 'processing', processing: { type: 'card' }, next_action: null })
    this.#emit('payment_intent.processing', intent)
  }

  #charge(intent: Intent, changes: Record<string, unknown>): Charge {
    const { amount, currency, id: payment_intent, metadata } = intent
    const base = structuredClone(fixtures.resources.charge)
    const charge: Charge = { ...base, amount, currency, payment_intent, metadata, id: this.#id('ch'), ...changes }
    this.charges.set(charge.id, charge)
    return charge
  }

  /** Throws Stripe's refusal if no charge took the money. */
  #paidCharge(id: string): Charge {
    const intent = this.intent(id)
    const charge = intent.status === 'succeeded' ? this.charges.get(intent.latest_charge ?? '') : undefined
    if (charge) return charge
    throw new StripeRefusal(400, { message: `This PaymentIntent (${id}) does not have a successful charge to refund.` })
  }

  refund(id: string, amount: number): StripeObject {
    const charge = this.#paidCharge(id)
    const left = charge.amount - charge.amount_refunded
    if (this.#disputesOf(id).some((dispute) => dispute.status !== 'won')) {
      throw new StripeRefusal(400, { code: 'charge_disputed', message: `Charge ${charge.id} has been charged back.` })
    }
    if (left === 0)
      throw new StripeRefusal(400, {
        code: 'charge_already_refunded',
        message: `Charge ${charge.id} has already been refunded.`,
      })
    if (amount > left)
      throw new StripeRefusal(400, {
        message: `Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`,
        param: 'amount',
      })
    charge.amount_refunded += amount
    charge['refunded'] = charge.amount_refunded === charge.amount
    const { currency } = charge
    const made = { id: this.#id('re'), amount, currency, charge: charge.id, payment_intent: id, status: 'succeeded' }
    const refund: StripeObject = { ...fixtures.resources.refund, ...made }
    this.refunds.push(refund)
    this.book({ type: 'refund', reporting_category: 'refund', amount: -amount, source: refund.id })
    this.#emit('refund.created', refund)
    this.#emit('charge.refunded', charge)
    return refund
  }

  #disputesOf(id: string) {
    return this.disputes.filter((dispute) => dispute.payment_intent === id)
  }

  /** An inquiry (`warning_needs_response`) withdraws nothing; a dispute withdraws its amount at once. */
  dispute(id: string, options: { amount?: number; status?: string } = {}): void {
    const charge = this.#paidCharge(id)
    charge.disputed = true
    const status = options.status ?? 'needs_response'
    const amount = options.amount ?? charge.amount - charge.amount_refunded
    const disputeId = this.#id('dp')
    const withdrawn = status.startsWith('warning') ? [] : [this.#bookDispute('dispute', -amount, disputeId)]
    const about = { amount, status, charge: charge.id, payment_intent: id, currency: charge['currency'] }
    const dispute = {
      ...structuredClone(fixtures.resources.dispute),
      ...about,
      id: disputeId,
      balance_transactions: withdrawn,
    }
    this.disputes.push(dispute)
    this.#emit('charge.dispute.created', dispute)
    if (withdrawn.length > 0) this.#emit('charge.dispute.funds_withdrawn', dispute)
  }

  winDispute(id: string): void {
    const dispute = this.#disputesOf(id).at(-1)!
    dispute.status = 'won'
    this.#emit('charge.dispute.closed', dispute)
    dispute.balance_transactions.push(this.#bookDispute('dispute_reversal', dispute.amount, dispute.id))
    this.#emit('charge.dispute.funds_reinstated', dispute)
  }

  loseDispute(id: string): void {
    const dispute = this.#disputesOf(id).at(-1)!
    dispute.status = 'lost'
    this.#emit('charge.dispute.closed', dispute)
  }

  #bookDispute(category: string, amount: number, source: string): Booking {
    const fee = amount < 0 ? 1_500 : 0
    return this.book({ type: 'adjustment', reporting_category: category, amount, fee, source })
  }

  /** Adds a balance transaction, as Stripe does for everything that moves its balance. */
  book(about: Record<string, unknown> & { amount: number; fee?: number; source: string | null }): Booking {
    const { amount, fee = 0 } = about
    const created = Math.floor(Date.now() / 1_000)
    const made = { id: this.#id('txn'), created, net: amount - fee, fee }
    const booking: Booking = { ...structuredClone(fixtures.resources.balance_transaction), ...about, ...made }
    this.bookings.push(booking)
    return booking
  }

  /** Moves every booking into the past. */
  letPass(ms: number): void {
    for (const booking of this.bookings) booking.created -= Math.round(ms / 1_000)
  }

  /** Newest first, as Stripe returns them. */
  listBookings(params: Record<string, unknown>): StripeObject {
    const { gte, lt } = params['created'] as { gte: string; lt: string }
    const limit = Number(params['limit'])
    const found = this.bookings.filter(({ created }) => created >= Number(gte) && created < Number(lt)).toReversed()
    const after = params['starting_after'] as string | undefined
    const start = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1
    const data = found.slice(start, start + limit).map((booking) => ({ ...booking, source: this.#sourceOf(booking) }))
    const has_more = start + limit < found.length
    return { id: '', object: 'list', url: '/v1/balance_transactions', has_more, data }
  }

  #sourceOf({ source }: Booking): object | string | null {
    if (source === null) return null
    const all = [...this.refunds, ...this.disputes]
    return this.charges.get(source) ?? all.find(({ id }) => id === source) ?? source
  }

  listDisputes(id: string): StripeObject {
    const data = this.#disputesOf(id).reverse()
    return { id: '', object: 'list', url: '/v1/disputes', has_more: false, data }
  }

  /** An intent as JSON, with its charge expanded if that was requested. */
  shown(intent: Intent, expand: readonly string[]): object {
    if (!expand.includes('latest_charge') || !intent.latest_charge) return intent
    return { ...intent, latest_charge: this.charges.get(intent.latest_charge) }
  }
}
