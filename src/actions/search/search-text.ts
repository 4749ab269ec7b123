/** What a text typed into the search of the admin area can be. */
import { parseDecimal, type Currency } from '../../ledger/money.ts'
import { parseTypedAmount } from '../../ledger/typed-amount.ts'
import { isUuid } from '../tokens.ts'

/** Our ids and the processor's have a prefix that no name or email has. */
export function isId(text: string): boolean {
  return /^(su|txn|pi|app|req)_\w+$/.test(text) || isUuid(text.toLowerCase())
}

export function isRequestId(text: string): boolean {
  return /^req_[0-9a-z]+$/i.test(text)
}

/** The four characters, also as the command line prints them, such as `…a2f9`. */
export function parseFingerprint(text: string): string | undefined {
  return /^…?([0-9a-f]{4})$/i.exec(text)?.[1]?.toLowerCase()
}

/** Shorter parts are in almost every email. */
const minPartLength = 3

export function isPartOfEmail(text: string): boolean {
  return text.length >= minPartLength && text.length <= 254 && !/\s/.test(text) && !isId(text)
}

export type Signed = {
  readonly amountMinor: bigint
  /** `-` selects debits, `+` credits, an empty sign both. */
  readonly sign: '' | '+' | '-'
}

export type AmountOnDay = Signed & {
  /** In UTC, like the books. */
  readonly day: string
}

/** An amount on a day: `19.99 2026-11-14`. Accepts either order, a currency sign or code, commas between thousands, `today` and `yesterday`. */
export function parseAmountOnDay(text: string, currency: Currency, now: Date): AmountOnDay | undefined {
  const words = text.trim().split(/\s+/)
  const days = words.map((word) => toDay(word, now))
  const at = days.findIndex((day) => day !== undefined)
  const rest = words.filter((word, i) => i !== at && word.toUpperCase() !== currency.code)
  const [, sign = '', digits] = /^([+\-−]?)[^\d\s.,+-]{0,3}(\d[\d,]*(?:\.\d+)?)$/u.exec(rest[0] ?? '') ?? []
  if (at < 0 || rest.length !== 1 || digits === undefined) return undefined
  if (digits.includes(',') && !/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(digits)) return undefined
  const amountMinor = parseDecimal(digits.replaceAll(',', ''), currency)
  if (!amountMinor) return undefined
  return { day: days[at]!, amountMinor, sign: toSign(sign) }
}

function toSign(text: string): Signed['sign'] {
  return text === '' || text === '+' ? text : '-'
}

function toDay(word: string, now: Date): string | undefined {
  const daysAgo = { today: 0, yesterday: 1 }[word.toLowerCase()]
  if (daysAgo !== undefined) return new Date(now.getTime() - daysAgo * 86_400_000).toISOString().slice(0, 10)
  const at = /^20\d\d-\d\d-\d\d$/.test(word) ? new Date(`${word}T00:00:00Z`) : undefined
  // Date parses a day that does not exist, such as 2026-02-31, as a day of the next month.
  return at && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(word) ? word : undefined
}

/** An amount alone, as a person types it. `unclear`: 1.000 may be one or a thousand. */
export function parseAmount(text: string, currency: Currency): Signed | 'unclear' | undefined {
  const [, sign = '', rest = ''] = /^([+\-−]?)(.*)$/su.exec(text)!
  const typed = parseTypedAmount(rest, 'en', currency)
  if (typed.kind === 'unclear') return 'unclear'
  const amountMinor = typed.kind === 'amount' ? parseDecimal(typed.text, currency) : undefined
  return amountMinor ? { amountMinor, sign: toSign(sign) } : undefined
}

/** As the ledger has them: debits below zero. */
export function amountsOf({ amountMinor, sign }: Signed): bigint[] {
  return [...(sign === '-' ? [] : [amountMinor]), ...(sign === '+' ? [] : [-amountMinor])]
}
