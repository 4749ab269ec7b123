/**
 * Every command of docs/operations is run by a test, or its page says at the place that it is not, and why. Runs those that no other
 * test runs.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as Postgres } from 'pg'
import { parseConfig } from '../../src/config.ts'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { majors, run, startOtherServer } from '../other-server.ts'
import { testDatabase } from '../postgres.ts'
import { waitForWorkers, workersOf } from '../process.ts'
import { secretsKey } from '../service.ts'
import { makeDrillFolder } from './drill.ts'
import { blocks, box, pages } from './runbooks.ts'

setDefaultTimeout(180_000)

const root = new URL('../../', import.meta.url).pathname
const programs =
  'npx billfold|npm|docker|helm|kubectl|systemctl|pg_\\w+|psql|patroni|patronictl|kill|openssl|promtool|select|vacuum'
const withoutBlocks = (text: string) => text.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** Commands in sentences and tables: code that begins with a program and has an argument. */
const inSentences = pages.flatMap(({ name, text }) =>
  [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)]
    .map(([, code]) => code!.replaceAll(/^([A-Z_]+=\S* )+/g, ''))
    .filter((code) => new RegExp(`^(${programs}) [^…]+$`).test(code))
    .map((command) => ({ page: name, command })),
)

/** What a page says is not run: the code in a paragraph that begins so, each list of it with a reason in brackets. */
function notRunOn(page: string): string[] {
  const { text } = pages.find(({ name }) => name === page)!
  const paragraphs = withoutBlocks(text).split(/\n\n+/)
  return paragraphs
    .filter((paragraph) => paragraph.startsWith('Not run by the tests: '))
    .flatMap((paragraph) => paragraph.split(/;\s/))
    .flatMap((list) => {
      expect([page, list]).toEqual([page, expect.stringMatching(/\([^)]{10,}/)])
      return [...list.replace(/\([\s\S]*/, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code!.replaceAll(/\s+/g, ' '))
    })
}

const isExcused = (page: string, command: string) =>
  notRunOn(page).some((excused) => command === excused || [' ', '('].some((next) => command.startsWith(excused + next)))

const files = await Array.fromAsync(new Bun.Glob('{src,test}/**/*.test.ts').scan(root))
const tests = await Promise.all(
  files.filter((file) => !file.endsWith('operations.test.ts')).map((file) => readFile(join(root, file), 'utf8')),
)
const here = await readFile(import.meta.path, 'utf8')
const isInTests = (text: string) => [...tests, here].some((source) => source.includes(text))

/** As arguments in a test: 'app', 'deactivate'. */
const asArguments = (command: string) =>
  command
    .split(' ')
    .slice(command.startsWith('npx billfold ') ? 2 : 1)
    .filter((word) => !word.includes('$'))
    .map((word) => `'${word}'`)
    .join(', ')

/** Run by what a test starts. */
const runBy: Readonly<Record<string, string>> = {
  'npm ci --omit=dev': 'deploy/Dockerfile',
  'docker build -f deploy/Dockerfile -t registry.example/billfold:0.1.0 .': 'test/deploy/image.test.ts',
  'pg_ctl stop': 'test/other-server.ts',
}

test('every block of commands has a name, and a test runs it by that name or its page says why not', () => {
  expect(blocks.length).toBeGreaterThan(20)
  const open = blocks.filter(({ page, name, lines }) => {
    const commands = lines.filter((line) => !line.startsWith(' ')).map((line) => line.replace(/^([A-Z_]+=\S* )+/, ''))
    return (name === '' || !isInTests(`'${name}'`)) && !commands.every((command) => isExcused(page, command))
  })
  expect(open).toEqual([])
  const names = blocks.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

const isRun = ({ page, command }: { page: string; command: string }) =>
  command in runBy ||
  // The tests themselves.
  command.startsWith('npm test ') ||
  blocks.some(({ lines }) => lines.includes(command)) ||
  /^(select|vacuum|openssl) /.test(command) ||
  isInTests(asArguments(command)) ||
  isExcused(page, command)

test('every command in a sentence is run by a test, or its page says why not', async () => {
  expect(inSentences.length).toBeGreaterThan(30)
  expect(inSentences.filter((each) => !isRun(each))).toEqual([])
  for (const [command, file] of Object.entries(runBy)) {
    const [program, ...rest] = command.split(' ')
    expect([command, await readFile(join(root, file), 'utf8')]).toEqual([command, expect.stringContaining(program!)])
    expect(rest.length).toBeGreaterThan(0)
  }
})

test('no page excuses a command of the service, and none excuses what it does not have', () => {
  for (const { name, text } of pages)
    for (const excused of notRunOn(name)) {
      expect(excused).not.toContain('npx billfold')
      const elsewhere = text.replaceAll(/^Not run by the tests: [\s\S]*?\n\n/gm, '')
      expect([name, excused, elsewhere.includes(excused)]).toEqual([name, excused, true])
    }
})

test('statements in sentences are statements', async () => {
  const statements = inSentences
    .filter(({ page, command }) => /^(select|vacuum) /.test(command) && !isExcused(page, command))
    .map(({ command }) => command)
  expect(statements.length).toBeGreaterThan(2)
  const database = await testDatabase()
  const client = new Postgres(database.connection)
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
  await database.drop()
})

test('the key that openssl makes is one that the service takes', async () => {
  const commands = inSentences.map(({ command }) => command).filter((command) => command.startsWith('openssl '))
  expect(commands).toHaveLength(1)
  const { output } = await run(commands[0]!.split(' '))
  expect(parseConfig({ SECRETS_KEY: output.trim() }).secretsKeys).toEqual([output.trim()])
})

const reason = majors.length > 0 ? '' : ' (not run: there is no other PostgreSQL here)'

describe.skipIf(reason !== '')(`a new installation${reason}`, () => {
  test('has its role and database, its first operator, and a doctor who finds both', async () => {
    const server = await startOtherServer(majors[0]!)
    const folder = await makeDrillFolder()
    const admin = new Postgres({ connectionString: server.url })
    await admin.connect()
    // The role that this server has from the start is called billfold already.
    for (const line of box('create-database', 'sql'))
      await admin.query(line.replace(/role billfold|owner billfold/, (words) => words.replace('billfold', 'wallet')))
    await admin.end()
    const environment = {
      PATH: `${folder}:${process.env['PATH']}`,
      DATABASE_URL: `postgres://wallet@127.0.0.1:${server.port}/billfold`,
      SECRETS_KEY: secretsKey,
      BILLFOLD_PASSWORD: 'a long enough password',
    }
    expect((await run(['npx', 'billfold', 'migrate'], environment)).code).toBe(0)
    const [create, doctor] = box('first-operator')
    const created = await run(['sh', '-c', create!], environment)
    expect([created.code, created.output]).toEqual([0, expect.stringContaining('you@example.com')])
    // Nothing answers at its address, so not all is well.
    const { output } = await run(['sh', '-c', `${doctor} --json`], environment)
    const { checks } = JSON.parse(output) as { checks: { name: string; state: string }[] }
    for (const name of ['Role', 'Migrations'])
      expect([name, checks.find((check) => check.name === name)?.state]).toEqual([name, 'good'])
    await server.remove()
    await rm(folder, { recursive: true })
  })
})

test('the signal of the page replaces the workers of the service', async () => {
  const database = await testDatabase()
  const folder = await makeDrillFolder()
  // Other tests have services too: only this one's child is to be found.
  const pgrep = `#!/bin/sh\nexec ${Bun.which('pgrep')} -P ${process.pid} "$@"\n`
  await writeFile(join(folder, 'pgrep'), pgrep)
  await chmod(join(folder, 'pgrep'), 0o755)
  const port = await freePort()
  const { PATH = '', HOME = '' } = process.env
  const settings = { DATABASE_URL: database.url, SECRETS_KEY: secretsKey, DEMO: '0', LOG_LEVEL: 'warn', WORKERS: '2' }
  const child = Bun.spawn([join(root, 'node_modules/.bin/bun'), 'src/main.ts'], {
    cwd: root,
    env: { PATH, HOME, ...settings, PORT: String(port) },
    stdout: 'ignore',
    stderr: 'inherit',
  })
  const service = { pid: child.pid } as Parameters<typeof workersOf>[0]
  await waitForWorkers(service, [])
  await eventually(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status, 200)
  const before = workersOf(service)
  const { code, output } = await run(['sh', '-c', box('replace-workers').join('\n')], { PATH: `${folder}:${PATH}` })
  expect([code, output]).toEqual([0, ''])
  await waitForWorkers(service, before)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  await rm(folder, { recursive: true })
  await database.drop()
})
