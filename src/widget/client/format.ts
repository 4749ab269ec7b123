/** Formats money and time in the reader's language. */
import { isolate } from '../../languages/words.ts'

/** Decimal text is formatted exactly, also where a number would lose digits. */
type Amount = number | `${number}`

export function formatMoney(amount: Amount, currency: string, lang: string, isSigned = false): string {
  return moneyParts(amount, currency, lang, isSigned)
    .map(({ text }) => text)
    .join('')
}

export type MoneyPart = { readonly text: string; readonly isMinor: boolean }

/** Splits an amount into parts, in the order of the language, so that the decimals can be set smaller. */
export function moneyParts(amount: Amount, currency: string, lang: string, isSigned = false): MoneyPart[] {
  return moneyFormat(currency, lang, isSigned)
    .formatToParts(amount)
    .map(({ type, value }) => ({
      text: partText(type, value, lang),
      isMinor: type === 'fraction' || type === 'decimal',
    }))
}

function partText(type: Intl.NumberFormatPartTypes, value: string, lang: string): string {
  // In right-to-left text the letters and the sign of a symbol such as US$ would swap.
  if (type === 'currency') return isolate(value, lang)
  // Intl uses a hyphen in many languages; a minus sign is as wide as the plus signs in the same column.
  return type === 'minusSign' ? value.replace('-', '\u2212') : value
}

/** Cached: creating a format takes a hundred times as long as using it, and a statement uses one thousands of times. */
const moneyFormats = new Map<string, Intl.NumberFormat>()

function moneyFormat(currency: string, lang: string, isSigned: boolean): Intl.NumberFormat {
  const key = `${currency} ${lang} ${isSigned}`
  let format = moneyFormats.get(key)
  if (!format) {
    format = new Intl.NumberFormat(lang, {
      style: 'currency',
      currency,
      currencyDisplay: 'narrowSymbol',
      signDisplay: isSigned ? 'exceptZero' : 'auto',
    })
    moneyFormats.set(key, format)
  }
  return format
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** "now", "5 minutes ago", "yesterday"; after a week the date. */
export function relativeTime(at: Date, now: Date, lang: string): string {
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' })
  const agoMs = Math.max(0, now.getTime() - at.getTime())
  if (agoMs < minute) return relative.format(0, 'second')
  if (agoMs < hour) return relative.format(-Math.floor(agoMs / minute), 'minute')
  const days = Math.round((startOfDay(now) - startOfDay(at)) / day)
  if (days === 0) return relative.format(-Math.floor(agoMs / hour), 'hour')
  if (days < 7) return relative.format(-days, 'day')
  const format: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' }
  if (at.getFullYear() !== now.getFullYear()) format.year = 'numeric'
  return new Intl.DateTimeFormat(lang, format).format(at)
}

/** "in 2 minutes", for how long to wait before the next attempt. */
export function relativeWait(seconds: number, lang: string): string {
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'always' })
  if (seconds < 60) return relative.format(Math.max(1, Math.ceil(seconds)), 'second')
  return relative.format(Math.ceil(seconds / 60), 'minute')
}

/** Includes the time zone. */
export function exactTime(at: Date, lang: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(lang, { dateStyle: 'full', timeStyle: 'long', timeZone }).format(at)
}

export function shortTime(at: Date, lang: string): string {
  return new Intl.DateTimeFormat(lang, { timeStyle: 'short' }).format(at)
}

/** "Today", "Yesterday", then the date, with the year only if it is not the current one. */
export function dayName(at: Date, now: Date, lang: string): string {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / day)
  if (days < 2)
    return capital(new Intl.RelativeTimeFormat(lang, { numeric: 'auto' }).format(-Math.max(0, days), 'day'), lang)
  const format: Intl.DateTimeFormatOptions = { weekday: 'long', day: 'numeric', month: 'long' }
  if (at.getFullYear() !== now.getFullYear()) format.year = 'numeric'
  return capital(new Intl.DateTimeFormat(lang, format).format(at), lang)
}

export function monthName(at: Date, lang: string, timeZone?: string): string {
  return capital(new Intl.DateTimeFormat(lang, { month: 'long', year: 'numeric', timeZone }).format(at), lang)
}

export function sameDay(one: Date, other: Date): boolean {
  return startOfDay(one) === startOfDay(other)
}

function capital(text: string, lang: string): string {
  return text.charAt(0).toLocaleUpperCase(lang) + text.slice(1)
}

function startOfDay(at: Date): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime()
}
