/** Reads months, days and amounts in a typed search, in the words of the page's language. What is left is searched as text. Pure. */
import { monthName } from '../format.ts'
import { parseTypedAmount } from '../../../ledger/typed-amount.ts'
import type { Currency } from '../../../ledger/money.ts'

/** Patterns such as `over {amount}, more than {amount}`; the first one is also the label. */
export type AmountWords = {
  readonly amountsOver: string
  readonly amountsFrom: string
  readonly amountsUnder: string
  readonly amountsUpTo: string
}

/** `inMonth` are words before a month that belong to it: `in`. */
type SearchWords = AmountWords & { readonly inMonth: string }

export type SearchReader = {
  readonly lang: string
  readonly currency: Currency
  readonly words: SearchWords
  readonly now: Date
}

type Bound = keyof AmountWords | 'equal'

/** A part of the search that is not text: `typed` are its characters. */
export type Meaning =
  | { readonly kind: 'time'; readonly typed: string; readonly from: Date; readonly until: Date; readonly label: string }
  | { readonly kind: 'amount'; readonly typed: string; readonly bound: Bound; readonly amount: string }

export type ParsedSearch = {
  readonly text: string
  /** The whole text is an amount; it may also be a reference. */
  readonly amount: string | undefined
  readonly meanings: readonly Meaning[]
}

/** Text in quotation marks has no other meaning. */
const quoted = /["“”„«»]([^"“”„«»]*)["“”«»]/g

export function parseSearch(typed: string, reader: SearchReader): ParsedSearch {
  const literal = [...typed.matchAll(quoted)].map(([, text = '']) => text.trim())
  const meanings: Meaning[] = []
  let rest = typed.replace(quoted, ' ').replace(/\s+/g, ' ')
  for (const find of [findTime, findAmount, findAmount, findExactAmount]) {
    const found = find(rest, reader, meanings)
    if (!found) continue
    meanings.push(found)
    rest = rest.replace(found.typed, ' ')
  }
  const text = [...literal, rest.trim()].join(' ').replace(/\s+/g, ' ').trim()
  return { text, amount: literal.length === 0 ? amountOf(text, reader) : undefined, meanings }
}

/** The parameters of the API. `over 50` is at least 50.01. */
export function queryOf({ text, amount, meanings }: ParsedSearch, { decimals }: Currency): Record<string, string> {
  const query: Record<string, string> = {}
  if (text !== '') query['search'] = text
  if (text !== '' && amount !== undefined) query['amount'] = amount
  for (const meaning of meanings) {
    if (meaning.kind === 'time') {
      query['from'] = meaning.from.toISOString()
      query['until'] = meaning.until.toISOString()
    } else {
      const { bound } = meaning
      if (bound !== 'amountsUnder' && bound !== 'amountsUpTo')
        query['min'] = shifted(meaning.amount, decimals, bound === 'amountsOver' ? 1n : 0n)
      if (bound !== 'amountsOver' && bound !== 'amountsFrom')
        query['max'] = shifted(meaning.amount, decimals, bound === 'amountsUnder' ? -1n : 0n)
    }
  }
  return query
}

function shifted(amount: string, decimals: number, minor: bigint): string {
  const shiftedMinor = toMinor(amount, decimals) + minor
  return toDecimal(shiftedMinor < 0n ? 0n : shiftedMinor, decimals)
}

export function toMinor(amount: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

export function toDecimal(minor: bigint, decimals: number): `${number}` {
  const digits = String(minor).padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return (decimals === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`) as `${number}`
}

/** The largest balance has 15 digits; a longer number is text. */
function amountOf(text: string, { lang, currency }: SearchReader): string | undefined {
  const read = parseTypedAmount(text, lang, currency)
  return read.kind === 'amount' && toMinor(read.text, currency.decimals) < 10n ** 15n ? read.text : undefined
}

/** Case, accents and the points of abbreviations do not count. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{M}|\./gu, '')
    .replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15))
}

type Span = { readonly from: Date; readonly until: Date; readonly label: string }

function findTime(rest: string, reader: SearchReader): Meaning | undefined {
  const { lang, now } = reader
  const text = plain(rest)
  for (const [words, span] of relativeSpans(lang, now)) {
    const at = indexOfWord(text, plain(words))
    if (at >= 0) return { kind: 'time', typed: typedAt(rest, at, at + plain(words).length), ...span }
  }
  const found = findNamedMonth(text, reader) ?? findWrittenMonth(text)
  if (!found) return undefined
  const { from, until, month, year } = found
  return { kind: 'time', typed: typedAt(rest, from, until), ...monthSpan(month, year, now, lang) }
}

type FoundMonth = {
  readonly from: number
  readonly until: number
  readonly month: number
  readonly year: string | undefined
}

/** "march", "in march 2026", "2026年3月". */
function findNamedMonth(text: string, { lang, words }: SearchReader): FoundMonth | undefined {
  // The longest first: "marzo" is not "mar" and "zo".
  const names = [...monthNames(lang)].sort(([a], [b]) => b.length - a.length)
  const before = wordsOf(words.inMonth).map(plain)
  for (const [name, month] of names)
    for (const prefix of ['', ...before.filter((word) => text.includes(word + name))]) {
      const at = indexOfWord(text, prefix + name, '年')
      if (at < 0) continue
      const end = at + prefix.length + name.length
      const after = /^[\s/-]*(?:del? |في )?(20\d\d)(?!\d)/.exec(text.slice(end))
      const yearBefore = /(?<!\d)(20\d\d)年? ?$/.exec(text.slice(0, at))
      const start = yearBefore?.index ?? startOfPrefix(text, at, before)
      return { from: start, until: end + (after?.[0].length ?? 0), month, year: after?.[1] ?? yearBefore?.[1] }
    }
  return undefined
}

/** Where a word such as "in" before the month begins. */
function startOfPrefix(text: string, at: number, words: readonly string[]): number {
  const word = words.find((each) => ` ${text.slice(0, at)}`.endsWith(` ${each} `))
  return word === undefined ? at : at - word.length - 1
}

/** "2026-03" and "03/2026". */
function findWrittenMonth(text: string): FoundMonth | undefined {
  const match =
    /(?<![\p{L}\d])(?<year>20\d\d)[-/](?<month>0?[1-9]|1[0-2])(?![\p{L}\d])/u.exec(text) ??
    /(?<![\p{L}\d])(?<month>0?[1-9]|1[0-2])[-/](?<year>20\d\d)(?![\p{L}\d])/u.exec(text)
  if (!match) return undefined
  const { year, month } = match.groups!
  return { from: match.index, until: match.index + match[0].length, month: Number(month) - 1, year }
}

/** Where the word begins, with no letter or digit beside it; only `mayPrecede` may be directly before it. -1 if it is not there. */
function indexOfWord(text: string, word: string, mayPrecede = ''): number {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + word.length]]
    const isApart = !/[\p{L}\d]/u.test(before) || before === mayPrecede
    if (isApart && !/[\p{L}\d]/u.test(after)) return at
  }
  return -1
}

/** The characters of `rest` at a place in its plain form, which may be shorter. */
function typedAt(rest: string, from: number, until: number): string {
  const lengths = Array.from(rest, (_, at) => plain(rest.slice(0, at + 1)).length)
  const start = lengths.findIndex((length) => length > from)
  const end = lengths.findLastIndex((length) => length <= until)
  return rest.slice(start, end + 1).trim()
}

/** Long and short names, alone and as in a date: Hebrew writes them with a prefix there. */
function monthNames(lang: string): Map<string, number> {
  const names = new Map<string, number>()
  for (const month of ['long', 'short'] as const) {
    const alone = new Intl.DateTimeFormat(lang, { month })
    const inDate = new Intl.DateTimeFormat(lang, { month, day: 'numeric' })
    for (let n = 0; n < 12; n++) {
      const at = new Date(2026, n, 1)
      const part = inDate.formatToParts(at).find(({ type }) => type === 'month')?.value ?? ''
      for (const name of [alone.format(at), part]) if (/\p{L}/u.test(name)) names.set(plain(name), n)
    }
  }
  return names
}

/** Without a year it is the latest such month that has begun. */
function monthSpan(month: number, typedYear: string | undefined, now: Date, lang: string): Span {
  const isAhead = month > now.getMonth()
  const year = typedYear === undefined ? now.getFullYear() - (isAhead ? 1 : 0) : Number(typedYear)
  const from = new Date(year, month, 1)
  return { from, until: new Date(year, month + 1, 1), label: monthName(from, lang) }
}

/** "today", "yesterday", "this month", "last month", "this year" and "last year" in the language. */
function relativeSpans(lang: string, now: Date): [words: string, span: Span][] {
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' })
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  const date = new Intl.DateTimeFormat(lang, { dateStyle: 'long' })
  return [0, -1].flatMap((ago): [string, Span][] => {
    const today = new Date(year, month, day + ago)
    const first = new Date(year, month + ago, 1)
    const newYear = new Date(year + ago, 0, 1)
    return [
      [
        relative.format(ago, 'day'),
        { from: today, until: new Date(year, month, day + ago + 1), label: date.format(today) },
      ],
      [
        relative.format(ago, 'month'),
        { from: first, until: new Date(year, month + ago + 1, 1), label: monthName(first, lang) },
      ],
      [
        relative.format(ago, 'year'),
        { from: newYear, until: new Date(year + ago + 1, 0, 1), label: String(year + ago) },
      ],
    ]
  })
}

const signs: Record<keyof AmountWords, readonly string[]> = {
  amountsOver: ['>{amount}'],
  amountsFrom: ['>={amount}', '≥{amount}'],
  amountsUnder: ['<{amount}'],
  amountsUpTo: ['<={amount}', '≤{amount}'],
}

function findAmount(rest: string, reader: SearchReader, found: readonly Meaning[]): Meaning | undefined {
  const lower = rest.toLowerCase()
  for (const bound of Object.keys(signs) as (keyof AmountWords)[]) {
    if (found.some((meaning) => meaning.kind === 'amount' && isSameSide(meaning.bound, bound))) continue
    for (const words of [...wordsOf(reader.words[bound]), ...signs[bound]]) {
      const [before = '', after = ''] = words
        .toLowerCase()
        .split('{amount}')
        .map((part) => part.trim())
      const at = lower.indexOf(before + after)
      if (at < 0 || (before !== '' && /\p{L}/u.test(rest[at - 1] ?? ''))) continue
      const read =
        before === '' ? readEnd(rest.slice(0, at), reader) : readStart(rest.slice(at + before.length), reader)
      if (!read) continue
      const typed =
        before === '' ? read.typed + rest.slice(at, at + after.length) : rest.slice(at, at + before.length) + read.typed
      return { kind: 'amount', typed, bound, amount: read.amount }
    }
  }
  return undefined
}

/** The longest first: "less than" and not "than". */
const wordsOf = (list: string) =>
  list
    .split(/[,،、]/)
    .map((word) => word.trim())
    .sort((a, b) => b.length - a.length)

function isSameSide(one: Bound, other: Bound): boolean {
  const isLow = (bound: Bound) => bound === 'amountsOver' || bound === 'amountsFrom'
  return isLow(one) === isLow(other)
}

type ReadAmount = { readonly amount: string; readonly typed: string }

/** An amount has at most this many words: "US$ 1 000 000,50". */
const maxWords = 4

/** The longest beginning that is an amount. What follows stays in the search: "over 50 kino". */
function readStart(text: string, reader: SearchReader): ReadAmount | undefined {
  const words = text.split(' ')
  const isApart = words[0] === '' ? 1 : 0
  for (let count = maxWords + isApart; count > isApart; count--) {
    const typed = words.slice(0, count).join(' ')
    const amount = amountOf(typed, reader)
    if (amount !== undefined) return { amount, typed }
  }
  return undefined
}

/** The longest end that is an amount: Japanese writes the bound after it. */
function readEnd(text: string, reader: SearchReader): ReadAmount | undefined {
  const words = text.split(' ')
  for (let count = maxWords; count > 0; count--) {
    const typed = words.slice(-count).join(' ')
    const amount = amountOf(typed, reader)
    if (amount !== undefined) return { amount, typed }
  }
  return undefined
}

/** Beside other words, only a number with decimals or with the sign of the currency is an amount: an order has a number too. */
function findExactAmount(rest: string, reader: SearchReader, found: readonly Meaning[]): Meaning | undefined {
  if (found.some(({ kind }) => kind === 'amount') || amountOf(rest.trim(), reader) !== undefined) return undefined
  for (const word of rest.split(/\s+/)) {
    const amount = amountOf(word, reader)
    if (amount !== undefined && (amount.includes('.') || /\p{Sc}/u.test(word)))
      return { kind: 'amount', typed: word, bound: 'equal', amount }
  }
  return undefined
}
