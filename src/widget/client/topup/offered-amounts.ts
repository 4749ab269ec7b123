/** The amounts that the top-up page offers, and the amount that the user types instead. */
import { parseTypedAmount } from '../../../ledger/typed-amount.ts'
import type { TopupKey } from '../../../languages/words.ts'
import type { TopupOffer } from '../../page-data.ts'
import { formatMoney } from '../format.ts'
import type { Say } from '../page-context.tsx'

/**
 * At most four amounts within the limits: the wanted amount first, then only higher round amounts. Currencies without decimals
 * offer higher ones, because a yen is worth about a cent.
 */
export function presetsFor({ decimals, min, max }: TopupOffer, wanted = 0): number[] {
  const steps = decimals === 0 ? [1000, 2500, 5000, 10_000] : [10, 25, 50, 100]
  const round = steps.filter((amount) => amount >= min && amount <= max)
  if (wanted === 0) return round
  const first = withinLimits(wanted, { min, max })
  return [first, ...round.filter((amount) => amount > first)].slice(0, 4)
}

export function withinLimits(amount: number, { min, max }: Pick<TopupOffer, 'min' | 'max'>): number {
  return Math.min(Math.max(amount, min), max)
}

/** A typed amount within the limits, or what is wrong with it, in words. */
export function readTypedAmount(
  typed: string,
  { currency: code, decimals, min, max }: TopupOffer,
  { lang, say }: { lang: string; say: Say<TopupKey> },
): { amount: number } | { problem: string } {
  const money = (amount: number) => formatMoney(amount, code, lang)
  const read = parseTypedAmount(typed, lang, { code, decimals })
  const inLimits = say('amountWrong', { min: money(min), max: money(max) })
  if (typed.trim() === '') return { problem: inLimits }
  if (read.kind === 'foreign') return { problem: say('amountForeign', { currency: nameOf(code, lang) }) }
  if (read.kind === 'malformed') return { problem: say('amountMalformed', { example: example(lang, decimals) }) }
  const amount = Number(read.text)
  if (amount < min || amount > max) return { problem: inLimits }
  // Digits without any separator have one meaning everywhere.
  if (read.kind === 'unclear')
    return { problem: say('amountUnclear', { amount: money(amount), example: String(amount) }) }
  return { amount }
}

/** The plural: "US dollars". */
function nameOf(currency: string, lang: string): string {
  const format = new Intl.NumberFormat(lang, { style: 'currency', currency, currencyDisplay: 'name' })
  return format.formatToParts(100).find(({ type }) => type === 'currency')!.value
}

function example(lang: string, decimals: number): string {
  return new Intl.NumberFormat(lang, { minimumFractionDigits: decimals }).format(25)
}
