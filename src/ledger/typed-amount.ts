/** Parses an amount as a person types it, by the separators of the language. The pages' scripts bundle this file: it imports types alone. */
import type { Currency } from './money.ts'

export type TypedAmount =
  /** Plain decimal text, such as 1000.50, with at most the currency's decimals. */
  | { readonly kind: 'amount'; readonly text: string }
  /** Thousands or decimals: `text` is the reading as thousands. */
  | { readonly kind: 'unclear'; readonly text: string }
  /** A sign, code or word that is not the wallet's currency. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'malformed' }

const malformed = { kind: 'malformed' } as const
const maxLength = 64

/**
 * The separators of the language decide. Those of other languages count only where they have one meaning: 19.99 in German. An amount
 * with two meanings is never guessed: 1.000 in English.
 */
export function parseTypedAmount(typed: string, lang: string, currency: Currency): TypedAmount {
  if (typed.length > maxLength) return malformed
  const text = simplify(typed)
  const runs = [...text.matchAll(/\d+/g)]
  const [first, last] = [runs[0], runs.at(-1)]
  if (!first || !last) return malformed
  const end = last.index + last[0].length
  const amount = parseNumber(text.slice(first.index, end), separatorsOf(lang, typed), currency.decimals)
  const around = [text.slice(0, first.index), text.slice(end)].map((part) => part.trim()).filter((part) => part !== '')
  if (amount.kind === 'malformed' || around.length === 0) return amount
  const own = namesOf(currency.code, lang, Number(amount.text))
  const others = around.map((part) => part.toLowerCase()).filter((part) => !own.includes(part))
  if (others.length === 0) return amount
  const isName = (part: string) =>
    /[\p{L}\p{Sc}]/u.test(part) && !/[^\p{L}\p{M}\p{Sc} .]/u.test(part) && !own.includes(part.replaceAll('.', ''))
  return others.every(isName) ? { kind: 'foreign' } : malformed
}

/** Digits become ASCII, full-width signs narrow; all spaces become one, and all apostrophes. Direction marks go. */
function simplify(text: string): string {
  return (
    text
      // Not the whole text: NFKC turns 10² into 102.
      .replace(/[\uff01-\uffe6]/g, (wide) => wide.normalize('NFKC'))
      .replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15))
      .replace(/\p{Cf}/gu, '')
      .replace(/\s/g, ' ')
      .replace(/[’‘ʼ′]/g, "'")
      .replace(/،/g, ',')
      .trim()
  )
}

type Separators = { readonly group: string | undefined; readonly decimal: string | undefined }

/** A language can have other separators for each script: Arabic writes 1,000.5 with Latin digits. */
function separatorsOf(lang: string, typed: string): Separators {
  const digits = /[0-9\uff10-\uff19]/.test(typed) ? 'latn' : 'arab'
  // Seven digits, because Spanish does not separate four.
  const parts = new Intl.NumberFormat(`${lang}-u-nu-${digits}`).formatToParts(1234567.5)
  const find = (type: string) => parts.find((part) => part.type === type)?.value
  return { group: find('group'), decimal: find('decimal') }
}

function parseNumber(text: string, own: Separators, decimals: number): Exclude<TypedAmount, { kind: 'foreign' }> {
  if (!/^\d+([ '٬.,٫]\d+)*$/.test(text)) return malformed
  const runs = text.split(/\D/)
  const separators = text.replace(/\d/g, '')
  const last = separators.at(-1)
  const whole = isGrouped(runs, separators) && last !== '٫' ? toDecimal(runs) : undefined
  const hasDecimals =
    /^[.,٫]$/.test(last ?? '') &&
    !separators.slice(0, -1).includes(last!) &&
    isGrouped(runs.slice(0, -1), separators.slice(0, -1))
  const fraction = runs.at(-1)!
  const part = hasDecimals && fraction.length <= decimals ? toDecimal(runs.slice(0, -1), fraction) : undefined
  if (whole && hasDecimals && last !== own.group) {
    // Three digits after one point or comma that the language does not use for thousands.
    return part && last === own.decimal ? { kind: 'amount', text: part } : { kind: 'unclear', text: whole }
  }
  const read = whole ?? part
  return read === undefined ? malformed : { kind: 'amount', text: read }
}

/** One run of digits, or 1 to 3 digits and then runs of three, all separated by the same sign. */
function isGrouped([first = '', ...others]: readonly string[], separators: string): boolean {
  if (others.length === 0) return true
  return /^[1-9]\d{0,2}$/.test(first) && others.every((run) => run.length === 3) && new Set(separators).size === 1
}

function toDecimal(runs: readonly string[], fraction = ''): string {
  const whole = runs.join('').replace(/^0+(?=\d)/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

const displays = ['symbol', 'narrowSymbol', 'code', 'name'] as const

/** The code, the signs and the name of the currency, in the language and in international English, as `simplify` leaves them. */
function namesOf(currency: string, lang: string, amount: number): string[] {
  return [lang, 'en-001'].flatMap((locale) =>
    displays.flatMap((currencyDisplay) =>
      new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay })
        .formatToParts(amount)
        .flatMap(({ type, value }) => (type === 'currency' ? [simplify(value).toLowerCase()] : [])),
    ),
  )
}
