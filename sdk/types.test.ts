/** `types` holds the generated type declarations, because the service serves them where no compiler is installed. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

setDefaultTimeout(180_000)

const folder = import.meta.dir

test('the committed types are those of the sources', async () => {
  const made = await mkdtemp(join(tmpdir(), 'billfold-types-'))
  const compiler = join(folder, '../node_modules/.bin/tsc')
  const run = Bun.spawn([compiler, '-p', folder, '--outDir', made], { stdout: 'inherit', stderr: 'inherit' })
  expect(await run.exited).toBe(0)
  const kept = join(folder, 'types')
  // Rewritten on demand, so that a review shows how a change affects users of the SDK.
  if (process.env['UPDATE']) {
    await rm(kept, { recursive: true, force: true })
    await cp(made, kept, { recursive: true })
  }
  expect(await textsIn(kept)).toEqual(await textsIn(made))
  await rm(made, { recursive: true })
})

async function textsIn(folder: string): Promise<Record<string, string>> {
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.d.ts')).sort()
  const entries = paths.map(async (path) => [path, await readFile(join(folder, path), 'utf8')] as const)
  return Object.fromEntries(await Promise.all(entries))
}
