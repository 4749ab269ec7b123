/** The commands of proofs, as an auditor uses them: two files and a key. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callCommand } from '../command.ts'
import { newClient } from '../client.ts'
import { getEndedDay } from '../../src/store/proofs/day-leaves.ts'
import { endDay, queryEach, sealAll } from '../sealed-books.ts'
import { newApp, newUser, openTestService, secretsKey, type TestService, type TestUser } from '../service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let folder: string
let user: TestUser
let clientId: string

beforeAll(async () => {
  opened = await openTestService()
  folder = await mkdtemp(join(tmpdir(), 'billfold-proofs-'))
  const app = await newApp(opened.service)
  ;({ clientId } = app)
  const client = newClient(opened.app.fetch, app)
  user = await newUser(opened.service, app)
  for (let i = 0; i < 3; i++) await client.credit(user.serviceUserId, 12)
  await endDay(opened.service)
  await sealAll(opened.service)
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await opened.close()
})

const cli = async (...args: string[]) =>
  await callCommand(args, { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey })

/** Writes the file and returns its path. */
async function saved(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

type Shown = { readonly key: string; readonly checkpoint: string }

async function show(): Promise<Shown> {
  return JSON.parse((await cli('log', 'show', '--json')).stdout) as Shown
}

const prove = async (sequence: number, ...more: string[]) =>
  (
    JSON.parse((await cli('log', 'prove', user.userId, String(sequence), ...more, '--json')).stdout) as {
      proof: string
    }
  ).proof

test('a receipt is checked without a database, and two of them show that history was kept', async () => {
  const { key } = await show()
  const first = await saved('first.proof', await prove(1))
  const later = await saved('later.proof', await prove(3, '--since', '3'))
  const { stdout, exitCode } = await callCommand(['verify-receipt', later, first, '--key', key], {})
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('is entry 3 of a wallet that had 3')])
  expect(stdout).toContain('The wallet still begins with the same 3 entries.')
  expect(stdout).toContain('A credit of')
  const at = await saved('at.checkpoint', (await show()).checkpoint)
  const same = await callCommand(['verify-receipt', later, '--key', key, '--checkpoint', at], {})
  expect([same.exitCode, same.stdout]).toEqual([0, expect.stringContaining('The given checkpoint is the same.')])
  const noise = await saved('noise.checkpoint', 'nothing signed')
  const unrelated = await callCommand(['verify-receipt', later, '--key', key, '--checkpoint', noise], {})
  expect([unrelated.exitCode, unrelated.stdout]).toEqual([0, expect.stringContaining('proves nothing about this')])
  const wrong = await saved('wrong.proof', (await prove(1)).replace(/extra .{20}/, 'extra AAAAAAAAAAAAAAAAAAAA'))
  expect((await callCommand(['verify-receipt', wrong, '--key', key], {})).exitCode).toBe(1)
  const stranger = 'x+00000000+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
  const unknown = await callCommand(['verify-receipt', later, '--key', stranger], {})
  expect([unknown.exitCode, unknown.stdout]).toEqual([1, 'None of the trusted keys signed this proof.\n'])
})

const says = (code: number, text: string) => [code, expect.stringContaining(text) as string]

test('the position of an app at the end of a day is proven, and checked without a database', async () => {
  const { key } = await show()
  const day = await getEndedDay(opened.service.db.pool)
  const args = ['log', 'prove', '--day', day, '--app', clientId]
  const position = await saved('position.proof', (await cli(...args)).stdout)
  const { stdout, exitCode } = await callCommand(['verify-receipt', position, '--key', key], {})
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringContaining(`At the end of ${day} (UTC), the account app:${clientId} stood at -$36.00.`),
  ])
  expect(stdout).toContain('It had received $0.00 and paid $36.00, in 3 entries.')
  expect(stdout).toMatch(/were signed by \S+ on 20\d\d-\d\d-\d\dT\S+Z, at \d+ leaves\.$/m)
  const json = await callCommand(['verify-receipt', position, '--key', key, '--json'], {})
  expect(JSON.parse(json.stdout)).toMatchObject({ isRight: true, kind: 'position', day, creditedMinor: '3600' })

  const refused = async (...more: string[]) => {
    const { exitCode, stderr } = await cli('log', 'prove', ...more)
    return [exitCode, stderr]
  }
  expect(await refused('--day', day)).toEqual(says(2, '--app: write the clientId of an app.'))
  expect(await refused('--app', clientId)).toEqual(says(2, '--day: write a day such as'))
  expect(await refused('--day', '2026-02-30', '--app', clientId)).toEqual(says(2, '--day: write a day such as'))
  expect(await refused(user.userId, '1', '--day', day, '--app', clientId)).toEqual(says(2, 'without an entry'))
  expect(await refused('--since', '1', '--day', day, '--app', clientId)).toEqual(says(2, 'without an entry'))
  expect(await refused('--day', '2099-01-01', '--app', clientId)).toEqual(says(1, 'not sealed yet'))
  expect(await refused('--day', '2020-01-01', '--app', clientId)).toEqual(says(1, `The next sealed day is ${day}.`))
  expect(await refused('--day', day, '--app', 'app_none')).toEqual(
    says(1, 'There is no such app, or it had no entries'),
  )
  expect(await refused()).toEqual(says(2, 'wallet: write its id.'))
})

test('the books are compared with a state that was kept outside, and a changed entry is named', async () => {
  const { key, checkpoint } = await show()
  const file = await saved('checkpoint', checkpoint)
  const right = await cli('log', 'verify', '--checkpoint', file, '--key', key)
  expect([right.exitCode, right.stdout]).toEqual([0, expect.stringContaining('The books are what was signed')])
  const both = await cli('verify', '--checkpoint', file, '--key', key)
  expect([both.exitCode, both.stdout]).toEqual([0, expect.stringContaining('The books are exact')])
  expect(both.stdout).toContain('The books are what was signed')
  expect((await cli('verify', '--checkpoint', file)).exitCode).toBe(2)
  expect((await cli('verify', '--key', key)).exitCode).toBe(2)
  await queryEach(
    opened.service.db.pool,
    `alter table transfers disable trigger user; grant update on transfers to current_user;
    update transfers set amount = amount + 1 where wallet_id = '${user.userId}' and sequence = 2`,
  )
  const wrong = await cli('log', 'verify', '--checkpoint', file, '--key', key)
  expect(wrong.exitCode).toBe(1)
  expect(wrong.stdout).toContain(`wallet ${user.userId}: entry 2 is not what was sealed.`)
  const bothWrong = await cli('verify', '--checkpoint', file, '--key', key, '--json')
  expect(JSON.parse(bothWrong.stdout)).toMatchObject({
    isExact: false,
    checkpoint: { isExact: false, found: [{ kind: 'wallet', walletId: user.userId, entry: 2 }] },
  })
  const forged = await saved('forged', checkpoint.replace('\n', 'x\n'))
  expect((await cli('log', 'verify', '--checkpoint', forged, '--key', key)).exitCode).toBe(1)
  expect((await cli('log', 'prove', user.userId, '2')).exitCode).toBe(1)
})

test('the newest state is published at once, and a target that cannot have it is named', async () => {
  const none = await cli('log', 'publish')
  expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining('CHECKPOINTS names no target.')])
  const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey }
  const kept = join(folder, 'kept')
  const CHECKPOINTS = `${kept},${join(folder, 'missing', 'folder')}/`
  const { exitCode, stdout } = await callCommand(['log', 'publish'], { ...environment, CHECKPOINTS })
  const { checkpoint } = await show()
  expect(await readFile(kept, 'utf8')).toBe(checkpoint)
  expect([exitCode, stdout]).toEqual([
    1,
    expect.stringMatching(/^Target 1 \(file\): it has the state of \d+ leaves\.\nTarget 2 \(folder\): ./),
  ])
  const again = await callCommand(['log', 'publish', '--json'], { ...environment, CHECKPOINTS: kept })
  expect([again.exitCode, JSON.parse(again.stdout)]).toMatchObject([0, { targets: [{ target: 1, kind: 'published' }] }])
})
