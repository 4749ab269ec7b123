/** The names of failures, from real processes of the test runner. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listFailures } from './failures.ts'

const files: Record<string, string> = {
  good: `test('one', () => {})`,
  bad: `describe('two', () => { test('right', () => {}); test('wrong', () => expect(1).toBe(2)); test.skip('left', () => {}) })`,
  killed: `test('early', () => {}); test('deadly', () => process.kill(process.pid, 'SIGKILL'))`,
  ended: `test('early', () => {}); test('last', () => process.exit(7))`,
  atImport: `throw new Error('no test is made')`,
  hook: `beforeAll(() => { throw new Error('no rig') }); test('never', () => {})`,
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-failures-'))
  for (const [name, text] of Object.entries(files))
    await writeFile(
      join(folder, `${name}.test.ts`),
      `import { beforeAll, describe, expect, test } from 'bun:test'\n${text}\n`,
    )
})
afterAll(async () => await rm(folder, { recursive: true }))

async function failuresOf(...names: string[]): Promise<string[]> {
  const paths = names.map((name) => `./${name}.test.ts`)
  const child = Bun.spawn([process.execPath, 'test', ...paths], { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  await child.exited
  return listFailures({ output: out + err, exitCode: child.exitCode, signal: child.signalCode })
}

test.each([
  [['good'], []],
  [
    ['good', 'bad', 'hook'],
    ['two > wrong (bad.test.ts)', 'a hook of the tests (hook.test.ts)'],
  ],
  [['atImport'], ['an error between the tests (atImport.test.ts)']],
  [
    ['bad', 'killed'],
    [
      'two > wrong (bad.test.ts)',
      'the process ended with signal SIGKILL before its report; the last test that ended is early (killed.test.ts)',
    ],
  ],
  [
    ['ended'],
    ['the process ended with exit code 7 before its report; the last test that ended is early (ended.test.ts)'],
  ],
])('of %j: %j', async (names, expected) => {
  expect(await failuresOf(...names)).toEqual(expected)
})

test('the list that the runner adds after many tests repeats no failure', () => {
  const output = `a.test.ts:\n(fail) one [1.50ms]\n\n1 tests failed:\n(fail) one [1.50ms]\n\n 0 pass\n 1 fail\nRan 1 test across 1 file. [2.00ms]\n`
  expect(listFailures({ output, exitCode: 1, signal: null })).toEqual(['one (a.test.ts)'])
})
