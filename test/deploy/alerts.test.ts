/** The alert rules and the dashboard use metrics that a started service has, and runbooks that exist. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { newClient } from '../client.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newApp, newUser, openTestService, type TestService } from '../service.ts'
import { unpackedProgram } from '../system-package.ts'
import { anchorsOf } from './anchors.ts'

setDefaultTimeout(180_000)

const root = new URL('../../', import.meta.url)
const readText = (path: string) => readFile(new URL(path, root), 'utf8')

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: Record<string, string>
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

const promtool = await unpackedProgram('promtool', 'prometheus')

let opened: TestService
let process: ServiceProcess
/** For each series: its labels, with the values that occurred. */
const known = new Map<string, Map<string, Set<string>>>()
let rules: Rule[]

beforeAll(async () => {
  opened = await openTestService()
  process = await startProcess({ DATABASE_URL: opened.databaseUrl, CARD_PROCESSOR: 'none' })
  const app = await newApp(opened.service)
  const { serviceUserId } = await newUser(opened.service, app)
  const client = newClient(process.send, app, process.url)
  await client.credit(serviceUserId, 5)
  await client.debit(serviceUserId, 1)
  // A refused call and the periodic jobs, so that their series appear; one of the jobs checks the books.
  await newClient(process.send, { ...app, clientSecret: 'bfs_wrong' }, process.url).debit(serviceUserId, 1)
  const parsed = Bun.YAML.parse(await readText('deploy/alerts.yaml')) as { groups: { rules: Rule[] }[] }
  rules = parsed.groups.flatMap((group) => group.rules)
  const late = [
    /^billfold_books_round_age_seconds /m,
    /name="check-books",result="done"} [1-9]/,
    /name="measure-log",result="done"} [1-9]/,
    /^billfold_reconciliation_differences /m,
  ]
  for (let text = ''; late.some((metric) => !metric.test(text));) {
    await Bun.sleep(100)
    text = await (await fetch(`${process.url}/metrics`)).text()
    recordSeries(text)
  }
})
afterAll(async () => {
  await process.stop()
  await opened.close()
})

function recordSeries(text: string): void {
  for (const [, name] of text.matchAll(/^# TYPE (\S+) (?:gauge|counter)$/gm))
    known.set(name!, known.get(name!) ?? new Map())
  for (const [, name, labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const seen = known.get(name!) ?? new Map<string, Set<string>>()
    known.set(name!, seen)
    for (const [, label, value] of labels.matchAll(/(\w+)="([^"]*)"/g))
      seen.set(label!, (seen.get(label!) ?? new Set()).add(value!))
  }
}

/** From Prometheus itself. */
const foreign = new Set(['up'])
/** Every value of these labels is exported from the start, so a value that is missing is a mistake. */
const closed = new Set(['state', 'lane', 'pool', 'result', 'who', 'kind', 'secret', 'problem'])
/** Series whose values appear only later or after a failure, such as a refusal or a failed job. */
const open = new Set(['billfold_operations_total', 'billfold_job_runs_total'])

function mistakesIn(expr: string): string[] {
  const mistakes: string[] = []
  for (const [, name, matchers = ''] of expr.matchAll(/\b(billfold_\w+|up)\b(?:\{([^}]*)\})?/g)) {
    if (foreign.has(name!)) continue
    const labels = known.get(name!)
    if (!labels) mistakes.push(`${name} is no metric`)
    for (const [, label, operator, value] of matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)) {
      if (!labels?.has(label!)) mistakes.push(`${name} has no label ${label}`)
      else if (closed.has(label!) && !open.has(name!)) {
        const isPattern = operator!.includes('~')
        for (const each of isPattern ? value!.split('|') : [value!])
          if (!labels.get(label!)!.has(each)) mistakes.push(`${name} has no ${label} ${each}`)
      }
    }
  }
  for (const [, list] of expr.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list!.split(',').map((each) => each.trim()))
      if (!['le', 'instance'].includes(label) && ![...known.values()].some((labels) => labels.has(label)))
        mistakes.push(`no label ${label}`)
  return mistakes
}

test('every alert uses existing metrics, by labels that they have', () => {
  expect(rules.length).toBeGreaterThan(20)
  expect(rules.flatMap(({ alert, expr }) => mistakesIn(expr).map((mistake) => `${alert}: ${mistake}`))).toEqual([])
})

test('every alert has a unique name, a severity, a sentence, and a runbook that exists', async () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  const anchors = anchorsOf(await readText('docs/operations/runbooks.md'))
  for (const { alert, labels, annotations } of rules) {
    expect([alert, ['page', 'ticket'].includes(labels['severity']!)]).toEqual([alert, true])
    expect([alert, annotations.summary.endsWith('.')]).toEqual([alert, true])
    const [file, anchor] = annotations.runbook.split('#')
    expect([alert, file, anchors.includes(anchor!)]).toEqual([alert, 'docs/operations/runbooks.md', true])
  }
})

test('counters that alerts use exist from the start, so that the first failure is an increase', async () => {
  const fresh = await (await fetch(`${process.url}/metrics`)).text()
  for (const series of [
    'billfold_refused_calls_total{route="/api/server/wallet/credit",status="401"}',
    'billfold_job_runs_total{name="cleanup",result="failed"}',
    'billfold_http_faults_total{status="500"}',
    'billfold_http_faults_total{status="503"}',
    'billfold_browser_calls_total{secret="real"}',
    'billfold_disputes_total{state="open"}',
    'billfold_events_total{class="movement"}',
    'billfold_webhook_attempts_total{result="no-answer"}',
  ])
    expect(fresh).toContain(`${series} 0\n`)
})

test('no rule groups by a label that Prometheus gives to the target', () => {
  for (const { alert, expr } of rules) expect([alert, /\bby \([^)]*\bjob\b/.test(expr)]).toEqual([alert, false])
})

type RuleTest = { readonly alert_rule_test: { readonly alertname: string; readonly exp_alerts: unknown[] }[] }

test('each alert has a test in which it is quiet and one in which two replicas raise it once', async () => {
  const { tests } = Bun.YAML.parse(await readText('deploy/alerts-test.yaml')) as { tests: RuleTest[] }
  const cases = tests.flatMap((each) => each.alert_rule_test)
  for (const { alert } of rules) {
    const counts = cases.filter(({ alertname }) => alertname === alert).map((each) => each.exp_alerts.length)
    expect([alert, counts]).toEqual([alert, [0, 1]])
  }
})

test.skipIf(promtool === undefined)(
  `promtool runs the tests of the alerts${promtool ? '' : ' (it cannot be had here)'}`,
  async () => {
    const child = Bun.spawn([promtool!, 'test', 'rules', 'alerts-test.yaml'], {
      cwd: new URL('deploy/', root).pathname,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text())
    expect([await child.exited, said]).toEqual([0, expect.stringContaining('SUCCESS') as string])
  },
)

test('every panel of the dashboard uses existing metrics, and every metric is on it', async () => {
  type Panel = { title: string; type: string; targets?: { expr: string }[] }
  const { panels } = JSON.parse(await readText('deploy/dashboard.json')) as { panels: Panel[] }
  const asked = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))
  expect(asked.flatMap(({ title, expr }) => mistakesIn(expr).map((mistake) => `${title}: ${mistake}`))).toEqual([])
  const all = [...asked, ...rules].map(({ expr }) => expr).join(' ')
  const families = [...known.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
  expect([...new Set(families)].filter((name) => !all.includes(name))).toEqual([])
})
