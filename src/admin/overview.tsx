/** How the service does, now and over the last hour. */
import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { problemsOf } from '../actions/money/check-books.ts'
import { quantileMs } from '../actions/count-minutes.ts'
import { getBooksState } from '../store/verify/books-check.ts'
import { countLiveSessions } from '../store/widget-sessions.ts'
import { getDatabaseHealth, listMinutes, type MinuteSum } from '../store/minutes.ts'
import { plainHeaders } from '../web/headers.ts'
import { Spark } from './kit/chart.tsx'
import { Badge, Facts, Heading, When } from './kit/parts.tsx'
import { showPage } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'

export const overviewRoutes: AdminRoute[] = [get('/admin', show), get('/admin/overview', showPart)]

const minuteMs = 60_000
const shownMinutes = 60

async function show(request: AdminRequest): Promise<Response> {
  const body = (
    <>
      <Heading title="Overview" sub="The last hour, all processes together." />
      <div class="stack live" data-live="/admin/overview?auto=1" data-every-ms="5000">
        <Figures figures={await readFigures(request)} />
      </div>
    </>
  )
  return await showPage(request, { title: 'Overview', here: 'overview', body })
}

/** The figures alone, which the page's script fetches every few seconds; such a request does not prolong the session. */
async function showPart(request: AdminRequest): Promise<Response> {
  const html = renderToString(<Figures figures={await readFigures(request)} />)
  return new Response(html, { headers: { ...plainHeaders, 'content-type': 'text/html; charset=utf-8' } })
}

async function readFigures({ service }: AdminRequest) {
  const db = service.db.pool
  const now = service.now()
  const thisMinute = Math.floor(now.getTime() / minuteMs) * minuteMs
  const [minutes, sessions, health, books] = await Promise.all([
    listMinutes(db, new Date(thisMinute - shownMinutes * minuteMs)),
    countLiveSessions(db),
    getDatabaseHealth(db),
    getBooksState(db),
  ])
  return { minutes: fill(minutes, thisMinute), sessions, health, problems: problemsOf(books), books, now }
}

/** A minute without a row had no requests: it is shown with zeros. */
function fill(minutes: readonly MinuteSum[], thisMinute: number): MinuteSum[] {
  const known = new Map(minutes.map((each) => [each.minute.getTime(), each]))
  return Array.from({ length: shownMinutes }, (_, i) => {
    const at = thisMinute - (shownMinutes - 1 - i) * minuteMs
    const empty = { requests: 0, faults: 0, debits: 0, credits: 0, refusals: 0, took: [], widgets: 0, processes: 0 }
    return known.get(at) ?? { minute: new Date(at), ...empty }
  })
}

type FiguresData = Awaited<ReturnType<typeof readFigures>>

function Figures({ figures }: { figures: FiguresData }) {
  const { minutes, sessions, health, problems, books, now } = figures
  // The current minute is not over, so the figure shown is that of the minute before it.
  const last = minutes.at(-2)!
  const current = minutes.at(-1)!
  const open = current.processes > 0 ? current : last
  const per = (pick: (minute: MinuteSum) => number) => minutes.map(pick)
  const ms = (part: number) => quantileMs(sumTook(minutes.slice(-6)), part)
  return (
    <>
      <div class="tiles">
        <Tile label="Requests a minute" value={whole(last.requests)} values={per((m) => m.requests)} />
        <Tile label="Debits a minute" value={whole(last.debits)} values={per((m) => m.debits)} />
        <Tile label="Credits a minute" value={whole(last.credits)} values={per((m) => m.credits)} />
        <Tile label="Refusals a minute" value={whole(last.refusals)} values={per((m) => m.refusals)} />
        <Tile label="p50, last five minutes" value={time(ms(0.5))} values={per((m) => quantileMs(m.took, 0.5) ?? 0)} />
        <Tile
          label="p99, last five minutes"
          value={time(ms(0.99))}
          values={per((m) => quantileMs(m.took, 0.99) ?? 0)}
        />
        <Tile label="Open widgets" value={whole(open.widgets)} values={per((m) => m.widgets)} />
        <Tile label="Faults a minute" value={whole(last.faults)} values={per((m) => m.faults)} />
      </div>
      <div class="columns">
        <section class="card stack">
          <h2>Books</h2>
          <p>
            {problems.length > 0 ? (
              <Badge kind="bad">wrong</Badge>
            ) : books.lastRoundAt ? (
              <Badge kind="good">right</Badge>
            ) : (
              <Badge>first check under way</Badge>
            )}{' '}
            {books.lastRoundAt && (
              <>
                last whole check <When at={books.lastRoundAt} />
              </>
            )}{' '}
            <a href="/admin/books">Books</a>
          </p>
          <h2>Service</h2>
          <Facts
            rows={[
              ['Processes', whole(open.processes)],
              ['Live widget sessions', whole(sessions)],
              ['As of', <When at={now} />],
            ]}
          />
        </section>
        <section class="card stack">
          <h2>
            Database {health.answeredInMs < 100 ? <Badge kind="good">healthy</Badge> : <Badge kind="warn">slow</Badge>}
          </h2>
          <Facts
            rows={[
              ['PostgreSQL', health.version],
              ['Answers in', time(health.answeredInMs)],
              ['Size', size(health.sizeBytes)],
              ['Connections', `${health.connections} of ${health.maxConnections}`],
              ['Oldest transaction', `${Math.round(health.oldestTransactionSeconds)} s`],
            ]}
          />
        </section>
      </div>
    </>
  )
}

function Tile({ label, value, values }: { label: string; value: ComponentChildren; values: readonly number[] }) {
  return (
    <div class="card tile">
      <p class="label">{label}</p>
      <p class="value">{value}</p>
      <Spark values={values} label={`${label}, over the last hour`} />
    </div>
  )
}

function sumTook(minutes: readonly MinuteSum[]): number[] {
  const length = Math.max(0, ...minutes.map((minute) => minute.took.length))
  return Array.from({ length }, (_, i) => minutes.reduce((sum, minute) => sum + (minute.took[i] ?? 0), 0))
}

function whole(value: number): string {
  return value.toLocaleString('en')
}

function time(ms: number | null): string {
  if (ms === null) return '–'
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

function size(bytes: bigint): string {
  const mib = Number(bytes) / 2 ** 20
  return mib < 1_024 ? `${Math.round(mib)} MiB` : `${(mib / 1_024).toFixed(1)} GiB`
}
