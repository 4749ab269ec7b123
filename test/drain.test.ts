/** Work that hangs does not delay the end of the process beyond its limit. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { beginPatiently } from './lock-waits.ts'
import { isStopped, makeFolder, postmasterPid, removeFolder } from './embedded-process.ts'
import { openForwarder } from './forwarder.ts'
import { newClient } from './client.ts'
import { openConnection, postText } from './keep-alive.ts'
import { copyNewDatabase } from './new-database.ts'
import { startProcess } from './process.ts'
import { newApp, newUser, openTestService } from './service.ts'

setDefaultTimeout(180_000)

/** The announcement, the limit of the drain, and a margin for a busy machine. */
const limitMs = 45_000

type Forwarder = Awaited<ReturnType<typeof openForwarder>>

test.each<[string, (forwarder: Forwarder) => Promise<void> | void]>([
  ['whose connections have gone silent', (forwarder) => forwarder.silence()],
  ['that stays silent', (forwarder) => forwarder.goSilent()],
  [
    'that was silent for three seconds',
    async (forwarder) => {
      forwarder.goSilent()
      await Bun.sleep(3_000)
      forwarder.mend()
    },
  ],
])(
  'a database %s, with requests and an event stream open, does not keep SIGTERM waiting: exit code 0',
  async (_, go) => {
    const opened = await openTestService()
    const forwarder = await openForwarder(opened.service.db.connection)
    const app = await newApp(opened.service)
    const { serviceUserId } = await newUser(opened.service, app)
    const { user = '', password, database } = forwarder.connection
    const url = new URL(`postgres://127.0.0.1:${forwarder.connection.port}/${database}`)
    url.username = user
    if (typeof password === 'string') url.password = password
    const service = await startProcess({ DATABASE_URL: url.href })
    const client = newClient(service.send, app, service.url)
    expect((await client.credit(serviceUserId, 10)).status).toBe(200)
    const { body } = await client.post('/api/widget/session', { ...app, serviceUserId })
    const stream = await fetch(`${service.url}/api/widget/events?session=${String(body['sessionToken'])}`)
    expect(stream.status).toBe(200)
    // The admin area and jobs have connections with a long limit.
    expect((await fetch(`${service.url}/admin/sign-in`)).status).toBe(200)
    const gone = go(forwarder)
    const asked = [client.debit(serviceUserId, 1), client.wallet(serviceUserId), fetch(`${service.url}/admin/sign-in`)]
    const answers = Promise.allSettled(asked)
    await gone
    await Bun.sleep(200)
    const code = await Promise.race([service.stop(), Bun.sleep(limitMs)])
    if (code === undefined) await service.kill()
    await answers
    forwarder.close()
    await opened.close()
    expect([code, service.output()]).toEqual([0, expect.not.stringContaining('took too long')])
  },
)

test('half a body is refused when the drain begins, and a whole request before it keeps its answer', async () => {
  const opened = await openTestService()
  const app = await newApp(opened.service)
  const { serviceUserId, userId } = await newUser(opened.service, app)
  const service = await startProcess({ DATABASE_URL: opened.databaseUrl })
  const client = newClient(service.send, app, service.url)
  expect((await client.credit(serviceUserId, 10)).status).toBe(200)
  const holder = await opened.service.db.pool.connect()
  await beginPatiently(holder)
  await holder.query('select 1 from wallets where id = $1 for update', [userId])
  const answered: string[] = []
  // The debit waits for the row until its limit, which ends before a limit of seven seconds for the body would.
  const whole = client.debit(serviceUserId, 1, 'held').then(({ status }) => answered.push(`whole ${status}`))
  await Bun.sleep(2_000)
  const body = { ...app, serviceUserId, amount: 1, referenceType: 'ORDER', referenceId: 'half' }
  const text = postText({ path: '/api/server/wallet/debit', body }).slice(0, -10)
  const connection = await openConnection(service.url)
  const half = connection.exchange(text).then(({ status, isLast }) => answered.push(`half ${status} ${isLast}`))
  await Bun.sleep(200)
  const stopped = service.stop()
  await Promise.all([whole, half])
  expect(answered).toEqual(['half 408 true', 'whole 503'])
  expect(await stopped).toBe(0)
  await holder.query('rollback')
  holder.release()
  const { rows } = await opened.service.db.pool.query(`select 1 from transfers where reference_id in ('half', 'held')`)
  expect(rows).toEqual([])
  await opened.close()
})

test('an embedded database that does not stop is abandoned after the limit, and the log says what the service waited for', async () => {
  const folder = await makeFolder()
  const dataDir = join(folder, 'data')
  await copyNewDatabase(dataDir)
  const service = await startProcess({ DATA_DIR: dataDir })
  // The last step of the start that uses the database.
  while (!service.output().includes('Create the first admin')) await Bun.sleep(20)
  const postmaster = (await postmasterPid(dataDir))!
  process.kill(postmaster, 'SIGSTOP')
  const code = await Promise.race([service.stop(), Bun.sleep(limitMs)])
  if (code === undefined) await service.kill()
  process.kill(postmaster, 'SIGCONT')
  for (let waited = 0; waited < 30_000 && !isStopped(dataDir); waited += 50) await Bun.sleep(50)
  await removeFolder(folder)
  expect(code).toBe(1)
  expect(service.output()).toMatch(
    /"level":"error","message":"the shutdown took too long.*"waitingFor":"embedded database"/,
  )
})
