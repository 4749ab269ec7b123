/**
 * `npm test`: everything. `npm run check`: types, lint and format alone. Names of files or folders after it run those
 * tests alone. Test files run side by side, because each has its own databases and waits a lot; those that need a
 * browser share one Chromium. At the end stands which files took longest, for whoever wants it to stay short.
 */
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, freemem } from 'node:os'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import { shareChromium } from './chromium.ts'
import { reasonToLeaveOut } from './not-on-cluster.ts'
import { findCluster, releaseTestServer, testDatabase } from './postgres.ts'

const root = new URL('..', import.meta.url).pathname
const [mode, ...rest] = process.argv.slice(2)
const bin = (name: string) => `${root}node_modules/.bin/${name}`

type Run = { readonly isGood: boolean; readonly output: string; readonly cpuSeconds: number }

/** The processes under way, each the head of a group with all that it starts. */
const heads = new Set<number>()

/** What a test that failed leaves behind, such as a service whose database is gone, would keep a processor busy to the end of the run. */
function endGroup(head: number): void {
  heads.delete(head)
  try {
    process.kill(-head, 'SIGKILL')
  } catch {
    // Nothing is left of it.
  }
}

for (const [signal, exitCode] of Object.entries({ SIGINT: 130, SIGTERM: 143 }))
  process.on(signal, () => {
    heads.forEach(endGroup)
    process.exit(exitCode)
  })

async function run(command: string[], environment: Record<string, string> = {}): Promise<Run> {
  const child = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
    stdin: 'ignore',
    detached: true,
  })
  heads.add(child.pid)
  const ended = child.exited.finally(() => endGroup(child.pid))
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const isGood = (await ended) === 0
  return { isGood, output: out + err, cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6 }
}

async function check(): Promise<boolean> {
  const checks = {
    types: [bin('tsc'), '-p', '.'],
    lint: [bin('oxlint'), '--type-aware', '--deny-warnings'],
    format: [bin('oxfmt'), '--check', '.'],
    unused: [bin('knip')],
  }
  let isGood = true
  for (const [name, command] of Object.entries(checks)) {
    const result = await run(command)
    console.log(`${result.isGood ? 'ok  ' : 'FAIL'} ${name}`)
    if (!result.isGood) console.log(result.output)
    isGood &&= result.isGood
  }
  return isGood
}

/** The files whose imports lead to Playwright. */
const leadsToBrowser = new Map<string, boolean>()

function needsBrowser(path: string): boolean {
  const known = leadsToBrowser.get(path)
  if (known !== undefined) return known
  // Until it is known, so that files that import each other come to an end.
  leadsToBrowser.set(path, false)
  const text = existsSync(root + path) ? readFileSync(root + path, 'utf8') : ''
  const imported = [...text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)].map(([, to]) => join(dirname(path), to!))
  const needs = /from '(@playwright\/test|playwright)/.test(text) || imported.some(needsBrowser)
  leadsToBrowser.set(path, needs)
  return needs
}

/**
 * As they were last seen: first those that wait most, beside which the browsers keep the processors busy; then the long ones, so that no
 * process is left alone at the end.
 */
const slow = [
  'test/standby',
  'test/network',
  'test/other-postgres',
  'test/widget-processes',
  'test/servers',
  'test/drain',
  'test/topup/two-processes',
  'test/faults',
  'test/half-a-request',
  'test/restart',
  'test/metrics-port',
  'src/store/embedded/crash',
  'test/topup/exactly-once',
  'test/start',
  'test/npm-start',
  'src/store/embedded/embedded',
  'src/cli.test',
  'conform',
  'src/store/embedded',
  'test/secrets-at-rest',
  'test/plain-http',
  'src/cli/admin',
  'test/deploy/nginx',
  'test/deploy/restore-drill',
  'src/cli/doctor',
  'test/deploy/alerts',
  'test/deploy/deploy',
  'test/two-processes',
  'test/openapi-fuzz',
  'test/every-route',
  'test/logins-and-debits',
  'test/pgbouncer',
  'test/example/orders',
  'test/property',
  'test/readme',
  'test/regular-expressions',
  'test/postgres',
  'sdk/package',
  'test/admin/outages',
  'test/browser/states',
  'test/admin/looks',
  'test/topup/browser',
  'test/topup/windows',
  'test/topup/shop',
  'test/example/shop',
  'test/example/guide',
  'sdk/served',
  'test/topup',
  'test/browser',
  'test/admin',
  'src/store',
]
const weight = (path: string) => slow.findIndex((prefix) => path.startsWith(prefix)) + 1 || 99

/**
 * How many files run at once: a few in any case, and one more each second in which the processors had little to do, for many
 * tests wait for clocks and disks. A browser keeps a core busy, so never more than two files at once have one, and three when no other is left.
 */
const fewest = availableParallelism() + 1
const most = 2 * availableParallelism()
const mostBrowsers = (isAlone: boolean) => (isAlone ? 3 : 2)

/** The share of the last moment in which the processors were idle. */
function idleShareSince(before: ReturnType<typeof cpus>): number {
  const spent = cpus().map(({ times }, i) => {
    const was = before[i]!.times
    const all = Object.keys(times) as (keyof typeof times)[]
    return { idle: times.idle - was.idle, all: all.reduce((sum, kind) => sum + times[kind] - was[kind], 0) }
  })
  return sum(spent.map(({ idle }) => idle)) / Math.max(1, sum(spent.map(({ all }) => all)))
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

/**
 * Databases and browser profiles are made in memory where there is plenty of it: to make and drop them by the hundred is a third of what
 * the database does for the tests. What a process leaves that is killed is the same there. The shared server's folder, some 150 MB, stays for the next run.
 */
function useMemoryForFiles(): void {
  const folder = '/dev/shm'
  if (process.env['TMPDIR'] || !existsSync(folder)) return
  // Some tests run programs that they have made.
  if (/ \/dev\/shm \S+ \S*noexec/.test(readFileSync('/proc/mounts', 'utf8'))) return
  const { bavail, bsize } = statfsSync(folder)
  if (Math.min(bavail * bsize, freemem()) > 8 * 2 ** 30) process.env['TMPDIR'] = folder
}

/** Processes that live for seconds: what the last of the runtime's compilers costs does not come back. */
const forShortLives = { BUN_JSC_useFTLJIT: '0' }

/** Files that run in one process: starting one, with all it imports, costs a second of processor time. */
type Job = readonly string[]

/** Those that take long are named one by one above, and have a process of their own, so that they run side by side. */
const isLong = (path: string) => weight(path) <= weight('sdk/served')

/** The quick ones share a process; fewer of those with a browser, which take some twenty seconds each. */
function jobsOf(files: readonly string[]): Job[] {
  const quick = files.filter((path) => !isLong(path))
  return [
    ...files.filter(isLong).map((path) => [path]),
    ...inGroups(quick.filter(needsBrowser), 4),
    ...inGroups(
      quick.filter((path) => !needsBrowser(path)),
      12,
    ),
  ]
}

function inGroups(files: readonly string[], size: number): Job[] {
  return Array.from({ length: Math.ceil(files.length / size) }, (_, i) => files.slice(i * size, (i + 1) * size))
}

type Ran = { readonly name: string; readonly passed: number; readonly failed: number; readonly seconds: number }

/** The names of what failed first, so that they stand in any part of a long report; then all but the lines of what passed. */
function whatFailed(output: string): string {
  const lines = output.split('\n').filter((line) => !/^\((pass|skip)\) /.test(line))
  return [...new Set(lines.filter((line) => line.startsWith('(fail) '))), ...lines].join('\n')
}

async function runJob(job: Job, variables: Record<string, string>): Promise<Ran & { cpuSeconds: number }> {
  const startedAt = performance.now()
  const paths = job.map((file) => `./${file}`)
  const { isGood, output, cpuSeconds } = await run([process.execPath, 'test', '--timeout', '180000', ...paths], {
    NODE_ENV: 'test',
    ...forShortLives,
    ...variables,
  })
  const passed = Number(/^\s*(\d+) pass$/m.exec(output)?.[1] ?? 0)
  const failed = Number(/^\s*(\d+) fail$/m.exec(output)?.[1] ?? 0)
  const seconds = (performance.now() - startedAt) / 1000
  const name = job.length > 1 ? `${job[0]} and the ${job.length - 1} after it` : job[0]!
  console.log(
    `${isGood ? 'ok  ' : 'FAIL'} ${job.join('\n     ')} (${passed} in ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time)`,
  )
  if (!isGood) console.log(whatFailed(output))
  else for (const [, name] of output.matchAll(/^\(skip\) (.*)$/gm)) console.log(`     left out: ${name}`)
  return { name, passed, failed: isGood ? 0 : Math.max(1, failed), seconds, cpuSeconds }
}

async function test(only: string[]): Promise<boolean> {
  useMemoryForFiles()
  // Held to the end, so that the shared server and its template are made once and gone afterwards.
  await (await testDatabase()).drop()
  const found = await Array.fromAsync(
    new Glob('{src,conform,sandbox,sdk,example,bench,test}/**/*.test.{ts,tsx}').scan(root),
  )
  const asked = found
    .filter((path) => !path.includes('node_modules') && (only.length === 0 || only.some((name) => path.includes(name))))
    .sort((a, b) => weight(a) - weight(b) || a.localeCompare(b))
  const leftOut = (await findCluster()) ? asked.filter((path) => reasonToLeaveOut(path)) : []
  for (const path of leftOut) console.log(`     left out on a cluster: ${path}: ${reasonToLeaveOut(path)}`)
  const files = asked.filter((path) => !leftOut.includes(path))
  const jobs = jobsOf(files)
  const hasBrowser = (job: Job) => job.some(needsBrowser)
  const browserJobs = jobs.filter(hasBrowser)
  const otherJobs = jobs.filter((job) => !hasBrowser(job))
  const chromium = browserJobs.length > 0 ? await shareChromium() : undefined
  const ran: Awaited<ReturnType<typeof runJob>>[] = []
  const running = new Map<Job, Promise<unknown>>()
  const next = (): Job | undefined => {
    const browsers = [...running.keys()].filter(hasBrowser).length
    return (browsers < mostBrowsers(otherJobs.length === 0) ? browserJobs.shift() : undefined) ?? otherJobs.shift()
  }
  let wasBusyAt = cpus()
  let lookedAt = performance.now()
  const hasRoom = () => {
    if (running.size < fewest) return true
    if (running.size >= most || performance.now() - lookedAt < 1_000) return false
    const isIdle = idleShareSince(wasBusyAt) > 0.2
    wasBusyAt = cpus()
    lookedAt = performance.now()
    return isIdle
  }
  for (let job: Job | undefined; ;) {
    while (hasRoom() && (job = next()) !== undefined) {
      const begun = job
      const ended = runJob(begun, chromium?.variables ?? {}).then((result) => {
        ran.push(result)
        running.delete(begun)
      })
      running.set(begun, ended)
    }
    if (running.size === 0) break
    await Promise.race([...running.values(), Bun.sleep(500)])
  }
  await chromium?.close()
  await releaseTestServer()
  const failed = sum(ran.map((each) => each.failed))
  const passed = sum(ran.map((each) => each.passed))
  console.log('The slowest files, and the processor time of their processes (browser and shared database apart):')
  for (const { name, seconds, cpuSeconds } of ran.toSorted((a, b) => b.seconds - a.seconds).slice(0, 12))
    console.log(`${seconds.toFixed(0).padStart(5)} s ${cpuSeconds.toFixed(0).padStart(4)} s  ${name}`)
  console.log(`${files.length} files, ${sum(ran.map((each) => each.cpuSeconds)).toFixed(0)} s of processor time`)
  console.log(`${passed} passed, ${failed} failed`)
  return failed === 0 && passed > 0
}

/** What the processors did so far, in seconds. Linux alone tells what other machines on the same hardware took of them. */
function processorTimes() {
  const [first = ''] = (existsSync('/proc/stat') ? readFileSync('/proc/stat', 'utf8') : '').split('\n')
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, stolen = 0] = first
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) / 100)
  return { used: user + nice + system + irq + softirq, idle: idle + iowait, stolen }
}

/** Whether a run was long because it had much to do, waited, or did not get the processors. */
function describeSince(before: ReturnType<typeof processorTimes>): string {
  const now = processorTimes()
  if (now.used === 0) return ''
  const [used, idle, stolen] = (['used', 'idle', 'stolen'] as const).map((kind) => Math.round(now[kind] - before[kind]))
  return `, in which ${availableParallelism()} processors worked for ${used} s, idled for ${idle} and were taken by others for ${stolen}`
}

const startedAt = performance.now()
const timesBefore = processorTimes()
const only = mode === undefined || mode === 'check' ? rest : [mode, ...rest]
// Beside each other: while the checks compute, many tests wait.
const [isChecked, isTested] = await Promise.all([only.length > 0 || check(), mode === 'check' || test(only)])
const isGood = isChecked && isTested
console.log(
  `${isGood ? 'All is well' : 'Something failed'} after ${Math.round((performance.now() - startedAt) / 1000)} s${describeSince(timesBefore)}.`,
)
process.exit(isGood ? 0 : 1)
