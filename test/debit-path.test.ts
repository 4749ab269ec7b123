/** ARCHITECTURE.md lists the files of `src` whose code one debit executes: measured by coverage. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

setDefaultTimeout(120_000)

const root = new URL('..', import.meta.url).pathname

/** How often each line of each file of `src` ran in a process that posts this many debits. */
async function measure(debits: number): Promise<Map<string, Map<string, number>>> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-coverage-'))
  const reporting = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder}`]
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '180000', ...reporting, './test/debits-counted.ts'], {
    cwd: root,
    env: { ...process.env, DEBITS: String(debits) },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [code, errors] = await Promise.all([child.exited, new Response(child.stderr).text()])
  expect([code, code === 0 ? '' : errors]).toEqual([0, ''])
  const report = await readFile(join(folder, 'lcov.info'), 'utf8')
  await rm(folder, { recursive: true })
  return new Map(
    [...report.matchAll(/^SF:(src\/.*)$([\s\S]*?)^end_of_record$/gm)].map(([, file, lines]) => [
      file!,
      new Map([...lines!.matchAll(/^DA:(\d+),(\d+)/gm)].map(([, line, count]) => [line!, Number(count)])),
    ]),
  )
}

/** A file is on the path of a debit if one of its lines runs once more for each additional debit. */
async function findPath(): Promise<string[]> {
  const [few, many] = [await measure(10), await measure(110)]
  const isOnPath = ([file, lines]: [string, Map<string, number>]) =>
    [...lines].some(([line, count]) => count - (few.get(file)?.get(line) ?? 0) >= 100)
  return [...many].filter(isOnPath).map(([file]) => file.replace(/^src\/|\.tsx?$/g, ''))
}

test('ARCHITECTURE.md names exactly the files whose code a debit executes', async () => {
  const text = await readFile(join(root, 'ARCHITECTURE.md'), 'utf8')
  const lists = [...text.matchAll(/^- These \*\*(decide|carry)\*\*:[^.]*\.([\s\S]*?)(?=^- |^$)/gm)]
  expect(lists.map(([, kind]) => kind)).toEqual(['decide', 'carry'])
  const named = lists.flatMap(([, , list]) => [...list!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!))
  expect(named.toSorted()).toEqual((await findPath()).toSorted())
})
