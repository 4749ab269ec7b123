/** The commands of docs/operations/archive.md are run in their order, and every command about periods in the other guides is one of them. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openArchiveBench } from './archived-period.ts'
import { callCommand } from './command.ts'
import { blocks, box } from './deploy/runbooks.ts'
import { testDatabase } from './postgres.ts'
import { newUser } from './service.ts'
import { ensureProgram } from './system-package.ts'

setDefaultTimeout(180_000)

const docs = new URL('../docs/', import.meta.url).pathname

const bench = await openArchiveBench()
const clean = await testDatabase()
afterAll(async () => {
  await clean.drop()
  await bench.stop()
})

const names = ['close-period', 'write-archive', 'drop-archive', 'export-archived', 'restore-archive']
const lines = names.flatMap((name) => box(name))
const [prefix, folder, copy] = ['npx billfold ', '/mnt/archive', 'copy.billfold']
const onClean = 'DATABASE_URL="$CLEAN" '

async function run(line: string): Promise<string> {
  const isClean = line.startsWith(onClean)
  const here = line
    .slice(isClean ? onClean.length : 0)
    .replaceAll(folder, bench.folder)
    .replaceAll(copy, join(bench.folder, copy))
  if (here.startsWith(prefix)) {
    const environment = isClean ? { DATABASE_URL: clean.url } : bench.environment
    const { exitCode, stdout, stderr } = await callCommand(here.slice(prefix.length).split(' '), environment)
    expect([line, exitCode, stderr]).toEqual([line, 0, ''])
    return stdout
  }
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', here], { stdout: 'pipe', stderr: 'pipe' })
  const [said, complained] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect([line, await child.exited, complained]).toEqual([line, 0, ''])
  return said
}

test('the page has these blocks of commands, in this order', () => {
  expect(blocks.filter(({ page }) => page === 'archive.md').map(({ name }) => name)).toEqual(names)
})

test('every command of the page does what the page says', async () => {
  await ensureProgram('zstd', 'zstd')
  const { client, service, credentials, query } = bench
  const user = await newUser(service, credentials)
  await client.credit(user.serviceUserId, 90, 'first')
  await client.debit(user.serviceUserId, 12.5, 'second')
  const said = new Map<string, string>()
  for (const line of lines) {
    said.set(line, await run(line))
    // EVENTS_DAYS later.
    if (line.endsWith('period close')) await bench.settle()
    // What the table of refusals names.
    if (line.includes('archive write'))
      expect(await callCommand(['hold', 'list'], bench.environment)).toMatchObject({ exitCode: 0 })
    if (line.includes('archive drop'))
      expect(await query('select closing_id from archives')).toEqual([{ closing_id: 1 }])
  }
  expect(await query('select closing_id from archives')).toEqual([])
  const copied = `${onClean}${prefix}`
  expect(said.get(`${copied}import ${copy}`)).toContain('Period 1 is archived: its entries are in files')
  expect(said.get(`${copied}period list`)).toContain('archived, in files')
  const verified = (command: string) => said.get(command)!.replace(/; [\d.]+ s, .*/, '')
  expect(verified(`${copied}verify`)).toBe(verified(`${prefix}verify`))
  expect(said.get(`sha256sum ${folder}/period-1.json`)!.slice(0, 64)).toBe(
    /[0-9a-f]{64}/.exec(said.get(`${prefix}archive write 1 --to ${folder}`)!)![0],
  )
  expect(said.get(`zstd -dc ${folder}/period-1.entries.jsonl.zst | head -n 2`)).toMatch(
    /^\["[0-9a-f-]{36}",1,0\]\n\[9000,\d+,"app:\w+","\w+","first"/,
  )
})

test('the other guides name no other command about periods', async () => {
  const files = (await readdir(docs, { recursive: true })).filter((name) => name.endsWith('.md'))
  const named = await Promise.all(
    files.map(async (name) => {
      const text = await readFile(join(docs, name), 'utf8')
      return [...text.matchAll(/`(npx billfold (?:period|archive) [^`]+)`/g)].map(([, command]) => command!)
    }),
  )
  const commands = new Set(named.flat())
  expect(commands.size).toBeGreaterThan(4)
  expect([...commands].filter((command) => !lines.includes(command))).toEqual(['npx billfold period index'])
})
