/** Stripe's balance transactions as account lines. */
import type { Stripe } from 'stripe'
import type { AccountLine, CurrencyDecimals, LinePage, LineSpan } from '../processor.ts'
import { fromStripeAmount } from './amounts.ts'
import { faultOf } from './faults.ts'
import { lineKindOf } from './line-kinds.ts'

const linesPerPage = 100
const seconds = (at: Date) => Math.floor(at.getTime() / 1_000)

/** Expands the source: it names the payment, and has the amount in the payer's currency. */
export async function listLines(stripe: Stripe, span: LineSpan, decimalsOf: CurrencyDecimals): Promise<LinePage> {
  try {
    const page = await stripe.balanceTransactions.list({
      created: { gte: seconds(span.from), lt: seconds(span.until) },
      limit: linesPerPage,
      expand: ['data.source'],
      ...(span.after && { starting_after: span.after }),
    })
    const lines = page.data.map((transaction) => lineOf(transaction, span.currency, decimalsOf))
    return { lines, next: page.has_more ? lines.at(-1)?.id : undefined }
  } catch (error) {
    throw faultOf(error)
  }
}

/** The fields used from a charge, a refund or a dispute. */
type Source = {
  readonly object?: string
  readonly amount?: number
  readonly currency?: string
  readonly payment_intent?: string | { readonly id: string } | null
  readonly metadata?: Readonly<Record<string, string>> | null
}

function lineOf(transaction: Stripe.BalanceTransaction, currency: string, decimalsOf: CurrencyDecimals): AccountLine {
  const kind = lineKindOf(transaction.reporting_category)
  const source: Source = typeof transaction.source === 'string' ? {} : (transaction.source ?? {})
  const intent = source.payment_intent
  const paymentIntentId = typeof intent === 'string' ? intent : (intent?.id ?? null)
  const minor = (amount: number, code: string) =>
    code.toUpperCase() === currency ? fromStripeAmount(amount, currency, decimalsOf) : undefined
  const own = minor(transaction.amount, transaction.currency)
  return {
    id: transaction.id,
    kind,
    paymentIntentId,
    // Our payments carry the top-up's id in their metadata, and Stripe copies it to the charge.
    isOurs: source.object === 'charge' ? source.metadata?.['topup_id'] !== undefined : paymentIntentId !== null,
    amountMinor: own ?? converted(transaction, source, minor) ?? 0n,
    feeMinor: minor(transaction.fee, transaction.currency) ?? 0n,
    createdAt: new Date(transaction.created * 1_000),
  }
}

/** For an account that settles in another currency: the source has the amount in the payer's currency. */
function converted(
  { amount }: Stripe.BalanceTransaction,
  source: Source,
  minor: (amount: number, code: string) => bigint | undefined,
): bigint | undefined {
  const whole = source.amount === undefined ? undefined : minor(source.amount, source.currency ?? '')
  return whole === undefined || amount >= 0 ? whole : -whole
}
