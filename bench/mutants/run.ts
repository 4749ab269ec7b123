/**
 * `npm run bench -- mutants [texts]`: breaks one guard at a time in a copy of the tree and runs the tests nearest to it, which
 * must fail. With texts, only the mutants whose area, file or change contains one of them.
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { guards } from './guards.ts'

/** A file with guards, changes of its text, and the tests nearest to them, one of which must fail. */
export type Guarded = {
  readonly area: string
  readonly file: string
  readonly tests: readonly string[]
  /** Text that occurs once in the file, and its replacement. */
  readonly mutants: readonly (readonly [find: string, replace: string])[]
}

type Mutant = { readonly guarded: Guarded; readonly find: string; readonly replace: string }
type Verdict = 'killed' | 'killed by time-out' | 'survived' | 'does not apply'
type Judged = Mutant & { readonly verdict: Verdict }

const root = join(import.meta.dir, '..', '..')
const wantedShare = 0.95
const timeoutMs = 240_000

export async function runMutants(texts: readonly string[]): Promise<boolean> {
  const mutants = guards
    .flatMap((guarded) => guarded.mutants.map(([find, replace]) => ({ guarded, find, replace })))
    .filter(
      ({ guarded, find }) =>
        texts.length === 0 || texts.some((text) => `${guarded.area} ${guarded.file} ${find}`.includes(text)),
    )
  const copies = await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, copyTree))
  try {
    // A test that fails without a mutation would kill every mutant.
    const broken = await shareOut(copies, testsOf(mutants), async (copy, test) =>
      (await runTests(copy, [test])) === 'passed' ? undefined : test,
    )
    for (const test of broken) if (test) console.log(`fails without a mutation: ${test}`)
    if (broken.some(Boolean)) return false
    const judged = await shareOut(copies, mutants, async (copy, mutant) => {
      const verdict = await judge(copy, mutant)
      console.log(
        `${verdict.padEnd(18)} ${mutant.guarded.file}: ${inOneLine(mutant.find)} -> ${inOneLine(mutant.replace)}`,
      )
      return { ...mutant, verdict }
    })
    console.log(`\n${tableOf(judged)}`)
    const killed = judged.filter(isKilled).length
    return killed >= wantedShare * judged.length && judged.every(({ verdict }) => verdict !== 'does not apply')
  } finally {
    await Promise.all(copies.map(removeCopy))
  }
}

function isKilled({ verdict }: Judged): boolean {
  return verdict.startsWith('killed')
}

async function judge(copy: string, { guarded, find, replace }: Mutant): Promise<Verdict> {
  const path = join(copy, guarded.file)
  const original = await readFile(path, 'utf8')
  if (original.split(find).length !== 2) return 'does not apply'
  await writeFile(
    path,
    original.replace(find, () => replace),
  )
  const result = await runTests(copy, guarded.tests)
  await writeFile(path, original)
  return result === 'passed' ? 'survived' : result === 'failed' ? 'killed' : 'killed by time-out'
}

async function runTests(copy: string, tests: readonly string[]): Promise<'passed' | 'failed' | 'too late'> {
  const paths = tests.map((test) => `./${test}`)
  const child = Bun.spawn([process.execPath, 'test', '--bail', '--timeout', '60000', ...paths], {
    cwd: copy,
    stdout: 'ignore',
    stderr: 'ignore',
  })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, timeoutMs)
  const code = await child.exited
  clearTimeout(timer)
  return code === 0 ? 'passed' : isLate ? 'too late' : 'failed'
}

/** Each copy works on one item at a time. */
async function shareOut<T, R>(
  copies: readonly string[],
  items: readonly T[],
  work: (copy: string, item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  await Promise.all(
    copies.map(async (copy) => {
      while (next < items.length) {
        const i = next++
        results[i] = await work(copy, items[i]!)
      }
    }),
  )
  return results
}

/** The tree as it is, uncommitted changes included; the packages are linked. */
async function copyTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'billfold-mutants-'))
  const listing = Bun.spawn(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  const files = (await new Response(listing.stdout).text()).split('\n').filter(Boolean)
  for (const file of files) await cp(join(root, file), join(copy, file)).catch(() => {})
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** Stops the database server that the tests of this copy started. */
async function removeCopy(copy: string): Promise<void> {
  const script = `const { testDatabase, releaseTestServer, testDataDir } = await import('./test/postgres.ts')
    await (await testDatabase()).drop()
    await releaseTestServer()
    console.log(testDataDir())`
  const child = Bun.spawn([process.execPath, '-e', script], { cwd: copy })
  const dataDir = (await new Response(child.stdout).text()).trim()
  await child.exited
  if (dataDir.startsWith(tmpdir())) await rm(dataDir, { recursive: true, force: true })
  await rm(copy, { recursive: true, force: true })
}

function testsOf(mutants: readonly Mutant[]): string[] {
  return [...new Set(mutants.flatMap(({ guarded }) => guarded.tests))]
}

/** As Markdown, for CONTRIBUTING.md. */
function tableOf(judged: readonly Judged[]): string {
  const rows = [...Map.groupBy(judged, ({ guarded }) => guarded.area), ['all', judged] as const].map(
    ([area, mutants]) => `| ${area} | ${mutants.length} | ${mutants.filter(isKilled).length} |`,
  )
  return ['| guards of | mutants | killed |', '| --- | --: | --: |', ...rows].join('\n')
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 90)
}
