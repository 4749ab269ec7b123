/** The money part of the overview: wallet totals, flows compared with an earlier period, and what needs attention. */
import type { ComponentChildren } from 'preact'
import { unnumberedLimitSeconds } from '../../actions/deployment/examine-events.ts'
import { healthOf } from '../../actions/money/check-books.ts'
import { majorNumber, moneyText, type Currency } from '../../ledger/money.ts'
import type { RefusedApp } from '../../store/calls/app-calls.ts'
import type { App } from '../../store/apps.ts'
import type { TroubledApp } from '../../store/events/endpoint-lag.ts'
import type { StalledApp } from '../../store/events/stalled-events.ts'
import type { DayFlow } from '../../store/books/books.ts'
import { maxCounted, type TopupCounts, type OpenIssues } from '../../store/books/money-figures.ts'
import type { LogLevels } from '../../store/proofs/publications.ts'
import { publicationLateSeconds } from '../../actions/proofs/describe-log.ts'
import type { BooksState } from '../../store/verify/books-check.ts'
import type { FailedWork } from '../../store/work/work-report.ts'
import { FlowChart } from '../kit/chart.tsx'
import { Badge, lengthText, Money, Table, When, countText } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'
import { accountName } from '../kit/states.tsx'

/** In this hour and the last one: a backend that tries every few minutes with an old secret is named, a mistyped secret is not. */
export const manyRefusals = 20

export type MoneyData = {
  readonly held: { readonly minor: bigint; readonly at: Date }
  /** Flows of the range, and of the period it is compared with. */
  readonly now: readonly DayFlow[]
  readonly before: readonly DayFlow[]
  /** The days of the chart, and their flows. */
  readonly days: readonly string[]
  readonly flows: readonly DayFlow[]
  readonly span: string
  readonly against: string
  readonly topups: TopupCounts
  readonly waiting: OpenIssues
  /** Corrections waiting for a second operator. */
  readonly waitingCorrections: number
  readonly waitingChanges: number
  readonly waitingDeletions: number
  readonly books: BooksState
  /** Jobs and work that failed three times in a row, or were given up. */
  readonly failing: readonly FailedWork[]
  /** Apps whose calls were recently refused with 429; the app with the most refusals is first. */
  readonly throttled: readonly RefusedApp[]
  /** Apps with many calls that were recently refused for their credentials, in the same order. */
  readonly refused: readonly RefusedApp[]
  /** Apps with endpoints that are ill or that the service disabled. */
  readonly troubled: readonly TroubledApp[]
  /** How long the oldest event has been waiting for its number. */
  readonly unnumberedSeconds: number
  /** Apps whose events wait for a row of the journal that cannot become events. */
  readonly stalled: readonly StalledApp[]
  /** Holds that expired five minutes ago and are not closed. */
  readonly lateHolds: number
  /** Undefined before the log was begun. */
  readonly log: LogLevels | undefined
  readonly apps: readonly App[]
}

type Props = { request: AdminRequest; data: MoneyData }

/** Into wallets, and out of them. */
type Sum = { readonly inMinor: bigint; readonly outMinor: bigint; readonly transfers: number }

function sumOf(flows: readonly DayFlow[]): Sum {
  return flows.reduce(
    (sum, flow) => ({
      inMinor: sum.inMinor + flow.creditedMinor,
      outMinor: sum.outMinor + flow.debitedMinor,
      transfers: sum.transfers + flow.transfers,
    }),
    { inMinor: 0n, outMinor: 0n, transfers: 0 },
  )
}

export function MoneyFigures({ request, data }: Props) {
  const { currency } = request.service.config
  const [now, before] = [sumOf(data.now), sumOf(data.before)]
  const against = (minor: bigint) => `${moneyText(minor, currency)} in ${data.against}`
  return (
    <>
      <h2>Money</h2>
      <div class="tiles">
        <Figure
          label="Held in wallets"
          note={
            <>
              as of <When at={data.held.at} />
            </>
          }
        >
          <Money minor={data.held.minor} currency={currency} />
        </Figure>
        <Figure label={`Into wallets ${data.span}`} note={against(before.inMinor)}>
          <Money minor={now.inMinor} currency={currency} /> <Change now={now.inMinor} before={before.inMinor} />
        </Figure>
        <Figure label={`Out of wallets ${data.span}`} note={against(before.outMinor)}>
          <Money minor={now.outMinor} currency={currency} /> <Change now={now.outMinor} before={before.outMinor} />
        </Figure>
        <Figure label={`Debits and credits ${data.span}`} note={`${countText(before.transfers)} in ${data.against}`}>
          {countText(now.transfers)}
        </Figure>
      </div>
      <Attention request={request} data={data} />
      <section class="card stack">
        <h2>By day</h2>
        <Days data={data} currency={currency} />
      </section>
      <Accounts data={data} currency={currency} />
    </>
  )
}

function Figure({ label, note, children }: { label: string; note?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="card tile">
      <p class="label">{label}</p>
      <p class="value">{children}</p>
      {note && <p class="against">{note}</p>}
    </div>
  )
}

/** In whole percent; empty when there is nothing to compare with. */
function Change({ now, before }: { now: bigint; before: bigint }) {
  if (before === 0n) return null
  const percent = Number(((now - before) * 100n) / before)
  return (
    <span class="small muted">{`${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${countText(Math.abs(percent))} %`}</span>
  )
}

const booksTexts = {
  wrong: ['bad', 'wrong'],
  late: ['warn', 'not checked recently'],
  right: ['good', 'right'],
  first: ['', 'first check running'],
} as const

/** The problems of the books have their own line. */
function Contradictions({ log }: { log: LogLevels | undefined }) {
  if (!log || (log.contradictions === 0 && log.publicationLateSeconds < publicationLateSeconds)) return null
  return (
    <li>
      <a href="/admin/books#log">Checkpoints of the books</a>
      {log.contradictions > 0 ? <Badge kind="bad">contradicted</Badge> : <Badge kind="warn">not published</Badge>}
    </li>
  )
}

/** What needs attention, with links; green where nothing does. */
function Attention({ request, data }: Props) {
  const { currency } = request.service.config
  const { waiting, topups } = data
  const health = healthOf(data.books)
  const money = (minor: bigint) => moneyText(minor, currency)
  const rows: readonly (readonly [label: string, count: number, href?: string, note?: string])[] = [
    ['Corrections for a second operator', data.waitingCorrections, '/admin/corrections'],
    ['Changes of operators for a second admin', data.waitingChanges, '/admin/operators'],
    ['Deletions of users for a second operator', data.waitingDeletions, '/admin/deletions?state=waiting'],
    ['Card payments that do not match their order', waiting.problemTopups, '/admin/topups?state=problem'],
    ['Open disputes', waiting.openDisputes, '/admin/topups?state=disputed', money(waiting.disputedMinor)],
    ['Wallets in debt', waiting.inDebt, '/admin/wallets?state=debt', money(waiting.debtMinor)],
    ['Wallets frozen by an operator', waiting.frozenByOperator, '/admin/wallets?state=operator'],
    ['Emails failing for ten minutes', waiting.lateMails],
  ]
  return (
    <div class="columns">
      <section class="card stack">
        <h2>Needs attention</h2>
        <ul class="waits" role="list">
          <li>
            <a href="/admin/books">Books</a>
            <Badge kind={booksTexts[health][0]}>{booksTexts[health][1]}</Badge>
          </li>
          <FailingWork failing={data.failing} />
          <RefusedCalls apps={data.throttled} least={1} why="for their number" />
          <RefusedCalls apps={data.refused} least={manyRefusals} why="for their credentials" />
          <UnnumberedEvents seconds={data.unnumberedSeconds} stalled={data.stalled} />
          <LateHolds count={data.lateHolds} />
          <Contradictions log={data.log} />
          <IllEndpoints apps={data.troubled} />
          {rows.map(([label, count, href, note]) => (
            <li key={label}>
              {count > 0 && href ? <a href={href}>{label}</a> : <span>{label}</span>}
              <span>
                {count > 0 && note && <span class="small muted">{note} </span>}
                <Badge kind={count > 0 ? 'warn' : 'good'}>{capped(count)}</Badge>
              </span>
            </li>
          ))}
        </ul>
      </section>
      <section class="card stack">
        <h2>Card top-ups today</h2>
        {topups.begun === 0 ? (
          <p class="muted">None started yet.</p>
        ) : (
          <ul class="waits" role="list">
            <li>
              <a href="/admin/topups">Started</a> <span>{capped(topups.begun)}</span>
            </li>
            <li>
              <span>Paid</span>
              <span>
                <span class="small muted">{money(topups.creditedMinor)}</span> {capped(topups.succeeded)}
              </span>
            </li>
            <li>
              <span>With a declined card</span> <span>{capped(topups.declined)}</span>
            </li>
          </ul>
        )}
      </section>
    </div>
  )
}

/** The reason of the newest failure; all of them are on the page of the work. */
function FailingWork({ failing }: { failing: readonly FailedWork[] }) {
  const [newest] = failing
  return (
    <li>
      <a href="/admin/work">Background work that fails</a>
      <span>
        {newest && <span class="small muted">{newest.lastError ?? 'interrupted'} </span>}
        <Badge kind={newest ? 'bad' : 'good'}>{capped(failing.length)}</Badge>
      </span>
    </li>
  )
}

/** The page of the work says why the job fails that gives the numbers. */
function UnnumberedEvents({ seconds, stalled }: { seconds: number; stalled: readonly StalledApp[] }) {
  const isLate = seconds >= unnumberedLimitSeconds
  const label = `Events without a number for ${unnumberedLimitSeconds} s`
  const names = stalled.map(({ clientId, name }) => name ?? clientId)
  const whose = names.length === 0 ? '' : `, of ${names.join(', ')}`
  return (
    <li>
      {isLate ? (
        <a href="/admin/work">
          {label}
          {whose}
        </a>
      ) : (
        <span>{label}</span>
      )}
      <Badge kind={isLate ? 'bad' : 'good'}>{isLate ? `for ${lengthText(seconds * 1_000)}` : 'none'}</Badge>
    </li>
  )
}

/** Their money is available all the same; the rows, events and counts of the wallet are behind. */
function LateHolds({ count }: { count: number }) {
  const label = 'Holds that expired and are not closed'
  return (
    <li>
      {count > 0 ? <a href="/admin/holds?state=late">{label}</a> : <span>{label}</span>}
      <Badge kind={count > 0 ? 'bad' : 'good'}>{capped(count)}</Badge>
    </li>
  )
}

function IllEndpoints({ apps }: { apps: readonly TroubledApp[] }) {
  if (apps.length === 0)
    return (
      <li>
        <span>Apps with ill or disabled endpoints</span>
        <Badge kind="good">0</Badge>
      </li>
    )
  return apps.map(({ clientId, name, endpoints }) => (
    <li key={clientId}>
      <a href={`/admin/client-apps/${clientId}/events`}>{name}: ill or disabled endpoints</a>
      <Badge kind="warn">{countText(endpoints)}</Badge>
    </li>
  ))
}

function RefusedCalls({ apps, least, why }: { apps: readonly RefusedApp[]; least: number; why: string }) {
  if (apps.length === 0)
    return (
      <li>
        <span>
          Apps with {least > 1 && `${least} or more `}calls refused {why}
        </span>
        <Badge kind="good">0</Badge>
      </li>
    )
  return apps.map(({ clientId, name, calls }) => (
    <li key={clientId}>
      <a href={`/admin/client-apps/${clientId}/calls`}>
        {name}: calls refused {why}
      </a>
      <Badge kind="warn">{countText(calls)}</Badge>
    </li>
  ))
}

function Days({ data, currency }: { data: MoneyData; currency: Currency }) {
  const byDay = data.days.map((day) => ({ day, ...sumOf(data.flows.filter((flow) => flow.day === day)) }))
  const bars = byDay.map(({ day, inMinor, outMinor }) => ({
    label: day.slice(5),
    up: majorNumber(inMinor, currency),
    down: majorNumber(outMinor, currency),
    title: `${day}: ${moneyText(inMinor, currency)} in, ${moneyText(outMinor, currency)} out`,
  }))
  const moved = byDay.filter((day) => day.transfers > 0)
  return (
    <>
      <figure>
        <FlowChart
          bars={bars}
          label={`Money by day from ${data.days[0]} to ${data.days.at(-1)}: into wallets above the line, out of them below`}
          format={(value) =>
            new Intl.NumberFormat('en', { style: 'currency', currency: currency.code, notation: 'compact' }).format(
              value,
            )
          }
        />
        <figcaption class="legend">
          <span>Into wallets</span>
          <span class="down">Out of wallets</span>
        </figcaption>
      </figure>
      {moved.length > 0 && (
        <details>
          <summary>Show as a table</summary>
          <Table label="By day" head={['Day', ['In'], ['Out'], ['Debits and credits']]}>
            {moved.map(({ day, inMinor, outMinor, transfers }) => (
              <tr key={day}>
                <td>{day}</td>
                <td class="number">
                  <Money minor={inMinor} currency={currency} />
                </td>
                <td class="number">
                  <Money minor={outMinor} currency={currency} />
                </td>
                <td class="number">{countText(transfers)}</td>
              </tr>
            ))}
          </Table>
        </details>
      )}
    </>
  )
}

const maxAccounts = 15

const ofAccount = (flows: readonly DayFlow[], account: string) =>
  sumOf(flows.filter((flow) => flow.account === account))

function Accounts({ data, currency }: { data: MoneyData; currency: Currency }) {
  const names = [...new Set([...data.now, ...data.before].map((flow) => flow.account))]
  const accounts = names
    .map((account) => ({ account, now: ofAccount(data.now, account), before: ofAccount(data.before, account) }))
    .sort((a, b) => Number(b.now.inMinor + b.now.outMinor - a.now.inMinor - a.now.outMinor))
  const shown = accounts.slice(0, maxAccounts)
  return (
    <section class="card flush">
      <div class="heading">
        <h2>By app, {data.span}</h2>
        <a class="small" href="/admin/books">
          {accounts.length > shown.length ? `All ${accounts.length}, in the books` : 'Books'}
        </a>
      </div>
      {shown.length === 0 ? (
        <p class="empty muted">
          No app moved money {data.span} or in {data.against}.
        </p>
      ) : (
        <Table label="By app" head={['Account', ['In'], ['Before'], ['Out'], ['Before'], ['Debits and credits']]}>
          {shown.map(({ account, now, before }) => (
            <tr key={account}>
              <td class="wide">
                {account.startsWith('app:') ? (
                  <a href={`/admin/client-apps/${account.slice(4)}`}>{accountName(data.apps, account)}</a>
                ) : (
                  accountName(data.apps, account)
                )}
              </td>
              <td class="number">
                <Money minor={now.inMinor} currency={currency} />
              </td>
              <td class="number muted">
                <Money minor={before.inMinor} currency={currency} />
              </td>
              <td class="number">
                <Money minor={now.outMinor} currency={currency} />
              </td>
              <td class="number muted">
                <Money minor={before.outMinor} currency={currency} />
              </td>
              <td class="number">{countText(now.transfers)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function capped(count: number): string {
  return count > maxCounted ? `more than ${countText(maxCounted)}` : countText(count)
}
