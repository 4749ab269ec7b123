/**
 * `npm test`: checks and tests. `npm test -- all`: the same with the long forms of some tests. `npm run check`: types, lint,
 * format and unused code alone. Names of files or folders select tests. Test files run side by side, because each has its own
 * databases and waits a lot; those that need a browser share one Chromium. The report ends with the slowest files and the names of the tests that failed.
 */
import { existsSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import { shareChromium } from './chromium.ts'
import { listFailures, type Ended } from './failures.ts'
import { jobsOf, keepSeconds, needsBrowser, secondsIn, type Job } from './jobs.ts'
import { reasonToLeaveOut } from './not-on-cluster.ts'
import { findCluster, releaseTestServer, testDatabase } from './postgres.ts'

const root = new URL('..', import.meta.url).pathname
const [mode, ...rest] = process.argv.slice(2)
const bin = (name: string) => `${root}node_modules/.bin/${name}`

type Run = Ended & { readonly isGood: boolean; readonly cpuSeconds: number }

/** The running processes, each the head of a group with every process that it starts. */
const heads = new Set<number>()

/** A test that failed may leave a service whose database is gone, which would keep a processor busy to the end of the run. */
function endGroup(head: number): void {
  heads.delete(head)
  try {
    process.kill(-head, 'SIGKILL')
  } catch {
    // The group has ended already.
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
  const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6
  return { isGood, output: out + err, exitCode: child.exitCode, signal: child.signalCode, cpuSeconds }
}

/** The compiler and the linter are written in Go: they collect garbage seldom, because they end soon. */
const forShortPrograms = { GOGC: '400' }

/** The names of the checks that failed. */
async function check(): Promise<string[]> {
  const checks = {
    // One checker: each of several would work out the types that the files share.
    types: [bin('tsc'), '-p', '.', '--checkers', '1'],
    lint: [bin('oxlint'), '--type-aware', '--deny-warnings'],
    format: [bin('oxfmt'), '--check', '.'],
    unused: [bin('knip')],
  }
  const failures: string[] = []
  for (const [name, command] of Object.entries(checks)) {
    const result = await run(command, forShortPrograms)
    console.log(`${result.isGood ? 'ok  ' : 'FAIL'} ${name}`)
    if (!result.isGood) console.log(result.output)
    if (!result.isGood) failures.push(name)
  }
  return failures
}

/**
 * How many files run at once: at least a few, and one more each half second in which the processors were idle, because many tests wait
 * for clocks and disks. A browser keeps a core busy, so at most two files at once use one, and three when no other file is left.
 */
const fewest = availableParallelism() + 1
const most = 3 * availableParallelism()
const mostBrowsers = (isAlone: boolean) => (isAlone ? 3 : 2)

/** Copies, because the runtime reads the times of `cpus()` only when they are used. */
const timesOfProcessors = () => cpus().map(({ times }) => ({ ...times }))

/** The share of the time since then in which the processors were idle. */
function idleShareSince(before: ReturnType<typeof timesOfProcessors>): number {
  const spent = timesOfProcessors().map((times, i) => {
    const was = before[i]!
    const all = Object.keys(times) as (keyof typeof times)[]
    return { idle: times.idle - was.idle, all: all.reduce((sum, kind) => sum + times[kind] - was[kind], 0) }
  })
  return sum(spent.map(({ idle }) => idle)) / Math.max(1, sum(spent.map(({ all }) => all)))
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

/**
 * Databases and browser profiles are made in memory where there is plenty of it: creating and dropping them by the hundred is a third of
 * the database's work for the tests. The shared server's folder, some 150 MB, stays for the next run.
 */
function useMemoryForFiles(): void {
  const folder = '/dev/shm'
  if (process.env['TMPDIR'] || !existsSync(folder)) return
  // Some tests run programs that they write themselves.
  if (/ \/dev\/shm \S+ \S*noexec/.test(readFileSync('/proc/mounts', 'utf8'))) return
  const { bavail, bsize } = statfsSync(folder)
  if (Math.min(bavail * bsize, freemem()) > 8 * 2 ** 30) process.env['TMPDIR'] = folder
}

/** These processes live for seconds, so the runtime's last compiler costs more than it saves. */
const forShortLives = { BUN_JSC_useFTLJIT: '0' }

type Ran = {
  readonly name: string
  readonly passed: number
  readonly failures: readonly string[]
  readonly seconds: number
}

const failureLines = (failures: readonly string[]) => failures.map((name) => `FAIL ${name}`).join('\n')

/** Every line but those of tests that passed. */
const whatFailed = (output: string) =>
  output
    .split('\n')
    .filter((line) => !/^\((pass|skip)\) /.test(line))
    .join('\n')

async function runJob(job: Job, variables: Record<string, string>): Promise<Ran & { cpuSeconds: number }> {
  const startedAt = performance.now()
  const paths = job.map((file) => `./${file}`)
  const report = join(tmpdir(), `billfold-report-${crypto.randomUUID()}.xml`)
  const reporting = ['--reporter=junit', `--reporter-outfile=${report}`]
  const command = [process.execPath, 'test', '--timeout', '180000', ...reporting, ...paths]
  const ended = await run(command, { NODE_ENV: 'test', ...forShortLives, ...variables })
  const { isGood, output, cpuSeconds } = ended
  if (existsSync(report)) keepSeconds(secondsIn(readFileSync(report, 'utf8')))
  rmSync(report, { force: true })
  const passed = Number(/^\s*(\d+) pass$/m.exec(output)?.[1] ?? 0)
  const failures = isGood ? [] : listFailures(ended)
  const seconds = (performance.now() - startedAt) / 1000
  const name = job.length > 1 ? `${job[0]} and the ${job.length - 1} after it` : job[0]!
  // Before the files, of which there may be forty: a shortened report has the names.
  if (!isGood) console.log(failureLines(failures))
  console.log(
    `${isGood ? 'ok  ' : 'FAIL'} ${job.join('\n     ')} (${passed} in ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time)`,
  )
  if (!isGood) console.log(whatFailed(output))
  else for (const [, name] of output.matchAll(/^\(skip\) (.*)$/gm)) console.log(`     left out: ${name}`)
  return { name, passed, failures, seconds, cpuSeconds }
}

const hasBrowser = (job: Job) => job.some(needsBrowser)

/** The names of the tests that failed. */
async function test(only: string[]): Promise<string[]> {
  useMemoryForFiles()
  // Keeps the shared server running to the end, so that its template is made once.
  await (await testDatabase()).drop()
  const found = await Array.fromAsync(
    new Glob('{src,conform,sandbox,sdk,example,bench,test}/**/*.test.{ts,tsx}').scan(root),
  )
  const asked = found.filter(
    (path) => !path.includes('node_modules') && (only.length === 0 || only.some((name) => path.includes(name))),
  )
  const leftOut = (await findCluster()) ? asked.filter((path) => reasonToLeaveOut(path)) : []
  for (const path of leftOut) console.log(`     left out on a cluster: ${path}: ${reasonToLeaveOut(path)}`)
  const files = asked.filter((path) => !leftOut.includes(path))
  const jobs = jobsOf(files)
  const browserJobs = jobs.filter(hasBrowser)
  const otherJobs = jobs.filter((job) => !hasBrowser(job))
  const chromium = browserJobs.length > 0 ? await shareChromium() : undefined
  const ran: Awaited<ReturnType<typeof runJob>>[] = []
  const running = new Map<Job, Promise<unknown>>()
  const next = (): Job | undefined => {
    const browsers = [...running.keys()].filter(hasBrowser).length
    return (browsers < mostBrowsers(otherJobs.length === 0) ? browserJobs.shift() : undefined) ?? otherJobs.shift()
  }
  let lastTimes = timesOfProcessors()
  let checkedAt = performance.now()
  const hasRoom = () => {
    if (running.size < fewest) return true
    if (running.size >= most || performance.now() - checkedAt < 500) return false
    const isIdle = idleShareSince(lastTimes) > 0.2
    lastTimes = timesOfProcessors()
    checkedAt = performance.now()
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
  const failures = ran.flatMap((each) => each.failures)
  const passed = sum(ran.map((each) => each.passed))
  console.log('The slowest files, and the processor time of their processes (browser and shared database apart):')
  for (const { name, seconds, cpuSeconds } of ran.toSorted((a, b) => b.seconds - a.seconds).slice(0, 12))
    console.log(`${seconds.toFixed(0).padStart(5)} s ${cpuSeconds.toFixed(0).padStart(4)} s  ${name}`)
  console.log(`${files.length} files, ${sum(ran.map((each) => each.cpuSeconds)).toFixed(0)} s of processor time`)
  console.log(`${passed} passed, ${failures.length} failed`)
  return failures.length === 0 && passed === 0 ? ['no test was found'] : failures
}

/** What the processors did so far, in seconds. Only Linux reports what other machines on the same hardware took of them. */
function processorTimes() {
  const [first = ''] = (existsSync('/proc/stat') ? readFileSync('/proc/stat', 'utf8') : '').split('\n')
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, stolen = 0] = first
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) / 100)
  return { used: user + nice + system + irq + softirq, idle: idle + iowait, stolen }
}

/** Shows whether a run was long because it had much to do, waited, or did not get the processors. */
function describeSince(before: ReturnType<typeof processorTimes>): string {
  const now = processorTimes()
  if (now.used === 0) return ''
  const [used, idle, stolen] = (['used', 'idle', 'stolen'] as const).map((kind) => Math.round(now[kind] - before[kind]))
  return `, in which ${availableParallelism()} processors worked for ${used} s, idled for ${idle} and were taken by others for ${stolen}`
}

const startedAt = performance.now()
const timesBefore = processorTimes()
const names = mode === undefined || mode === 'check' ? rest : [mode, ...rest]
const only = names.filter((name) => name !== 'all')
if (names.length > only.length) process.env['TEST_ALL'] = '1'
// At the same time: while the checks compute, many tests wait.
const failures = (await Promise.all([only.length > 0 ? [] : check(), mode === 'check' ? [] : test(only)])).flat()
const isGood = failures.length === 0
console.log(
  `${isGood ? 'All is well' : 'Something failed'} after ${Math.round((performance.now() - startedAt) / 1000)} s${describeSince(timesBefore)}.`,
)
if (!isGood) console.log(failureLines(failures))
process.exit(isGood ? 0 : 1)
