/** The Prometheus metrics. Labels are route patterns, codes and registered clientIds, never user input. */
import { Counter, Gauge, Registry } from 'prom-client'
import { watchAll, type Sources } from './gauges.ts'
import { openHistogram, secondsBuckets, type Series } from './histogram.ts'
import { eventClasses, type EventCounts } from '../store/events/number-events.ts'
import { refusalCauses, type RefusalCause } from '../store/calls/refused-credentials.ts'
import type { TopupState } from '../store/topups.ts'
import { workKinds, type WorkKind } from '../store/work/work.ts'
import { holdCounts, type HoldCount } from '../store/writer/hold-counts.ts'
import type { Lane, PostingResult } from '../store/writer/posting.ts'
import { version } from './version.ts'

export type Metrics = {
  readonly request: (route: string, method: string, status: number, ms: number) => void
  /** A call with credentials that was refused. */
  readonly refused: (route: string, status: number) => void
  /** `waitedMs`: how long the first of its postings had been waiting when it was sent. */
  readonly batch: (lane: Lane, size: number, ms: number, waitedMs: number) => void
  readonly writerFault: (lane: Lane) => void
  /** The result of a posting; `app` is the clientId, or undefined for the service's own movements. */
  readonly posted: (app: string | undefined, direction: Direction, result: PostingResult) => void
  /** A call of the app was refused because it had too much under way. */
  readonly throttled: (clientId: string) => void
  /** A posting without a result: the caller got 503 or 500. */
  readonly unposted: (app: string | undefined, direction: Direction, code: 'UNAVAILABLE' | 'INTERNAL') => void
  /** An attempt to send a mail. */
  readonly mail: (result: MailResult) => void
  /** A client secret came from a browser; `isReal`: it is a secret of the app, and has leaked. */
  readonly browserCall: (isReal: boolean) => void
  /** A call that got 401 INVALID_CLIENT. */
  readonly refusedCredentials: (cause: RefusalCause | 'unknown-app') => void
  readonly signIn: (who: 'user' | 'operator', result: SignInTry) => void
  /** With OIDC_ONLY, an admin signed in with a password. */
  readonly emergencySignIn: () => void
  /** A top-up reached a state. */
  readonly topup: (state: TopupState) => void
  readonly hold: (step: HoldCount, times: number) => void
  readonly dispute: (state: DisputeState) => void
  /** A call to the card processor. */
  readonly processor: (result: ProcessorResult) => void
  readonly job: (name: string, result: JobResult) => void
  /** Creates the series of these jobs and of the refusals of these routes at 0. */
  readonly expect: (known: { readonly jobs?: readonly string[]; readonly routes?: readonly string[] }) => void
  /** Events that got their numbers. */
  readonly events: (counts: EventCounts) => void
  /** An attempt to post an event to an endpoint. */
  readonly webhook: (result: WebhookResult) => void
  /** What a run of a piece of work came to. */
  readonly work: (kind: WorkKind, result: WorkResult) => void
  readonly watch: (sources: Sources) => void
  readonly registry: Registry
  /** The text for Prometheus, of all workers together. */
  render: () => Promise<string>
}

type Direction = 'debit' | 'credit'
const webhookResults = ['accepted', 'refused', 'no-answer', 'not-public'] as const
export type WebhookResult = (typeof webhookResults)[number]
const mailResults = ['sent', 'refused', 'away', 'unsure'] as const
type MailResult = (typeof mailResults)[number]
const signInTries = ['right', 'wrong', 'limited'] as const
type SignInTry = (typeof signInTries)[number]
const disputeStates = ['none', 'open', 'won', 'lost'] as const
type DisputeState = (typeof disputeStates)[number]
const processorResults = ['answered', 'away'] as const
type ProcessorResult = (typeof processorResults)[number]
const topupStates = ['created', 'processing', 'succeeded', 'failed', 'cancelled'] as const
const lanes = ['fast', 'careful', 'holds'] as const
const faultStatuses = ['500', '502', '503', '504']
const refusedStatuses = ['401', '403', '429']
const workResults = ['done', 'again', 'failed', 'given-up'] as const
const jobResults = ['done', 'failed', 'stopped'] as const
type JobResult = (typeof jobResults)[number]
export type WorkResult = (typeof workResults)[number]

/** Further apps are counted together: thousands of labels cost more than they are worth. */
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
    help: 'Time from the start of a batch to its last answer, including the commit.',
    buckets: secondsBuckets,
  })
  const waits = openByLane(registry, {
    name: 'billfold_lane_wait_seconds',
    help: 'How long the first operation of a batch waited; in the careful lane, including its time in the fast lane.',
    buckets: secondsBuckets,
  })
  const faults = counter(registry, 'billfold_writer_faults_total', 'lane', lanes, [
    'Batches that failed in a lane of the writer. They were retried, or their callers got an error.',
  ])
  const refusals = new Counter({
    name: 'billfold_refused_calls_total',
    help: 'Calls of the API refused with 401, 403 or 429, by route pattern and status.',
    labelNames: ['route', 'status'],
    registers: [registry],
  })
  const faulty = counter(registry, 'billfold_http_faults_total', 'status', faultStatuses, [
    'Requests that ended in a fault of the service, by status.',
  ])
  const mails = counter(registry, 'billfold_mails_total', 'result', mailResults, [
    'Attempts to send a mail: sent, refused, away (will be retried), or unsure (the connection was lost).',
  ])
  const topups = counter(registry, 'billfold_topups_total', 'state', topupStates, ['Top-ups that reached a state.'])
  const holds = counter(registry, 'billfold_hold_steps_total', 'kind', holdCounts, [
    'What happened to holds: created, captured (a hold can have several captures), voided, expired, or extended.',
  ])
  const disputes = counter(registry, 'billfold_disputes_total', 'state', disputeStates.slice(1), [
    'Disputes of card payments that were opened, won or lost.',
  ])
  const processorCalls = counter(registry, 'billfold_processor_calls_total', 'result', processorResults, [
    'Calls to the card processor: answered (including refusals), or away (no answer, or a fault of the processor).',
  ])
  const browserCalls = counter(
    registry,
    'billfold_browser_calls_total',
    'secret',
    ['real', 'made-up'],
    ['Refused calls from a browser with a client secret: real (a secret of an app has leaked) or made-up.'],
  )
  const credentials = counter(
    registry,
    'billfold_refused_credentials_total',
    'cause',
    [...refusalCauses, 'unknown-app'],
    [
      'Calls with 401 INVALID_CLIENT: the secret was missing, wrong, revoked or expired, the app was inactive, or no app has the clientId.',
    ],
  )
  const events = counter(registry, 'billfold_events_total', 'class', eventClasses, [
    'Events of apps that got their numbers: movement (debits, credits, top-ups …), wallet (freezes), link, user (deletions), test.',
  ])
  const webhooks = counter(registry, 'billfold_webhook_attempts_total', 'result', webhookResults, [
    'Attempts to post an event to an endpoint: accepted, refused (an answer other than 2xx), no-answer, or not-public (not sent: the address is private).',
  ])
  const signIns = new Counter({
    name: 'billfold_sign_ins_total',
    help: 'Attempts to sign in with a password or a second factor: right, wrong, or limited (refused unchecked after too many).',
    labelNames: ['who', 'result'],
    registers: [registry],
  })
  for (const who of ['user', 'operator']) for (const result of signInTries) signIns.inc({ who, result }, 0)
  const emergencies = new Counter({
    name: 'billfold_emergency_sign_ins_total',
    help: 'Sign-ins of admins with a password while OIDC_ONLY is set.',
    registers: [registry],
  })
  const jobs = new Counter({
    name: 'billfold_job_runs_total',
    help: 'Runs of background jobs: done, failed, or stopped (the last run of a process that met a newer schema).',
    // Not `job`: Prometheus gives that label to every series of a target.
    labelNames: ['name', 'result'],
    registers: [registry],
  })
  const works = new Counter({
    name: 'billfold_work_runs_total',
    help: 'Runs of work that must happen later, by kind: done, again (more to do), failed (retried later) or given up.',
    labelNames: ['kind', 'result'],
    registers: [registry],
  })
  for (const kind of workKinds) for (const result of workResults) works.inc({ kind, result }, 0)
  const byRoute = new Map<string, Series>()
  const count = openOperations(registry)
  const info = new Gauge({
    name: 'billfold_build_info',
    help: 'Always 1; its labels are the version and the runtime.',
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
      if (status >= 500) faulty.inc({ status: String(status) })
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
    refusedCredentials: (cause) => credentials.inc({ cause }),
    signIn: (who, result) => signIns.inc({ who, result }),
    emergencySignIn: () => emergencies.inc(),
    topup: (state) => topups.inc({ state }),
    hold: (kind, times) => holds.inc({ kind }, times),
    dispute: (state) => state !== 'none' && disputes.inc({ state }),
    processor: (result) => processorCalls.inc({ result }),
    events: (counts) => {
      for (const each of eventClasses) if (counts[each] > 0) events.inc({ class: each }, counts[each])
    },
    webhook: (result) => webhooks.inc({ result }),
    work: (kind, result) => works.inc({ kind, result }),
    job: (name, result) => jobs.inc({ name, result }),
    expect: ({ jobs: names = [], routes = [] }) => {
      for (const name of names) for (const result of jobResults) jobs.inc({ name, result }, 0)
      for (const route of routes) for (const status of refusedStatuses) refusals.inc({ route, status }, 0)
    },
    posted: (app, direction, result) => {
      if (result.kind === 'outcome') {
        const { outcome, replay } = result
        const moved = outcome.amountMinor < 0n ? 'debit' : 'credit'
        count(app, moved, replay ? 'replayed' : (outcome.refusal ?? 'posted'))
      } else count(app, direction, result.kind === 'inactive' ? 'WALLET_INACTIVE' : 'USER_NOT_FOUND')
    },
    throttled: openThrottled(registry),
    unposted: count,
    watch: (sources) => watchAll(registry, sources),
  }
}

function openByLane(registry: Registry, options: Parameters<typeof openHistogram>[1]): Record<Lane, Series> {
  const open = openHistogram(registry, options)
  return { fast: open({ lane: 'fast' }), careful: open({ lane: 'careful' }), holds: open({ lane: 'holds' }) }
}

/** Creates every series at 0: Prometheus sees no increase in a series that first appears with 1. */
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

/** Like the operations: the first apps by their clientId, the rest together. */
function openThrottled(registry: Registry): (clientId: string) => void {
  const throttled = new Counter({
    name: 'billfold_throttled_calls_total',
    help: `Calls refused with 429 because their app had too much under way. The first ${maxApps} apps by their clientId, the rest as other.`,
    labelNames: ['app'],
    registers: [registry],
  })
  const named = new Set<string>()
  return (clientId) => {
    if (named.size < maxApps) named.add(clientId)
    throttled.inc({ app: named.has(clientId) ? clientId : 'other' })
  }
}

type Count = (app: string | undefined, direction: Direction, result: string) => void

/** Counts every debit with two lookups and an addition, without building a string. */
function openOperations(registry: Registry): Count {
  const byApp = new Map<string, Map<string, Record<Direction, number>>>()
  const operations: Counter = new Counter({
    name: 'billfold_operations_total',
    help: `Debits and credits by app and result: posted, replayed, or the code of the refusal. The first ${maxApps} apps by their clientId, the rest as other; the service’s own movements as service.`,
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
