/** The overview: money, what needs attention, processes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { listFlows, countTopups, countOpenIssues, maxCounted } from '../../store/books/money-figures.ts'
import { listTroubledApps } from '../../store/events/endpoint-lag.ts'
import { getUnnumberedSeconds } from '../../store/events/number-events.ts'
import { listStalledApps } from '../../store/events/stalled-events.ts'
import { listRefusedApps } from '../../store/calls/app-calls.ts'
import { getPositionBefore } from '../../store/books/books.ts'
import { countLateHolds } from '../../store/books/hold-lists.ts'
import { countWaitingCorrections } from '../../store/corrections.ts'
import { countWaitingDeletions } from '../../store/people/deletions.ts'
import { countWaitingChanges } from '../../store/operator-access/operator-changes.ts'
import { readLogLevels } from '../../actions/proofs/log-metrics.ts'
import { getBooksState } from '../../store/verify/books-check.ts'
import { listFailingWork } from '../../store/work/work-report.ts'
import { getDatabaseHealth, listMinutes } from '../../store/minutes.ts'
import { countLiveSessions } from '../../store/people/widget-sessions.ts'
import { probeWriting } from '../../store/connection/write-probe.ts'
import { plainHeaders } from '../../web/headers.ts'
import { renderIsolated } from '../../web/isolate.ts'
import { manyRefusals } from './attention.tsx'
import { MoneyFigures, type MoneyData } from './overview-money.tsx'
import { ProcessFigures, type ProcessData } from './overview-process.tsx'
import { dayText, Heading, withQuery } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const overviewRoutes: AdminRoute[] = [get('/admin', showOverview), get('/admin/overview', showPart)]

const minuteMs = 60_000
const dayMs = 86_400_000

/**
 * Money is summed by day, so `hour` and `day` both show today and compare it with the same day last week. The others compare with as
 * many days before. Requests are counted by the minute and kept for two days.
 */
const ranges = [
  { name: 'hour', label: 'Hour', days: 1, minutes: 60, step: 1, everyMs: 5_000 },
  { name: 'day', label: 'Day', days: 1, minutes: 1_440, step: 15, everyMs: 15_000 },
  { name: 'week', label: 'Week', days: 7, minutes: 2_880, step: 30, everyMs: 60_000 },
  { name: 'month', label: 'Month', days: 30, minutes: 2_880, step: 30, everyMs: 60_000 },
  { name: 'quarter', label: 'Quarter', days: 91, minutes: 2_880, step: 30, everyMs: 60_000 },
] as const

type Range = (typeof ranges)[number]

function rangeOf(request: AdminRequest): Range {
  return ranges.find(({ name }) => name === request.query('range')) ?? ranges[0]
}

async function showOverview(request: AdminRequest): Promise<Response> {
  const range = rangeOf(request)
  const part = withQuery('/admin/overview', { range: range.name, auto: 1 })
  const body = (
    <>
      <Heading title="Overview" sub="All processes together. Days are in UTC.">
        <nav class="ranges" aria-label="Range">
          {ranges.map(({ name, label }) => (
            <a key={name} href={`/admin?range=${name}`} aria-current={name === range.name ? 'true' : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </Heading>
      <div class="stack live" data-live={part} data-every-ms={range.everyMs}>
        <Figures request={request} data={await readFigures(request, range)} />
      </div>
    </>
  )
  return await showPage(request, { title: 'Overview', here: 'overview', body })
}

/** Only the figures, which the page's script fetches every few seconds. Such a request does not extend the session. */
async function showPart(request: AdminRequest): Promise<Response> {
  const html = renderIsolated(<Figures request={request} data={await readFigures(request, rangeOf(request))} />)
  return new Response(html, {
    headers: {
      ...plainHeaders,
      'cross-origin-opener-policy': 'same-origin',
      'content-type': 'text/html; charset=utf-8',
    },
  })
}

async function readFigures(request: AdminRequest, range: Range): Promise<{ money: MoneyData; process: ProcessData }> {
  const [money, process] = await Promise.all([readMoney(request, range), readProcess(request, range)])
  return { money, process }
}

function Figures({ request, data }: { request: AdminRequest; data: Awaited<ReturnType<typeof readFigures>> }) {
  return (
    <>
      <MoneyFigures request={request} data={data.money} />
      <ProcessFigures data={data.process} />
    </>
  )
}

async function readMoney({ service }: AdminRequest, { days }: Range): Promise<MoneyData> {
  const db = service.db.pool
  const now = service.now()
  const today = Math.floor(now.getTime() / dayMs) * dayMs
  const [from, until] = [today - (days - 1) * dayMs, today + dayMs]
  const back = (days === 1 ? 7 : days) * dayMs
  // One query covers both periods, and 14 days for the chart of a day.
  const first = Math.min(from - back, today - 13 * dayMs)
  const [
    flows,
    topups,
    waiting,
    corrections,
    changes,
    deletions,
    books,
    failing,
    throttled,
    refused,
    troubled,
    unnumberedSeconds,
    stalled,
    lateHolds,
    log,
    apps,
  ] = await Promise.all([
    listFlows(db, dayText(first), dayText(until)),
    countTopups(db, new Date(today)),
    countOpenIssues(db),
    countWaitingCorrections(db),
    countWaitingChanges(db),
    countWaitingDeletions(db),
    getBooksState(db),
    listFailingWork(db, maxCounted + 1),
    listRefusedApps(db, 'RATE_LIMITED', { least: 1, limit: 3 }),
    listRefusedApps(db, 'INVALID_CLIENT', { least: manyRefusals, limit: 3 }),
    listTroubledApps(db, 3),
    getUnnumberedSeconds(db),
    listStalledApps(db, 3),
    countLateHolds(db, maxCounted + 1),
    readLogLevels(service),
    service.apps.list(),
  ])
  const held =
    books.walletsMinor === null || !books.sumsAt
      ? { minor: -(await getPositionBefore(db, undefined, dayText(until))), at: now }
      : { minor: books.walletsMinor, at: books.sumsAt }
  const within = (start: number, end: number) => flows.filter(({ day }) => day >= dayText(start) && day < dayText(end))
  const charted = days === 1 ? today - 13 * dayMs : from
  return {
    held,
    now: within(from, until),
    before: within(from - back, until - back),
    days: Array.from({ length: (until - charted) / dayMs }, (_, i) => dayText(charted + i * dayMs)),
    flows: within(charted, until),
    span: days === 1 ? 'today' : `in the last ${days} days`,
    against: days === 1 ? `the whole of ${dayText(today - back)}` : `the ${days} days before`,
    topups,
    waiting,
    waitingCorrections: corrections.count,
    waitingChanges: changes,
    waitingDeletions: deletions,
    books,
    failing,
    throttled,
    refused,
    troubled,
    unnumberedSeconds,
    stalled,
    lateHolds,
    log,
    apps,
  }
}

async function readProcess(request: AdminRequest, { minutes, step }: Range): Promise<ProcessData> {
  const { service } = request
  const db = service.db.pool
  const now = service.now()
  const stepMs = step * minuteMs
  const thisStep = Math.floor(now.getTime() / stepMs) * stepMs
  const count = minutes / step
  const [sums, sessions, health, writing] = await Promise.all([
    listMinutes(db, new Date(thisStep - (count - 1) * stepMs), step),
    countLiveSessions(db),
    getDatabaseHealth(db),
    isWritable(request),
  ])
  const known = new Map(sums.map((each) => [each.minute.getTime(), each]))
  const empty = { requests: 0, faults: 0, debits: 0, credits: 0, refusals: 0, took: [], widgets: 0, processes: 0 }
  // A step without a row had no requests.
  const steps = Array.from({ length: count }, (_, i) => {
    const at = thisStep - (count - 1 - i) * stepMs
    return known.get(at) ?? { minute: new Date(at), ...empty }
  })
  return { steps, stepMinutes: step, sessions, health, writing, now }
}

/** An operator who opens the page during an outage must not wait for a write that hangs. */
const writtenWithinMs = 1_000

async function isWritable({ service }: AdminRequest): Promise<string> {
  const late = sleep(writtenWithinMs, 'no answer', { ref: false })
  return await Promise.race([probeWriting(service.db).catch(() => 'failed'), late])
}
