/** What the service tells Prometheus. Labels are route patterns, codes and clientIds of ours, never what a user sent. */
import { Counter, Gauge, Registry } from 'prom-client'
import { watchAll, type Sources } from './gauges.ts'
import { openHistogram, secondsBuckets, type Series } from './histogram.ts'
import type { TopupState } from '../store/topups.ts'
import type { Lane, PostingResult } from '../store/writer/posting.ts'
import { version } from './version.ts'

export type Metrics = {
  readonly request: (route: string, method: string, status: number, ms: number) => void
  /** A call with credentials that was refused. */
  readonly refused: (route: string, status: number) => void
  /** `waitedMs`: how long the first of its postings had been waiting when it was sent. */
  readonly batch: (lane: Lane, size: number, ms: number, waitedMs: number) => void
  readonly writerFault: (lane: Lane) => void
  /** What a posting came to; `app` is the clientId, or undefined for the service's own movements. */
  readonly posted: (app: string | undefined, direction: Direction, result: PostingResult) => void
  /** A posting that got no result: its caller was told to come again, or that something is wrong. */
  readonly unposted: (app: string | undefined, direction: Direction, code: 'UNAVAILABLE' | 'INTERNAL') => void
  /** A mail that was handed to the mail server, or was not. */
  readonly mail: (result: MailResult) => void
  /** A client secret came from a browser; `isReal`: it is one of the app's own, and has leaked. */
  readonly browserCall: (isReal: boolean) => void
  readonly signIn: (who: 'user' | 'operator', result: SignInTry) => void
  /** A top-up reached a state. */
  readonly topup: (state: TopupState) => void
  readonly dispute: (state: DisputeState) => void
  /** The card processor was asked something. */
  readonly processor: (result: ProcessorResult) => void
  readonly job: (name: string, isDone: boolean) => void
  readonly watch: (sources: Sources) => void
  readonly registry: Registry
  /** The text for Prometheus; of all workers, where there are several. */
  render: () => Promise<string>
}

type Direction = 'debit' | 'credit'
const mailResults = ['sent', 'refused', 'away', 'unsure'] as const
type MailResult = (typeof mailResults)[number]
const signInTries = ['right', 'wrong', 'limited'] as const
type SignInTry = (typeof signInTries)[number]
const disputeStates = ['none', 'open', 'won', 'lost'] as const
type DisputeState = (typeof disputeStates)[number]
const processorResults = ['answered', 'away'] as const
type ProcessorResult = (typeof processorResults)[number]
const topupStates = ['created', 'processing', 'succeeded', 'failed', 'cancelled'] as const
const lanes = ['fast', 'careful'] as const

/** Apps beyond these are counted together: a label for each of thousands would cost more than it tells. */
const maxApps = 50

export function openMetrics(): Metrics {
  const registry = new Registry()
  const requests = openHistogram(registry, {
    name: 'billfold_http_request_seconds',
    help: 'Requests by route pattern, method and status.',
    buckets: secondsBuckets,
  })
  const sizes = openByLane(registry, {
    name: 'billfold_batch_operations',
    help: 'Operations in a batch of the writer.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  })
  const commits = openByLane(registry, {
    name: 'billfold_batch_seconds',
    help: 'Time from the start of a batch to its last answer, the commit included.',
    buckets: secondsBuckets,
  })
  const waits = openByLane(registry, {
    name: 'billfold_lane_wait_seconds',
    help: 'How long the first operation of a batch had waited for it; in the careful lane, its time in the fast one included.',
    buckets: secondsBuckets,
  })
  const faults = counter(registry, 'billfold_writer_faults_total', 'lane', lanes, [
    'Batches that failed in a lane of the writer. They were tried again, or their callers were told.',
  ])
  const refusals = new Counter({
    name: 'billfold_refused_calls_total',
    help: 'Calls of the API refused with 401, 403 or 429, by route pattern and status.',
    labelNames: ['route', 'status'],
    registers: [registry],
  })
  const mails = counter(registry, 'billfold_mails_total', 'result', mailResults, [
    'Tries to hand a mail to the mail server: sent, refused, away (tried again), or unsure (the connection was lost).',
  ])
  const topups = counter(registry, 'billfold_topups_total', 'state', topupStates, ['Top-ups that reached a state.'])
  const disputes = counter(registry, 'billfold_disputes_total', 'state', disputeStates.slice(1), [
    'Disputes of card payments that were opened, won or lost.',
  ])
  const processorCalls = counter(registry, 'billfold_processor_calls_total', 'result', processorResults, [
    'Questions and orders to the card processor: answered, also with a no, or away (no answer, or a fault of its own).',
  ])
  const browserCalls = counter(
    registry,
    'billfold_browser_calls_total',
    'secret',
    ['real', 'made-up'],
    [
      'Calls with a client secret that came from a browser, and were refused: one of an app’s own (it has leaked), or made up.',
    ],
  )
  const signIns = new Counter({
    name: 'billfold_sign_ins_total',
    help: 'Tries to sign in with a password or a second factor: right, wrong, or limited (refused unseen, after too many).',
    labelNames: ['who', 'result'],
    registers: [registry],
  })
  for (const who of ['user', 'operator']) for (const result of signInTries) signIns.inc({ who, result }, 0)
  const jobs = new Counter({
    name: 'billfold_job_runs_total',
    help: 'Runs of what the service does by itself from time to time: done or failed.',
    labelNames: ['job', 'result'],
    registers: [registry],
  })
  const byRoute = new Map<string, Series>()
  const count = openOperations(registry)
  const info = new Gauge({
    name: 'billfold_build_info',
    help: 'Always 1; its labels say which version runs, on what.',
    labelNames: ['version', 'runtime'],
    aggregator: 'max',
    registers: [registry],
  })
  info.set({ version, runtime: `bun ${process.versions['bun'] ?? 'none'}` }, 1)

  return {
    registry,
    render: () => registry.metrics(),
    request: (route, method, status, ms) => {
      const key = `${method} ${route} ${status}`
      let series = byRoute.get(key)
      if (!series) byRoute.set(key, (series = requests({ route, method, status: String(status) })))
      series.observe(ms / 1000)
    },
    refused: (route, status) => refusals.inc({ route, status: String(status) }),
    batch: (lane, size, ms, waitedMs) => {
      sizes[lane].observe(size)
      commits[lane].observe(ms / 1000)
      waits[lane].observe(waitedMs / 1000)
    },
    mail: (result) => mails.inc({ result }),
    writerFault: (lane) => faults.inc({ lane }),
    browserCall: (isReal) => browserCalls.inc({ secret: isReal ? 'real' : 'made-up' }),
    signIn: (who, result) => signIns.inc({ who, result }),
    topup: (state) => topups.inc({ state }),
    dispute: (state) => state !== 'none' && disputes.inc({ state }),
    processor: (result) => processorCalls.inc({ result }),
    job: (job, isDone) => jobs.inc({ job, result: isDone ? 'done' : 'failed' }),
    posted: (app, direction, result) => {
      if (result.kind === 'outcome') {
        const { outcome, replay } = result
        const moved = outcome.amountMinor < 0n ? 'debit' : 'credit'
        count(app, moved, replay ? 'replayed' : (outcome.refusal ?? 'posted'))
      } else count(app, direction, result.kind === 'inactive' ? 'WALLET_INACTIVE' : 'USER_NOT_FOUND')
    },
    unposted: count,
    watch: (sources) => watchAll(registry, sources),
  }
}

function openByLane(registry: Registry, options: Parameters<typeof openHistogram>[1]): Record<Lane, Series> {
  const open = openHistogram(registry, options)
  return { fast: open({ lane: 'fast' }), careful: open({ lane: 'careful' }) }
}

/** With every series there from the start: of one that first appears with a count of 1, nobody sees a rise. */
function counter(
  registry: Registry,
  name: string,
  label: string,
  values: readonly string[],
  [help]: [string],
): Counter {
  const made = new Counter({ name, help, labelNames: [label], registers: [registry] })
  for (const value of values) made.inc({ [label]: value }, 0)
  return made
}

type Count = (app: string | undefined, direction: Direction, result: string) => void

/** Every debit is counted here: two look-ups and an addition, and no text is made. */
function openOperations(registry: Registry): Count {
  const byApp = new Map<string, Map<string, Record<Direction, number>>>()
  const operations: Counter = new Counter({
    name: 'billfold_operations_total',
    help: `Debits and credits by app and what they came to: posted, replayed, or the code of the refusal. The first ${maxApps} apps by their clientId, the rest as other; the service’s own movements as service.`,
    labelNames: ['app', 'direction', 'result'],
    registers: [],
    collect: () => {
      operations.reset()
      for (const [app, results] of byApp)
        for (const [result, counted] of results)
          for (const direction of ['debit', 'credit'] as const)
            if (counted[direction] > 0) operations.inc({ app, direction, result }, counted[direction])
    },
  })
  registry.registerMetric(operations)
  return (app = 'service', direction, result) => {
    let results = byApp.get(app)
    if (!results) {
      const name = byApp.size < maxApps || app === 'service' ? app : 'other'
      byApp.set(name, (results = byApp.get(name) ?? new Map<string, Record<Direction, number>>()))
    }
    let counted = results.get(result)
    if (!counted) results.set(result, (counted = { debit: 0, credit: 0 }))
    counted[direction]++
  }
}
