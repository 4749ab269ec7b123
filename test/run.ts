/**
 * `npm test`: everything. `npm run check`: types, lint and format alone. Names of files or folders after it run those
 * tests alone. Test files run side by side, because each has its own databases and waits a lot; those that need a
 * browser share one Chromium.
 */
import { Glob } from 'bun'
import { shareChromium } from './chromium.ts'
import { releaseTestServer, testDatabase } from './postgres.ts'

const root = new URL('..', import.meta.url).pathname
const [mode, ...rest] = process.argv.slice(2)
const bin = (name: string) => `${root}node_modules/.bin/${name}`

type Run = { readonly isGood: boolean; readonly output: string }

async function run(command: string[], environment: Record<string, string> = {}): Promise<Run> {
  const child = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
    stdin: 'ignore',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { isGood: (await child.exited) === 0, output: out + err }
}

async function check(): Promise<boolean> {
  const checks = {
    types: [bin('tsc'), '-p', '.'],
    lint: [bin('oxlint'), '--type-aware', '--deny-warnings'],
    format: [bin('prettier'), '--check', '--log-level', 'warn', '.'],
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

const needsBrowser = (path: string) => /^(test\/(browser|admin|example|topup)|sdk)\//.test(path)

/** Longest first, as they were last seen, so that no process is left alone at the end. */
const slow = [
  'test/browser/states',
  'test/admin/looks',
  'test/topup/browser',
  'test/topup/shop',
  'test/example/shop',
  'test/example/guide',
  'sdk/served',
  'test/browser',
  'test/two-processes',
  'test/openapi-fuzz',
  'src/store/embedded',
  'test/faults',
  'test/widget-processes',
  'src/cli.test',
  'test/other-postgres',
  'src/store/copy',
  'src/api/widget-auth-safety',
]
const weight = (path: string) => slow.findIndex((prefix) => path.startsWith(prefix)) + 1 || 99

async function test(only: string[]): Promise<boolean> {
  // Held to the end, so that the shared server and its template are made once and gone afterwards.
  await (await testDatabase()).drop()
  const found = await Array.fromAsync(new Glob('{src,sdk,example,bench,test}/**/*.test.{ts,tsx}').scan(root))
  const files = found
    .filter((path) => !path.includes('node_modules') && (only.length === 0 || only.some((name) => path.includes(name))))
    .sort((a, b) => weight(a) - weight(b) || a.localeCompare(b))
  const browserFiles = files.filter(needsBrowser)
  const otherFiles = files.filter((path) => !needsBrowser(path))
  const chromium = browserFiles.length > 0 ? await shareChromium() : undefined
  const totals = { passed: 0, failed: 0, files: 0 }
  const worker = async (...queues: string[][]) => {
    const next = () => queues.find((queue) => queue.length > 0)?.shift()
    for (let file = next(); file !== undefined; file = next()) {
      const startedAt = performance.now()
      const { isGood, output } = await run([process.execPath, 'test', '--timeout', '60000', `./${file}`], {
        NODE_ENV: 'test',
        ...chromium?.variables,
      })
      const passed = Number(/^\s*(\d+) pass$/m.exec(output)?.[1] ?? 0)
      const failed = Number(/^\s*(\d+) fail$/m.exec(output)?.[1] ?? 0)
      totals.passed += passed
      totals.files++
      totals.failed += isGood ? 0 : Math.max(1, failed)
      console.log(
        `${isGood ? 'ok  ' : 'FAIL'} ${file} (${passed} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s)`,
      )
      if (!isGood) console.log(output)
      else for (const [, name] of output.matchAll(/^\(skip\) (.*)$/gm)) console.log(`     left out: ${name}`)
    }
  }
  // A browser keeps a core busy, the others wait for disks and clocks: never more than two at once need the browser.
  await Promise.all([worker(browserFiles, otherFiles), worker(otherFiles, browserFiles), worker(otherFiles)])
  await chromium?.close()
  await releaseTestServer()
  console.log(`${totals.files} files`)
  console.log(`${totals.passed} passed, ${totals.failed} failed`)
  return totals.failed === 0 && totals.passed > 0
}

const startedAt = performance.now()
const only = mode === undefined || mode === 'check' ? rest : [mode, ...rest]
const isChecked = only.length > 0 || (await check())
const isGood = mode === 'check' ? isChecked : (await test(only)) && isChecked
console.log(
  `${isGood ? 'All is well' : 'Something failed'} after ${Math.round((performance.now() - startedAt) / 1000)} s.`,
)
process.exit(isGood ? 0 : 1)
