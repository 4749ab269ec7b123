/** The entries that a search found, as a page and as a CSV file. It names the search, and claims no balance. */
import type { AskedFilter } from '../actions/money/activity-filter.ts'
import { listSelectionEntries, type Selection } from '../actions/money/find-selection.ts'
import { monthInZone } from '../actions/money/month-in-zone.ts'
import type { Service } from '../actions/service.ts'
import type { Language } from '../languages/languages.ts'
import { fill } from '../languages/words.ts'
import { parseDecimal, type Currency } from '../ledger/money.ts'
import { csvLine } from '../web/csv.ts'
import { ownTitles } from './client/activity/latest.tsx'
import { exactTime, monthName } from './client/format.ts'
import type { ServiceData } from './page-data.ts'
import { csvEntries, csvHead, EntryTable, isoTime, maxRows, moneyIn, type EntriesShown } from './paper-entries.tsx'
import { Rows, sayIn, Sheet } from './paper-pages.tsx'

export type SelectionShown = {
  readonly language: Language
  readonly timeZone: string
  readonly name: string
  readonly currency: Currency
  readonly asked: AskedFilter
  readonly selection: Selection
}

type SelectionProps = {
  shown: SelectionShown
  about: ServiceData
  /** Of the order. */
  at: Date
  /** The link works once. */
  fileUrl: string
}

export function SelectionPage({ shown, about, at, fileUrl }: SelectionProps) {
  const { language, timeZone, name, currency, selection } = shown
  const { code, paper: words } = language
  const { count } = selection
  const money = moneyIn(language, currency)
  const number = new Intl.NumberFormat(code)
  const partText = partTextOf(shown)
  return (
    <Sheet language={language} about={about} title={words.selection} fileUrl={fileUrl}>
      <p class="note">{words.selectionText}</p>
      {partText && <p class="note">{partText}</p>}
      {selection.hasArchived && <p class="note">{language.wallet.archived}</p>}
      <Rows
        rows={[
          [words.holder, <bdi>{name}</bdi>],
          ...criteriaOf(shown).map(([title, value]) => [title, <bdi>{value}</bdi>] as const),
          [words.matches, number.format(count)],
          [words.moneyIn, <b>{money(selection.inMinor)}</b>],
          [words.moneyOut, <b>{money(selection.outMinor)}</b>],
          [words.asOf, exactTime(at, code, timeZone)],
          [words.timeZone, timeZone],
        ]}
      />
      {count === 0 && <p>{words.noMatches}</p>}
      {count > maxRows && (
        <p class="note">{fill(words.tooMany, { shown: number.format(maxRows), count: number.format(count) }, code)}</p>
      )}
      {count > 0 && <EntryTable language={language} hasBalance={false} />}
    </Sheet>
  )
}

/** Undefined if all entries of the time range were searched. */
function partTextOf({ language: { code, paper }, selection: { bottom, top, left } }: SelectionShown) {
  const number = new Intl.NumberFormat(code)
  const searched = top - bottom
  const values = { shown: number.format(searched), count: number.format(searched + left) }
  return left === 0 ? undefined : fill(paper.searchedPart, values, code)
}

/** The search in words: what every entry of the selection has in common. */
function criteriaOf(shown: SelectionShown): [title: string, value: string][] {
  const { language, asked, selection } = shown
  const { activity, paper: words } = language
  const { app, direction } = asked
  const rows: [string, string | undefined][] = [
    [words.period, periodOf(shown)],
    [activity.search, textOf(shown)],
    [words.amount, boundsOf(shown)],
    [activity.filterApp, app === 'service' ? activity.ownEntries : (selection.app?.name ?? app)],
    [activity.filterDirection, direction && activity[direction === 'in' ? 'filterIn' : 'filterOut']],
  ]
  return rows.flatMap(([title, value]) => (value === undefined ? [] : [[title, value]]))
}

/** A month by its name, other whole days by their dates, and else both instants. */
function periodOf({ language: { code }, timeZone, asked }: SelectionShown): string | undefined {
  if (asked.from === undefined || asked.until === undefined) return undefined
  const [from, until] = [new Date(asked.from), new Date(asked.until)]
  const time = isoTime(timeZone)
  const month = monthInZone(time(from).slice(0, 7), timeZone)
  if (month?.from.getTime() === from.getTime() && month.until.getTime() === until.getTime())
    return monthName(from, code, timeZone)
  const isWholeDays = [from, until].every((at) => time(at).endsWith('00:00:00') && at.getMilliseconds() === 0)
  const style = { dateStyle: 'long', timeZone } as const
  if (isWholeDays) return new Intl.DateTimeFormat(code, style).formatRange(from, new Date(until.getTime() - 1))
  return new Intl.DateTimeFormat(code, { ...style, timeStyle: 'long' }).formatRange(from, until)
}

/** The text, or the amount that it may also be; entries of the service are found by their names in the language. */
function textOf({ language, currency, asked }: SelectionShown): string | undefined {
  const text = asked.search?.trim() ?? ''
  if (text === '') return undefined
  const say = sayIn(language)
  const titles = (asked.types?.split(',') ?? []).map((type) =>
    say(type === 'BONUS' ? 'bonusEntry' : ownTitles[type as keyof typeof ownTitles], { reason: '' }),
  )
  const others = titles.filter((title) => !title.toLowerCase().includes(text.toLowerCase()))
  const amount = asked.amount === undefined ? [] : [moneyIn(language, currency)(parseDecimal(asked.amount, currency)!)]
  return new Intl.ListFormat(language.code, { type: 'disjunction' }).format([text, ...amount, ...others])
}

function boundsOf({ language, currency, asked: { min, max } }: SelectionShown): string | undefined {
  const money = (text: string) => moneyIn(language, currency)(parseDecimal(text, currency)!)
  if (min !== undefined && min === max) return money(min)
  const { amountsFrom, amountsUpTo } = language.activity
  const say = (patterns: string, text: string | undefined) =>
    text === undefined ? [] : [fill(patterns.split(/[,،、]/)[0]!, { amount: money(text) }, language.code)]
  const bounds = [...say(amountsFrom, min), ...say(amountsUpTo, max)]
  return bounds.length === 0 ? undefined : new Intl.ListFormat(language.code).format(bounds)
}

export function selectionEntries(service: Service, { language, timeZone, selection }: SelectionShown): EntriesShown {
  const list = () => listSelectionEntries(service, selection)
  return { language, timeZone, walletId: selection.walletId, hasBalance: false, list }
}

/** A line that is no entry. */
const remark = (text: string) => csvLine([null, text, null, null, null, null, null])

/** The last lines say that it is a selection, and of what. */
export async function* selectionLines(service: Service, shown: SelectionShown): AsyncGenerator<string> {
  const entries = selectionEntries(service, shown)
  const { paper: words } = shown.language
  yield csvHead(entries)
  yield* csvEntries(service, entries)
  yield remark(words.selectionText)
  for (const [title, value] of criteriaOf(shown)) yield remark(`${title}: ${value}`)
  const partText = partTextOf(shown)
  if (partText) yield remark(partText)
  if (shown.selection.hasArchived) yield remark(shown.language.wallet.archived)
}
