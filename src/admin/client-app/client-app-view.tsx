/** The cards of an app's pages: money, calls, users, what the service owes the app, and leaked secrets. */
import { readOwed, type Owed } from '../../actions/apps/settle-app.ts'
import { fingerprintOf } from '../../actions/tokens.ts'
import { majorNumber, moneyText, type Currency } from '../../ledger/money.ts'
import { counterAccountOfApp, magnitude } from '../../ledger/reference.ts'
import { findAppLinks, listAppCalls, type CallSum } from '../../store/calls/app-calls.ts'
import { sumOpenHolds, type OpenHolds } from '../../store/books/hold-lists.ts'
import type { App } from '../../store/apps.ts'
import { listAudit, type AuditRecord } from '../../store/audit.ts'
import { listDayFlows, type DayFlow } from '../../store/books/books.ts'
import { FlowChart } from '../kit/chart.tsx'
import { Badge, dayText, Facts, Field, Money, Notice, Table, When, withQuery } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'
import { tabPath } from './client-app-tabs.tsx'

/** No count goes further. */
const maxHolds = 10_000

export type AppStory = {
  readonly holds: OpenHolds
  readonly days: readonly DayFlow[]
  readonly calls: readonly CallSum[]
  readonly links: { readonly links: number; readonly countedAt: Date } | undefined
  readonly leaks: readonly AuditRecord[]
  readonly owed: Owed
}

const dayMs = 86_400_000
const shownDays = 30
const maxLeaks = 10

export async function readAppStory(request: AdminRequest, app: App): Promise<AppStory> {
  const { service } = request
  const { clientId } = app
  const db = service.db.pool
  const today = service.now().getTime()
  const from = dayText(new Date(today - (shownDays - 1) * dayMs))
  const until = dayText(new Date(today + dayMs))
  const [days, calls, links, leaks, owed, holds] = await Promise.all([
    listDayFlows(db, { account: counterAccountOfApp(clientId), from, until }),
    listAppCalls(db, clientId),
    findAppLinks(db, clientId),
    listLeaks(request, app),
    readOwed(db, clientId),
    sumOpenHolds(db, clientId, maxHolds + 1),
  ])
  return { days, calls, links, leaks, owed, holds }
}

/** Calls from browsers with a secret, the newest first. */
export async function listLeaks({ service }: AdminRequest, { clientId }: App): Promise<AuditRecord[]> {
  const leaked = { subject: `app:${clientId}`, action: 'browser-call.refused' }
  return await listAudit(service.db.pool, leaked, { after: undefined, limit: maxLeaks })
}

type Props = { request: AdminRequest; app: App; story: AppStory }

export function AppMoney({ request, app, story }: Props) {
  const { currency } = request.service.config
  const now = request.service.now().getTime()
  const all = Array.from({ length: shownDays }, (_, i) => dayText(new Date(now - (shownDays - 1 - i) * dayMs)))
  const flowOf = (day: string) => story.days.find((each) => each.day === day)
  const bars = all.map((day) => {
    const { debitedMinor = 0n, creditedMinor = 0n } = flowOf(day) ?? {}
    return {
      label: day.slice(5),
      up: majorNumber(debitedMinor, currency),
      down: majorNumber(creditedMinor, currency),
      title: `${day}: ${moneyText(debitedMinor, currency)} debited, ${moneyText(creditedMinor, currency)} credited`,
    }
  })
  const spans = [
    ['Today', all.slice(-1)],
    ['7 days', all.slice(-7)],
    ['30 days', all],
  ] as const
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Volume</h2>
        <a class="small" href={withQuery('/admin/books', { account: counterAccountOfApp(app.clientId) })}>
          By month, in the books
        </a>
      </div>
      {story.days.length > 0 && (
        <div class="pager chart-frame">
          <figure>
            <FlowChart bars={bars} label="By day (UTC): debited above the line, credited below" />
            <figcaption class="legend">
              <span>Debited from wallets</span>
              <span class="down">Credited to wallets</span>
            </figcaption>
          </figure>
        </div>
      )}
      <Table label="Volume" head={['Days (UTC)', ['Debited'], ['Credited'], ['Transfers']]}>
        {spans.map(([label, days]) => {
          const flows = days.flatMap((day) => flowOf(day) ?? [])
          const sum = (of: (flow: DayFlow) => bigint) => flows.reduce((total, flow) => total + of(flow), 0n)
          return (
            <tr key={label}>
              <td>{label}</td>
              <td class="number">
                <Money minor={sum((flow) => flow.debitedMinor)} currency={currency} />
              </td>
              <td class="number">
                <Money minor={sum((flow) => flow.creditedMinor)} currency={currency} />
              </td>
              <td class="number">{sum((flow) => BigInt(flow.transfers)).toLocaleString('en')}</td>
            </tr>
          )
        })}
      </Table>
    </section>
  )
}

export function AppHolds({ request, app, story }: Props) {
  const { count, remainingMinor, oldestAt, firstToEndAt } = story.holds
  const isMore = count > maxHolds
  return (
    <section class="card stack">
      <h2>Open holds</h2>
      {count === 0 ? (
        <p class="muted">The app has reserved nothing that is still open.</p>
      ) : (
        <Facts
          rows={[
            ['Holds', `${isMore ? 'more than ' : ''}${Math.min(count, maxHolds).toLocaleString('en')}`],
            [
              isMore ? 'Held, more than' : 'Held',
              <Money minor={remainingMinor} currency={request.service.config.currency} />,
            ],
            [isMore ? 'Oldest of them' : 'Oldest', <When at={oldestAt} />],
            ['First to expire', <When at={firstToEndAt} />],
          ]}
        />
      )}
      <p class="row small">
        {count > 0 && <a href={withQuery('/admin/holds', { app: app.clientId })}>The open holds</a>}
        <a href={withQuery('/admin/holds.csv', { app: app.clientId })}>All holds as CSV</a>
      </p>
    </section>
  )
}

/** The CSV export of the ledger; by default the last 30 days. */
export function AppLedger({ request, app }: Omit<Props, 'story'>) {
  const now = request.service.now().getTime()
  return (
    <section class="card stack">
      <h2>Ledger</h2>
      <form class="row bottom" method="get" action={`/admin/client-apps/${app.clientId}/ledger.csv`}>
        <Field label="From" name="from" type="date" value={dayText(new Date(now - (shownDays - 1) * dayMs))} />
        <Field label="Until" name="until" type="date" value={dayText(new Date(now))} />
        <button class="button quiet" type="submit">
          Export as CSV
        </button>
      </form>
      <p class="muted small">
        Every entry on the app’s account, over all wallets, oldest first. Days are in UTC, at most 92.
      </p>
    </section>
  )
}

export function AppFacts({ request, app, story, liveSessions }: Props & { liveSessions: number }) {
  const { currency } = request.service.config
  const { links, calls, owed } = story
  const total = (code: (code: string) => boolean, of: 'day' | 'week') =>
    calls.filter((each) => code(each.code)).reduce((sum, each) => sum + each[of], 0)
  const rateOf = (of: 'day' | 'week') =>
    percent(
      total(isFault, of),
      total(() => true, of),
    )
  return (
    <section class="card stack hero">
      <OwedNow owed={owed} currency={currency} />
      <Facts
        rows={[
          [
            `Of that, up to ${owed.closedDay}`,
            <>
              <Money minor={owed.owedMinor} currency={currency} />{' '}
              <a href={tabPath(app.clientId, 'settlements')}>Settlements</a>
            </>,
          ],
          ['Paid out through', owed.last ? owed.last.throughDay : 'nothing yet'],
          [
            'Users linked',
            links ? (
              <>
                {links.links.toLocaleString('en')} <span class="muted">counted</span> <When at={links.countedAt} />
              </>
            ) : (
              'being counted'
            ),
          ],
          ['Widget sessions open', liveSessions.toLocaleString('en')],
          ['Calls in 24 hours', total(() => true, 'day').toLocaleString('en')],
          ['Service errors', `${rateOf('day')} in 24 hours, ${rateOf('week')} in 7 days`],
        ]}
      />
    </section>
  )
}

export function OwedNow({ owed: { owedNowMinor }, currency }: { owed: Owed; currency: Currency }) {
  return (
    <div>
      <p class="label muted">{owedNowMinor < 0n ? 'The app owes, as of now' : 'Owed to the app, as of now'}</p>
      <p class="value">
        <Money minor={magnitude(owedNowMinor)} currency={currency} />
      </p>
    </div>
  )
}

/** Faults of the service; every other code is a regular answer. */
function isFault(code: string): boolean {
  return code === 'INTERNAL' || code === 'UNAVAILABLE'
}

function percent(part: number, whole: number): string {
  if (whole === 0) return 'none'
  return part === 0 ? '0 %' : `${((part / whole) * 100).toFixed(2)} %`
}

export function AppCallList({ calls }: { calls: readonly CallSum[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Calls by answer</h2>
      </div>
      {calls.length === 0 ? (
        <p class="empty muted">No calls in the last month. A call appears here within a minute.</p>
      ) : (
        <Table label="Calls" head={['Answer', 'Route', ['24 hours'], ['7 days'], 'Last']}>
          {calls.map((each) => (
            <tr key={`${each.route} ${each.code}`}>
              <td>
                <CodeBadge code={each.code} />
              </td>
              <td>
                <code>{each.route}</code>
              </td>
              <td class="number">{each.day.toLocaleString('en')}</td>
              <td class="number">{each.week.toLocaleString('en')}</td>
              <td>
                <When at={each.lastAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function CodeBadge({ code }: { code: string }) {
  if (code === 'ok' || code === 'replayed') return <Badge kind="good">{code}</Badge>
  const isBad = isFault(code) || code === 'INVALID_CLIENT' || code === 'BROWSER_CALL_REFUSED'
  return <Badge kind={isBad ? 'bad' : 'warn'}>{code}</Badge>
}

type LeakProps = { app: App; leaks: readonly AuditRecord[] }

/** Until every secret that was seen in a browser has ended. */
export function LeakNotice({ app, leaks }: LeakProps) {
  const live = app.secrets.filter((secret) => !secret.hasEnded).map((secret) => fingerprintOf(secret.hash))
  const leak = leaks.find(({ detail }) => live.some((fingerprint) => fingerprint === detail['fingerprint']))
  if (!leak) return null
  return (
    <Notice kind="bad">
      A secret that is still valid was seen in a browser on <When at={leak.at} />.{' '}
      <a href={tabPath(app.clientId, 'secrets')}>See which, and rotate it</a>
    </Notice>
  )
}

export function Leaks({ app, leaks }: LeakProps) {
  if (leaks.length === 0) return null
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Secrets seen in browsers</h2>
        <a
          class="small"
          href={withQuery('/admin/audit', { subject: `app:${app.clientId}`, action: 'browser-call.refused' })}
        >
          All leaks
        </a>
      </div>
      <Table label="Secrets seen in browsers" head={['Time', 'Secret', 'From']}>
        {leaks.map(({ id, at, detail, address }) => (
          <tr key={id}>
            <td>
              <When at={at} />
            </td>
            <td>
              {typeof detail['fingerprint'] === 'string' ? (
                <>
                  <Badge kind="bad">leaked</Badge> <code>{detail['fingerprint']}</code>: rotate it
                </>
              ) : (
                <span class="muted">not a secret of this app</span>
              )}
            </td>
            <td class="muted">{address}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}
