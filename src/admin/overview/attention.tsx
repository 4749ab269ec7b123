/** What needs attention, on the overview. */
import { unnumberedLimitSeconds } from '../../actions/deployment/examine-events.ts'
import { healthOf } from '../../actions/money/check-books.ts'
import { moneyText } from '../../ledger/money.ts'
import type { RefusedApp } from '../../store/calls/app-calls.ts'
import type { TroubledApp } from '../../store/events/endpoint-lag.ts'
import type { StalledApp } from '../../store/events/stalled-events.ts'
import { maxCounted, type TopupCounts, type OpenIssues } from '../../store/books/money-figures.ts'
import type { LogLevels } from '../../store/proofs/publications.ts'
import { publicationLateSeconds } from '../../actions/proofs/describe-log.ts'
import type { BooksState } from '../../store/verify/books-check.ts'
import type { FailedWork } from '../../store/work/work-report.ts'
import { Badge, lengthText, countText } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'

/** In this hour and the last one: a backend that tries every few minutes with an old secret is named, a mistyped secret is not. */
export const manyRefusals = 20

export type AttentionData = {
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
export function Attention({ request, data }: { request: AdminRequest; data: AttentionData }) {
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

function capped(count: number): string {
  return count > maxCounted ? `more than ${countText(maxCounted)}` : countText(count)
}
