/** The process part of the overview: requests, latency, faults, and the database. */
import type { ComponentChildren } from 'preact'
import { quantileMs } from '../../actions/count-minutes.ts'
import type { DatabaseHealth, MinuteSum } from '../../store/minutes.ts'
import { LineChart } from '../kit/chart.tsx'
import { Badge, Facts, When } from '../kit/parts.tsx'

export type ProcessData = {
  /** Oldest first; the last one is still running. */
  readonly steps: readonly MinuteSum[]
  readonly stepMinutes: number
  readonly sessions: number
  readonly health: DatabaseHealth
  /** `ok`, or why the database takes no writes. */
  readonly writing: string
  readonly now: Date
}

export function ProcessFigures({ data }: { data: ProcessData }) {
  const { steps, stepMinutes, sessions, health, writing, now } = data
  const last = steps.at(-2)!
  const current = steps.at(-1)!
  const open = current.processes > 0 ? current : last
  const rate = (count: number) => count / stepMinutes
  const hours = Math.round((steps.length * stepMinutes) / 60)
  const x = [axisText(steps[0]!.minute, hours), `${axisText(current.minute, hours)} UTC`] as const
  const tile = (label: string, value: ComponentChildren, pick: (step: MinuteSum) => number, format = figure) => (
    <div class="card tile">
      <p class="label">{label}</p>
      <p class="value">{value}</p>
      <LineChart values={steps.map(pick)} label={label} x={x} format={format} />
    </div>
  )
  const span = hours === 1 ? 'last hour' : `last ${hours} hours`
  const recent = stepMinutes === 1 ? steps.slice(-6) : steps
  const took = (part: number) => quantileMs(sumTook(recent), part)
  const tookOver = stepMinutes === 1 ? 'last five minutes' : span
  const faults = steps.reduce((sum, step) => sum + step.faults, 0)
  return (
    <>
      <div class="heading">
        <h2>Processes, {span}</h2>
        <p class="small muted">API requests, counted by the minute and kept for two days.</p>
      </div>
      <div class="tiles">
        {tile('Requests a minute', figure(rate(last.requests)), (step) => rate(step.requests))}
        {tile('Debits a minute', figure(rate(last.debits)), (step) => rate(step.debits))}
        {tile('Credits a minute', figure(rate(last.credits)), (step) => rate(step.credits))}
        {tile('Refusals a minute', figure(rate(last.refusals)), (step) => rate(step.refusals))}
        {tile(`p50, ${tookOver}`, time(took(0.5)), (step) => quantileMs(step.took, 0.5) ?? 0, time)}
        {tile(`p99, ${tookOver}`, time(took(0.99)), (step) => quantileMs(step.took, 0.99) ?? 0, time)}
        {tile('Open widgets', figure(open.widgets), (step) => step.widgets)}
        {tile(`Faults, ${span}`, figure(faults), (step) => step.faults)}
      </div>
      <div class="columns">
        <section class="card stack">
          <h2>Service</h2>
          <Facts
            rows={[
              ['Processes', figure(open.processes)],
              ['Live widget sessions', figure(sessions)],
              ['As of', <When at={now} />],
            ]}
          />
        </section>
        <section class="card stack">
          <h2>
            Database <Health health={health} writing={writing} />
          </h2>
          {writing !== 'ok' && (
            <p>
              What to do: <code>docs/operations/runbooks.md#{runbooks[writing] ?? 'the-database-is-away-or-slow'}</code>
              .
            </p>
          )}
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

const runbooks: Readonly<Record<string, string>> = { full: 'the-disk-is-full' }

function Health({ health, writing }: Pick<ProcessData, 'health' | 'writing'>) {
  if (writing !== 'ok') return <Badge kind="bad">takes no writes: {writing}</Badge>
  return health.answeredInMs < 100 ? <Badge kind="good">healthy</Badge> : <Badge kind="warn">slow</Badge>
}

function sumTook(steps: readonly MinuteSum[]): number[] {
  const length = Math.max(0, ...steps.map((step) => step.took.length))
  return Array.from({ length }, (_, i) => steps.reduce((sum, step) => sum + (step.took[i] ?? 0), 0))
}

/** The date for spans above a day, else the time: an axis has room for one word at each end. */
function axisText(at: Date, hours: number): string {
  const text = at.toISOString()
  return hours > 24 ? text.slice(5, 10) : text.slice(11, 16)
}

function figure(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}

function time(ms: number | null): string {
  if (ms === null) return '–'
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

function size(bytes: bigint): string {
  const mib = Number(bytes) / 2 ** 20
  return mib < 1_024 ? `${Math.round(mib)} MiB` : `${(mib / 1_024).toFixed(1)} GiB`
}
