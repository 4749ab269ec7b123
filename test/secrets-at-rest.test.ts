/** Second factors and secrets of endpoints as they lie in the database and in a copy, with real processes, keys and commands. */
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { generateSync } from 'otplib'
import { deliverDue } from '../src/actions/webhooks/deliverer.ts'
import { addEndpoint, disableEndpoint, rotateEndpointSecret } from '../src/actions/webhooks/manage-endpoints.ts'
import { journalPing } from '../src/store/events/journal.ts'
import { callCommand } from './command.ts'
import { newAppWithEvents, numberAll } from './events/rig.ts'
import { newOperator, newVisitor, password, type TestOperator } from './operator.ts'
import { testDatabase } from './postgres.ts'
import { startProcess } from './process.ts'
import { startReceiver } from './receiver.ts'
import { openTestService, operator, secretsKey, type TestService } from './service.ts'
import { letPass } from './time.ts'

setDefaultTimeout(180_000)

const otherKey = Buffer.alloc(32, 'other').toString('base64')
const plain = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const folder = await mkdtemp(join(tmpdir(), 'billfold-secrets-'))
afterAll(() => rm(folder, { recursive: true }))

let rig: TestService
beforeEach(async () => {
  rig = await openTestService()
})
afterEach(() => rig.close())

const query = async <T extends Record<string, unknown>>(sql: string, values: unknown[] = []) =>
  (await rig.service.db.pool.query(sql, values)).rows as T[]

/** As the pages do it: the secret that was shown, and now counts. */
async function enrol(operator: TestOperator): Promise<string> {
  await operator.post('/admin/account/second-factor', { own: password })
  const secret = await shownSecret(operator)
  const done = await operator.post('/admin/second-factor', { code: codeOf(secret) })
  expect(done.status).toBe(200)
  return secret
}

async function shownSecret(operator: TestOperator): Promise<string> {
  const page = await (await operator.get('/admin/second-factor')).text()
  return /<code>([A-Z2-7 ]{32,})<\/code>/.exec(page)![1]!.replaceAll(' ', '')
}

function codeOf(secret: string): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1000) })
}

/** Whether a code of this secret ends the sign-in. */
async function signsIn(operator: TestOperator, secret: string): Promise<boolean> {
  await rig.service.db.pool.query('update operators set totp_step = 0')
  const visitor = newVisitor(rig.app)
  await visitor.get('/admin/sign-in')
  await visitor.post('/admin/sign-in', { email: operator.email, password })
  const done = await visitor.post('/admin/sign-in/code', { code: codeOf(secret) })
  return done.headers.get('location') === '/admin'
}

/** The outcome of a start that must not succeed. */
async function refusedStart(environment: Record<string, string>): Promise<string> {
  const started = await startProcess({ DATABASE_URL: rig.databaseUrl, ...environment }).catch(String)
  if (typeof started === 'string') return started
  await started.kill()
  return 'it started'
}

const cli = (args: string[], environment: Record<string, string>) =>
  callCommand(args, { DATABASE_URL: rig.databaseUrl, DATA_DIR: join(folder, 'unused'), ...environment })

test('a second factor that is set up, or being set up, is readable neither in the database nor in a copy', async () => {
  const [done, pending] = [await newOperator(rig), await newOperator(rig)]
  const secret = await enrol(done)
  await pending.post('/admin/account/second-factor', { own: password })
  const shown = await shownSecret(pending)
  const [row] = await query<{ all: string }>(`select string_agg(o::text, ' ') as all from operators o`)
  const file = join(folder, 'sealed.billfold')
  const exported = await cli(['export', file], { SECRETS_KEY: secretsKey })
  expect(exported).toMatchObject({ exitCode: 0, stderr: '' })
  const copy = gunzipSync(await readFile(file)).toString()
  for (const text of [row!.all, copy]) for (const each of [secret, shown]) expect(text).not.toContain(each)
  expect(await signsIn(done, secret)).toBe(true)
})

test('a second factor that is moved to another operator does not sign in', async () => {
  const [victim, thief] = [await newOperator(rig), await newOperator(rig)]
  await enrol(victim)
  const secret = await enrol(thief)
  const [{ sealed } = { sealed: '' }] = await query<{ sealed: string }>(
    'select totp_secret as sealed from operators where id = $1',
    [thief.id],
  )
  await query('update operators set totp_secret = $2 where id = $1', [victim.id, sealed])
  expect([await signsIn(thief, secret), await signsIn(victim, secret)]).toEqual([true, false])
})

test('a second factor that is being set up ends after ten minutes, and another is shown', async () => {
  const operator = await newOperator(rig)
  await operator.post('/admin/account/second-factor', { own: password })
  const first = await shownSecret(operator)
  expect(await shownSecret(operator)).toBe(first)
  await letPass(rig.service.db.pool, 10 * 60_000 + 1_000)
  // The session that was setting it up has ended as well; another one may.
  await query(`update operator_sessions set ends_at = now() + interval '9 minutes'`)
  const late = await operator.post('/admin/second-factor', { code: codeOf(first) })
  expect([late.status, (await late.text()).includes('expired after ten minutes')]).toEqual([422, true])
  const second = await shownSecret(operator)
  expect(second).not.toBe(first)
  expect((await operator.post('/admin/second-factor', { code: codeOf(second) })).status).toBe(200)
})

test('plain second factors are encrypted by the first start, once, by two processes at once', async () => {
  const operator = await newOperator(rig)
  await query('update operators set totp_secret = $2 where id = $1', [operator.id, plain])
  const environment = { DATABASE_URL: rig.databaseUrl, SECRETS_KEY: secretsKey }
  const started = await Promise.all([startProcess(environment), startProcess(environment)])
  await Promise.all(started.map((each) => each.stop()))
  const [row] = await query<{ sealed: string }>('select totp_secret as sealed from operators')
  expect(row!.sealed).toStartWith('sealed:1:')
  expect(await query(`select detail from audit where action = 'secrets.encrypted'`)).toEqual([
    { detail: { secrets: 1 } },
  ])
  expect(await signsIn(operator, plain)).toBe(true)
})

test('two processes of one data folder without a SECRETS_KEY make one key, and a copy without it says so', async () => {
  const operator = await newOperator(rig)
  await query('update operators set totp_secret = $2 where id = $1', [operator.id, plain])
  const dataDir = join(folder, 'shared')
  const environment = { DATABASE_URL: rig.databaseUrl, DATA_DIR: dataDir, WORKERS: '2' }
  const started = await Promise.all([startProcess(environment), startProcess(environment)])
  await Promise.all(started.map((each) => each.stop()))
  expect(await refusedStart({ DATA_DIR: dataDir })).toBe('it started')
  const file = join(folder, 'keyless.billfold')
  const exported = JSON.parse((await cli(['export', file, '--json'], { DATA_DIR: dataDir })).stdout) as {
    contains: string
    secretsKeys: string[]
  }
  expect(exported.secretsKeys).toHaveLength(1)
  const head = gunzipSync(await readFile(file))
    .toString()
    .split('\n')[0]!
  expect(JSON.parse(head)).toMatchObject({ contains: exported.contains, secretsKeys: exported.secretsKeys })
  expect(exported.contains).toContain('SECRETS_KEY')
  for (const [key, isMissing] of [
    [otherKey, true],
    [(await readFile(join(dataDir, 'secrets.key'), 'utf8')).trim(), false],
  ] as const) {
    const empty = await testDatabase()
    const { stdout, exitCode } = await cli(['import', file], { DATABASE_URL: empty.url, SECRETS_KEY: key })
    await empty.drop()
    expect([exitCode, stdout.includes(`the key ${exported.secretsKeys[0]}, which is missing here`)]).toEqual([
      0,
      isMissing,
    ])
  }
})

test('a start without the key of a second factor is refused, and says which key', async () => {
  const operator = await newOperator(rig)
  const secret = await enrol(operator)
  const [row] = await query<{ key: string }>(`select split_part(totp_secret, ':', 3) as key from operators`)
  for (const environment of [{ SECRETS_KEY: otherKey }, { DATA_DIR: join(folder, 'none') }])
    expect(await refusedStart(environment)).toContain(`encrypted with the key ${row!.key}`)
  expect(await refusedStart({ SECRETS_KEY: `${otherKey},${secretsKey}` })).toBe('it started')
  expect(await signsIn(operator, secret)).toBe(true)
})

test('keys rotate brings every second factor to the first key, says how many, and is on record', async () => {
  const operators = [await newOperator(rig), await newOperator(rig)]
  for (const each of operators) await enrol(each)
  const refused = await cli(['keys', 'rotate'], { SECRETS_KEY: otherKey })
  expect([refused.exitCode, refused.stderr.includes('encrypted with the key')]).toEqual([1, true])
  const both = { SECRETS_KEY: `${otherKey},${secretsKey}` }
  const rotated = JSON.parse((await cli(['keys', 'rotate', '--json'], both)).stdout) as Record<string, unknown>
  expect(rotated).toMatchObject({ secrets: 2, dropped: 0 })
  expect((await cli(['keys', 'rotate'], both)).stdout).toContain('Nothing to do')
  expect(await refusedStart({ SECRETS_KEY: otherKey })).toBe('it started')
  expect(await refusedStart({ SECRETS_KEY: secretsKey })).toContain(`the key ${String(rotated['keyId'])}`)
  expect(await query(`select detail->'secrets' as secrets from audit where action = 'secrets.key-rotated'`)).toEqual([
    { secrets: 2 },
  ])
})

test('with a lost key the second factors it encrypted can be removed, and no others', async () => {
  const [lost, kept] = [await newOperator(rig), await newOperator(rig)]
  await enrol(lost)
  await cli(['keys', 'rotate'], { SECRETS_KEY: `${otherKey},${secretsKey}` })
  const secret = await enrol(kept)
  const dropped = await cli(['keys', 'rotate', '--drop-lost', '--json'], { SECRETS_KEY: secretsKey })
  expect(JSON.parse(dropped.stdout)).toMatchObject({ secrets: 0, dropped: 1 })
  expect(await refusedStart({ SECRETS_KEY: secretsKey })).toBe('it started')
  expect(await signsIn(kept, secret)).toBe(true)
  expect(await query('select id from operators where totp_secret is null')).toEqual([{ id: lost.id }])
})

test('an endpoint whose secret is lost is disabled, says so, and continues where it stood with a new secret', async () => {
  const { service } = rig
  const admin = await newOperator(rig)
  const app = await newAppWithEvents(service)
  const receiver = startReceiver()
  const added = await addEndpoint(service, operator, app.clientId, { url: receiver.url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  receiver.secrets = [added.secret]
  const ping = async () => {
    await journalPing(service.db.pool, app.clientId)
    await numberAll(service)
    await deliverDue(service)
  }
  await ping()
  const last = receiver.accepted.length
  // The old secret is lost too.
  receiver.secrets = [(await rotateEndpointSecret(service, operator, added.id, '24h'))!]
  await cli(['keys', 'rotate'], { SECRETS_KEY: `${otherKey},${secretsKey}` })
  const dropped = await cli(['keys', 'rotate', '--drop-lost', '--json'], { SECRETS_KEY: secretsKey })
  expect([dropped.stderr, JSON.parse(dropped.stdout || '{}')]).toMatchObject(['', { secrets: 0, dropped: 2 }])
  await ping()
  await ping()
  expect(receiver.accepted.length).toBe(last)

  const page = `/admin/client-apps/${app.clientId}/endpoints/${added.id}`
  const text = 'Disabled, because the key of its secret is lost. It needs a new secret: rotate it. 2 events wait.'
  expect(await (await admin.get(page)).text()).toContain(text)
  expect((await cli(['doctor'], { SECRETS_KEY: secretsKey })).stdout).toContain('1 disabled by the service')
  expect(await query(`select detail from audit where action = 'endpoint.secret-lost'`)).toEqual([
    { detail: { endpoint: added.id } },
  ])
  const enabled = await cli(['endpoint', 'enable', added.id], { SECRETS_KEY: secretsKey })
  expect([enabled.exitCode, enabled.stderr.includes('Rotate the secret first.')]).toEqual([1, true])
  expect((await admin.post(`${page}/state`, { to: 'where-it-stood' })).status).toBe(409)

  receiver.secrets = [(await rotateEndpointSecret(service, operator, added.id, '24h'))!]
  await deliverDue(service)
  // They are about no user, so both are under way at once.
  expect(receiver.accepted.slice(last).toSorted((a, b) => a - b)).toEqual([last + 1, last + 2])
  await receiver.stop()
})

const stateOfEndpoints = () => query('select disabled_for, secret is null as is_lost from endpoints')

test('an endpoint that an operator disabled stays so when its lost secret is replaced', async () => {
  const { service } = rig
  const app = await newAppWithEvents(service)
  const added = await addEndpoint(service, operator, app.clientId, { url: 'https://example.org/', types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  await disableEndpoint(service, operator, added.id)
  await cli(['keys', 'rotate'], { SECRETS_KEY: `${otherKey},${secretsKey}` })
  await cli(['keys', 'rotate', '--drop-lost'], { SECRETS_KEY: secretsKey })
  expect(await stateOfEndpoints()).toEqual([{ disabled_for: 'operator', is_lost: true }])
  await rotateEndpointSecret(service, operator, added.id, 'none')
  expect(await stateOfEndpoints()).toEqual([{ disabled_for: 'operator', is_lost: false }])
})
