import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callCommand } from '../../test/command.ts'
import { newOperator } from '../../test/operator.ts'
import { newApp, newUser, openTestService, secretsKey, type Credentials, type TestService } from '../../test/service.ts'
import { newClient } from '../../test/client.ts'
import { findNewestDeletion } from '../store/people/deletions.ts'
import { listMailsOfUser } from '../store/mails.ts'
import { findUser } from '../store/people/users.ts'

setDefaultTimeout(120_000)

let opened: TestService
let shop: Credentials
let folder: string
let userId: string
let serviceUserId: string

beforeAll(async () => {
  opened = await openTestService()
  shop = await newApp(opened.service)
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-requests-'))
  ;({ userId, serviceUserId } = await newUser(opened.service, shop))
  await opened.service.db.pool.query('delete from limits')
})
afterEach(() => rm(folder, { recursive: true }))
afterAll(() => opened.close())

const run = (...args: string[]) =>
  callCommand(['user', ...args], { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey })
const reason = ['--reason', 'letter of 3 March']
const mails = async () => (await listMailsOfUser(opened.service.db.pool, userId, 10)).map(({ kind }) => kind)
const audited = async () =>
  (
    await opened.service.db.pool.query<{ action: string; actor: string; detail: object }>(
      'select action, actor, detail from audit where subject = $1 order by at',
      [`user:${userId}`],
    )
  ).rows

test('user export writes the file of “My data”, whole and only for its owner, and the user is mailed', async () => {
  await newClient(opened.app.fetch, shop).credit(serviceUserId, 5)
  const file = join(folder, 'ada.json')
  const { exitCode, stdout } = await run('export', `${userId}@example.com`, ...reason, '--out', file, '--json')
  expect([exitCode, JSON.parse(stdout)]).toEqual([0, { userId, file, bytes: (await stat(file)).size }])
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    format: 'billfold-user-data',
    account: { userId },
    wallet: { balance: 5 },
    transactions: [{ amount: 5 }],
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['ada.json'])
  expect(await audited()).toMatchObject([
    {
      action: 'user.data-exported',
      actor: expect.stringMatching(/^cli:/) as string,
      detail: { reason: 'letter of 3 March' },
    },
  ])
  expect(await mails()).toEqual(['data-exported-for'])
})

test('without --out the data goes to stdout, for a pipe', async () => {
  const { exitCode, stdout, stderr } = await run('export', serviceUserId, ...reason)
  expect([exitCode, stderr, (JSON.parse(stdout) as { format: string }).format]).toEqual([0, '', 'billfold-user-data'])
})

test('a file that exists is not overwritten, and nothing is recorded or mailed', async () => {
  const file = join(folder, 'ada.json')
  await writeFile(file, 'before')
  const { exitCode, stderr } = await run('export', userId, ...reason, '--out', file)
  expect([exitCode, stderr, await readFile(file, 'utf8')]).toEqual([1, `${file} already exists.\n`, 'before'])
  expect([await audited(), await mails()]).toEqual([[], []])
})

test('user delete only asks: nothing is deleted until an operator approves it in the admin area', async () => {
  const { exitCode, stdout } = await run('delete', userId, ...reason, '--json')
  const deletion = (await findNewestDeletion(opened.service.db.pool, userId))!
  expect([exitCode, JSON.parse(stdout)]).toEqual([
    0,
    { deletionId: deletion.id, userId, state: 'waiting', expiresAt: deletion.expiresAt.toISOString() },
  ])
  expect(await mails()).toEqual(['deletion-asked'])
  const again = await run('delete', userId, ...reason)
  expect([again.exitCode, again.stdout.includes('nothing is deleted yet')]).toEqual([0, true])
  const other = await run('delete', userId, '--reason', 'another letter')
  expect([other.exitCode, other.stderr.includes('already waits')]).toEqual([1, true])
  const operator = await newOperator(opened, 'support')
  await operator.post(`/admin/wallets/${userId}/deletion/approve`, { deletion: deletion.id })
  expect((await findUser(opened.service.db.pool, userId))!.email).toBeNull()
  for (const command of ['export', 'delete']) {
    const gone = await run(command, userId, ...reason)
    expect([gone.exitCode, gone.stdout, gone.stderr.includes('The account was deleted')]).toEqual([1, '', true])
  }
})

test('user delete is refused while the wallet holds money, with the amount', async () => {
  await newClient(opened.app.fetch, shop).credit(serviceUserId, 12.5)
  const { exitCode, stderr } = await run('delete', userId, ...reason)
  expect([exitCode, stderr.includes('The wallet still has 12.50 USD.')]).toEqual([1, true])
  expect([await audited(), await mails()]).toEqual([[], []])
})

test('the command line answers twenty requests an hour, whatever name it uses', async () => {
  for (let i = 0; i < 20; i++) expect((await run('export', userId, ...reason, '--as', `name ${i}`)).exitCode).toBe(0)
  const file = join(folder, 'ada.json')
  const { exitCode, stderr } = await run('export', userId, ...reason, '--out', file)
  expect([exitCode, stderr.includes('Too many requests of users')]).toEqual([1, true])
  expect(await readdir(folder)).toEqual([])
  expect((await run('delete', userId, ...reason)).exitCode).toBe(1)
})

test.each([
  [['export', 'nobody@example.com', ...reason], 1, 'There is no wallet'],
  [['delete', 'nobody@example.com', ...reason], 1, 'There is no wallet'],
  [['export', 'x@example.com'], 2, 'needs --reason'],
  [['delete', 'x@example.com'], 2, 'needs --reason'],
  [['delete', 'x@example.com', '--reason', ' '], 2, '--reason: write 1 to 500 characters.'],
  [['export', 'x@example.com', '--reason', 'x'.repeat(501)], 2, '--reason: write 1 to 500 characters.'],
  [['export', 'x@example.com', ...reason, '--out='], 2, '--out'],
  [['delete', ...reason], 2, 'needs <user>'],
])('%p ends with %d: %s', async (args, code, text) => {
  const { exitCode, stderr } = await run(...args)
  expect([exitCode, stderr]).toEqual([code, expect.stringContaining(text) as string])
})
