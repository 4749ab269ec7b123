import { refuse, type CurrencyDecimals, type Refusal } from '../processor.ts'

/**
 * Stripe uses other decimals than ISO 4217 for some currencies (https://docs.stripe.com/currencies). The ariary has two decimals
 * in ISO 4217 and none at Stripe. ISK and UGX have none in ISO 4217, but Stripe requires two-decimal amounts that end in 00,
 * although its own zero-decimal list names UGX: 5 UGX is sent as 500, and its API refuses 5.
 */
const zeroDecimals = new Set([
  'BIF',
  'CLP',
  'DJF',
  'GNF',
  'JPY',
  'KMF',
  'KRW',
  'MGA',
  'PYG',
  'RWF',
  'VND',
  'VUV',
  'XAF',
  'XOF',
  'XPF',
])
const threeDecimals = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'])

function stripeDecimals(currency: string): number {
  if (zeroDecimals.has(currency)) return 0
  return threeDecimals.has(currency) ? 3 : 2
}

export function toStripeAmount(amountMinor: bigint, currency: string, decimalsOf: CurrencyDecimals): number | Refusal {
  if (amountMinor <= 0n) return refuse('amount-unsupported', 'The amount must be more than zero.')
  const difference = stripeDecimals(currency) - decimalsOf(currency)
  const scale = 10n ** BigInt(Math.abs(difference))
  if (difference < 0 && amountMinor % scale !== 0n) {
    return refuse('amount-unsupported', `The card processor accepts ${currency} in whole units only.`)
  }
  const amount = difference < 0 ? amountMinor / scale : amountMinor * scale
  if (threeDecimals.has(currency) && amount % 10n !== 0n) {
    return refuse(
      'amount-unsupported',
      `The card processor accepts ${currency} in steps of 0.010: the third decimal must be 0.`,
    )
  }
  // Stripe's own limit is eight digits for most currencies; this limit only keeps the number exact.
  if (amount > BigInt(Number.MAX_SAFE_INTEGER)) {
    return refuse('amount-unsupported', 'The amount is more than the card processor accepts.')
  }
  return Number(amount)
}

/** Throws when the amount is not a whole number of our minor units: rounding would create or lose money. */
export function fromStripeAmount(amount: number, currency: string, decimalsOf: CurrencyDecimals): bigint {
  const difference = decimalsOf(currency) - stripeDecimals(currency)
  const scale = 10n ** BigInt(Math.abs(difference))
  if (difference >= 0) return BigInt(amount) * scale
  if (BigInt(amount) % scale !== 0n) throw new Error(`Stripe amount ${amount} ${currency} is not a whole minor unit`)
  return BigInt(amount) / scale
}
