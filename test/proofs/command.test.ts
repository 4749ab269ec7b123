/** The commands of proofs, as an auditor uses them: two files and a key. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callCommand } from '../command.ts'
import { newClient } from '../client.ts'
import { queryEach, sealAll } from '../sealed-books.ts'
import { newApp, newUser, openTestService, secretsKey, type TestService, type TestUser } from '../service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let folder: string
let user: TestUser

beforeAll(async () => {
  opened = await openTestService()
  folder = await mkdtemp(join(tmpdir(), 'billfold-proofs-'))
  const app = await newApp(opened.service)
  const client = newClient(opened.app.fetch, app)
  user = await newUser(opened.service, app)
  for (let i = 0; i < 3; i++) await client.credit(user.serviceUserId, 12)
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
