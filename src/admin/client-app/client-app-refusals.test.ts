import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { callCommand } from '../../../test/command.ts'
import { complaintOf } from '../../../test/embedded-process.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { newApp, openTestService, operator, type Credentials, type TestService } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'
import { countCalls } from '../../actions/apps/count-calls.ts'
import { revokeSecret, rotateSecret, setAppActive } from '../../actions/apps/manage-apps.ts'
import { fingerprintOf, hashSecret } from '../../actions/tokens.ts'
import { deleteExpired } from '../../store/cleanup.ts'
import { openDatabase } from '../../store/connection/database.ts'
import { readMigrations } from '../../store/migrations/migrate.ts'
import {
  addRefusedCredentials,
  listRefusedCredentials,
  openRefusedCredentials,
} from '../../store/calls/refused-credentials.ts'

setDefaultTimeout(180_000)

let rig: TestService
let viewer: TestOperator

beforeAll(async () => {
  rig = await openTestService({ TRUSTED_PROXIES: '1' })
  viewer = await newOperator(rig, 'viewer')
})
afterAll(() => rig.close())

/** A call through the proxy, which writes the caller's address. */
async function call(credentials: Partial<Credentials>, address: string): Promise<number> {
  const request = new Request(`http://billfold.test/api/server/wallet?${new URLSearchParams({ ...credentials })}`, {
    headers: { 'x-forwarded-for': `198.51.100.1, ${address}` },
  })
  return (await rig.app.fetch(request, '127.0.0.1')).status
}

const textOf = async (path: string) =>
  (await (await viewer.get(path)).text()).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
const pageOf = ({ clientId }: { clientId: string }) => `/admin/client-apps/${clientId}/calls`
const fingerprint = (secret: string) => fingerprintOf(hashSecret(secret))
const rowsOf = async ({ clientId }: { clientId: string }) =>
  (await listRefusedCredentials(rig.service.db.pool, clientId, 1_000)).map(
    (row) => `${row.cause} ${row.fingerprint || '-'} ${row.address || 'others'} ${row.calls}`,
  )

test('the page and the command line say which secret was refused, why, from where and how often', async () => {
  const app = await newApp(rig.service)
  expect(await textOf(pageOf(app))).toContain('No call got 401 INVALID_CLIENT in the last 31 days.')
  const second = (await rotateSecret(rig.service, operator, app.clientId, '1h'))!.clientSecret
  await letPass(rig.service.db.pool, 3_600_000, ['app_secrets'])
  await rig.service.apps.refresh()
  const third = (await rotateSecret(rig.service, operator, app.clientId, '24h'))!.clientSecret
  const secrets = (await rig.service.apps.find(app.clientId))!.secrets
  const revoked = secrets.find((secret) => fingerprintOf(secret.hash) === fingerprint(second))!
  await revokeSecret(rig.service, operator, app.clientId, revoked.id)
  const statuses = [
    await call({ ...app, clientSecret: 'bfs_guess' }, '203.0.113.7'),
    await call({ ...app, clientSecret: 'bfs_another' }, '203.0.113.7'),
    await call({ clientId: app.clientId }, '203.0.113.8'),
    await call(app, '203.0.113.9'),
    await call({ ...app, clientSecret: second }, '2001:db8:1:2:3:4:5:6'),
    await call({ ...app, clientSecret: second }, '2001:db8:1:2::9'),
  ]
  expect(new Set(statuses)).toEqual(new Set([401]))
  expect(await call({ ...app, clientSecret: third }, '203.0.113.7')).not.toBe(401)
  await setAppActive(rig.service, operator, app.clientId, false)
  expect(await call({ ...app, clientSecret: third }, '203.0.113.10')).toBe(401)
  await countCalls(rig.service)
  expect(await rowsOf(app)).toEqual([
    `inactive ${fingerprint(third)} 203.0.113.10 1`,
    `revoked ${fingerprint(second)} 2001:db8:1:2::/64 2`,
    `expired ${fingerprint(app.clientSecret)} 203.0.113.9 1`,
    'missing - 203.0.113.8 1',
    'wrong - 203.0.113.7 2',
  ])
  const page = await textOf(pageOf(app))
  for (const line of [
    `app is inactive ${fingerprint(third)} 203.0.113.10 1`,
    `revoked secret ${fingerprint(second)} 2001:db8:1:2::/64 2`,
    `overlap ended ${fingerprint(app.clientSecret)} 203.0.113.9 1`,
    'no secret sent – 203.0.113.8 1',
    'not a secret of this app – 203.0.113.7 2',
  ])
    expect(page).toContain(line)
  const environment = { DATABASE_URL: rig.databaseUrl }
  const { stdout } = await callCommand(['app', 'show', app.clientId], environment)
  expect(stdout).toMatch(new RegExp(`revoked …${fingerprint(second)}  2001:db8:1:2::/64  2 calls, first 20.*, last 20`))
  const json = JSON.parse((await callCommand(['app', 'show', app.clientId, '--json'], environment)).stdout)
  expect(json.refusedCredentials[0]).toMatchObject({ cause: 'inactive', fingerprint: fingerprint(third), calls: 1 })
})

test('a rotation without overlap revokes, and revoking a secret that expired before does not change why it ended', async () => {
  const app = await newApp(rig.service)
  const second = (await rotateSecret(rig.service, operator, app.clientId, 'none'))!.clientSecret
  await call(app, '203.0.113.7')
  const third = (await rotateSecret(rig.service, operator, app.clientId, '1h'))!.clientSecret
  await letPass(rig.service.db.pool, 3_600_000, ['app_secrets'])
  const secrets = (await rig.service.apps.find(app.clientId))!.secrets
  const expired = secrets.find((secret) => fingerprintOf(secret.hash) === fingerprint(second))!
  await revokeSecret(rig.service, operator, app.clientId, expired.id)
  await call({ ...app, clientSecret: second }, '203.0.113.7')
  expect(await call({ ...app, clientSecret: third }, '203.0.113.7')).not.toBe(401)
  await countCalls(rig.service)
  expect(await rowsOf(app)).toEqual([
    `expired ${fingerprint(second)} 203.0.113.7 1`,
    `revoked ${fingerprint(app.clientSecret)} 203.0.113.7 1`,
  ])
})

test('secrets that were revoked before an upgrade are known from the audit log', async () => {
  const { pool } = rig.service.db
  const app = await newApp(rig.service)
  await rotateSecret(rig.service, operator, app.clientId, '1h')
  await rotateSecret(rig.service, operator, app.clientId, '1h')
  const [, second] = (await rig.service.apps.find(app.clientId))!.secrets
  await revokeSecret(rig.service, operator, app.clientId, second!.id)
  const read = async () => {
    const { rows } = await pool.query<{ id: string; at: Date | null }>(
      'select id, revoked_at as at from app_secrets where client_id = $1 order by id',
      [app.clientId],
    )
    return rows
  }
  const before = await read()
  expect(before.filter(({ at }) => at !== null).map(({ id }) => id)).toEqual([second!.id])
  await pool.query('update app_secrets set revoked_at = null where client_id = $1', [app.clientId])
  const { sql } = (await readMigrations()).find(({ name }) => name.includes('refused_credentials'))!
  await pool.query(/update app_secrets [^;]+;/.exec(sql)![0])
  expect(await read()).toEqual(before)
})

test('the counts of causes are those of 401, and what gets 429 is in neither', async () => {
  const app = await newApp(rig.service)
  const guesses = Array.from({ length: 90 }, () => call({ ...app, clientSecret: 'bfs_guess' }, '203.0.113.20'))
  const statuses = await Promise.all(guesses)
  const refused = statuses.filter((status) => status === 401).length
  expect(refused).toBeLessThan(90)
  await countCalls(rig.service)
  expect(await rowsOf(app)).toEqual([`wrong - 203.0.113.20 ${refused}`])
  expect(await textOf(pageOf(app))).toContain(`INVALID_CLIENT /api/server/wallet ${refused} ${refused}`)
})

test('many calls refused for their credentials are on the overview, and a few are not', async () => {
  const [few, many] = [await newApp(rig.service, { name: 'Few' }), await newApp(rig.service, { name: 'Many' })]
  for (let i = 0; i < 20; i++) await call({ ...many, clientSecret: 'bfs_guess' }, `203.0.113.${i}`)
  for (let i = 0; i < 19; i++) await call({ ...few, clientSecret: 'bfs_guess' }, `203.0.113.${i}`)
  await countCalls(rig.service)
  const page = await textOf('/admin')
  expect(page).toContain('Many: calls refused for their credentials 20')
  expect(page).not.toContain('Few: calls refused')
})

test('an unknown clientId is in the metric alone, and every cause has its series from the start', async () => {
  const other = await openTestService()
  const app = await newApp(other.service)
  const client = (credentials: Credentials) => newClient(other.app.fetch, credentials)
  const counted = async () =>
    Object.fromEntries(
      [
        ...(await other.service.metrics.render()).matchAll(/billfold_refused_credentials_total\{cause="(.+)"\} (\d+)/g),
      ].map(([, cause, count]) => [cause, Number(count)]),
    )
  const none = { missing: 0, wrong: 0, revoked: 0, expired: 0, inactive: 0, 'unknown-app': 0 }
  expect(await counted()).toEqual(none)
  await client({ ...app, clientId: 'app_unknown' }).wallet('su_x')
  await client({ ...app, clientId: 'app_\u0000' }).wallet('su_x')
  await client({ ...app, clientSecret: 'bfs_guess' }).wallet('su_x')
  await other.app.fetch(
    new Request('http://billfold.test/api/server/wallet/bulk', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ operations: ['x'.repeat(70_000)] }),
    }),
  )
  expect(await counted()).toEqual({ ...none, wrong: 1, 'unknown-app': 3 })
  expect(other.service.refusedCredentials.take()).toHaveLength(1)
  await other.close()
})

test('a guess is stored nowhere, neither as text nor as a hash nor as a fingerprint', async () => {
  const app = await newApp(rig.service)
  const guess = 'bfs_almost-the-right-secret'
  await call({ ...app, clientSecret: guess }, '203.0.113.30')
  await countCalls(rig.service)
  const { rows } = await rig.service.db.pool.query<{ row: string }>(
    `select r::text as row from refused_credentials r union all select c::text from app_calls c union all select a::text from audit a`,
  )
  const stored = rows.map(({ row }) => row).join('\n')
  expect(stored).toContain('203.0.113.30')
  const hash = hashSecret(guess)
  for (const text of [guess, hash.toString('hex'), hash.toString('base64'), hash.toString('base64url')])
    expect(stored).not.toContain(text)
  expect(await rowsOf(app)).toEqual(['wrong - 203.0.113.30 1'])
})

test('guesses from any number of addresses take 21 rows: the newest 20 addresses, and one sum', async () => {
  const app = await newApp(rig.service)
  const { db } = rig.service
  const others = openDatabase(db.connection)
  const refuse = (counts: ReturnType<typeof openRefusedCredentials>, address: string, times = 1) => {
    for (let i = 0; i < times; i++)
      counts.record({ clientId: app.clientId, cause: 'wrong', fingerprint: '', address }, performance.now())
  }
  const counts = openRefusedCredentials()
  for (let i = 0; i < 5_000; i++) refuse(counts, `10.0.${i >> 8}.${i & 255}`)
  const counted = counts.take()
  expect(counted).toHaveLength(21)
  expect(counted.find(({ address }) => address === '')?.calls).toBe(4_980)
  await addRefusedCredentials(db, counted, performance.now())
  const processes = Array.from({ length: 4 }, () => openRefusedCredentials())
  for (const [n, each] of processes.entries()) for (let i = 0; i < 20; i++) refuse(each, `10.9.${n}.${i}`, 2)
  await Promise.all(
    processes.map((each, n) => addRefusedCredentials(n % 2 ? others : db, each.take(), performance.now())),
  )
  const rows = await listRefusedCredentials(db.pool, app.clientId, 1_000)
  expect(rows).toHaveLength(21)
  expect(rows.reduce((sum, { calls }) => sum + calls, 0)).toBe(5_160)
  expect(rows.filter(({ address }) => address.startsWith('10.9.'))).toHaveLength(20)
  await others.pool.end()
})

test('guesses at many apps take a bounded number of addresses in memory', async () => {
  const counts = openRefusedCredentials()
  for (let app = 0; app < 500; app++)
    for (let i = 0; i < 20; i++)
      counts.record({ clientId: `app_${app}`, cause: 'wrong', fingerprint: '', address: `10.0.0.${i}` }, i)
  const counted = counts.take()
  expect(counted.filter(({ address }) => address !== '').length).toBe(2_000)
  expect(counted.length).toBeLessThanOrEqual(2_500)
  expect(counted.reduce((sum, { calls }) => sum + calls, 0)).toBe(10_000)
})

test('counts that could not be written are written with the next ones, with their first time', async () => {
  const app = await newApp(rig.service)
  const refused = { clientId: app.clientId, cause: 'wrong', fingerprint: '', address: '10.0.0.1' } as const
  const refusedCredentials = openRefusedCredentials()
  const parts = { ...rig.service, refusedCredentials }
  refusedCredentials.record(refused, performance.now() - 60_000)
  const closed = openDatabase(rig.service.db.connection)
  await closed.pool.end()
  expect(await complaintOf(countCalls({ ...parts, db: closed }))).not.toBe('')
  refusedCredentials.record(refused, performance.now())
  await countCalls(parts)
  const [row] = await listRefusedCredentials(rig.service.db.pool, app.clientId, 10)
  expect(row!.calls).toBe(2)
  expect(row!.lastAt.getTime() - row!.firstAt.getTime()).toBeGreaterThanOrEqual(59_000)
})

test('an address is deleted 31 days after its last call', async () => {
  const app = await newApp(rig.service)
  await call({ ...app, clientSecret: 'bfs_guess' }, '203.0.113.40')
  await countCalls(rig.service)
  const daysPass = (days: number) => letPass(rig.service.db.pool, days * 86_400_000, ['refused_credentials'])
  await daysPass(30)
  await deleteExpired(rig.service.db)
  expect(await rowsOf(app)).toHaveLength(1)
  await daysPass(1)
  await deleteExpired(rig.service.db)
  expect(await rowsOf(app)).toEqual([])
})
