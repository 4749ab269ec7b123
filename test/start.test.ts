/** Starting, stopping and starting again, as the people who run it do. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../src/store/embedded/server-process.ts'
import { newClient } from './client.ts'
import { eventually } from './eventually.ts'
import { getText, openConnection } from './keep-alive.ts'
import { beginPatiently, lockWaitsSql } from './lock-waits.ts'
import { startProcess, workersOf } from './process.ts'
import { newApp, newUser, openTestService, type TestService } from './service.ts'
import { freePort } from './free-port.ts'
import { wantsAll } from './wants-all.ts'

setDefaultTimeout(180_000)

const root = new URL('..', import.meta.url).pathname

/** Runs it to its end; for starts that are refused. */
async function runMain(environment: Record<string, string>, cwd = root) {
  const child = Bun.spawn([process.execPath, join(root, 'src/main.ts')], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, err }
}

/** A busy machine may take too long over it once. */
async function expectReady(url: string): Promise<void> {
  const ready = { status: 'ok', database: 'ok', draining: false }
  await eventually(async () => (await (await fetch(`${url}/readyz`)).json()) as unknown, ready)
}

describe('with the embedded database', () => {
  let dataDir: string
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'billfold-start-'))
  })
  afterAll(() => rm(dataDir, { recursive: true, force: true }))

  test('a second start on the same data, beside the first or after it, finds everything', async () => {
    // Without PORT each finds a free one.
    const first = await startProcess({ DATA_DIR: dataDir, PORT: '0' })
    const second = await startProcess({ DATA_DIR: dataDir, PORT: '0' })
    for (const { url } of [first, second]) await expectReady(url)
    expect(await first.stop()).toBe(0)
    await expectReady(second.url)
    expect(await second.stop()).toBe(0)
    const third = await startProcess({ DATA_DIR: dataDir })
    await expectReady(third.url)
    expect(await third.stop('SIGINT')).toBe(0)
  })

  test('WORKERS puts several processes on one port, and all of them end together', async () => {
    const port = String(await freePort())
    const service = await startProcess({ DATA_DIR: dataDir, PORT: port, WORKERS: '2' })
    await Promise.all(Array.from({ length: 40 }, () => fetch(`${service.url}/healthz`)))
    const counted = /billfold_http_request_seconds_count\{route="\/healthz",method="GET",status="200"\} (\d+)/
    const metrics = async () => await (await fetch(`${service.url}/metrics`)).text()
    await eventually(async () => counted.exec(await metrics())?.[1], '40')
    expect(await service.stop()).toBe(0)
    expect(fetch(`${service.url}/healthz`)).rejects.toThrow()
  })
})

test.each(['1', '2'])(
  'a service that is ready serves on where the link for the first admin cannot be made, with %s workers',
  async (WORKERS) => {
    const opened = await openTestService()
    await opened.service.db.longRunning.pool.query(`create function refuse() returns trigger language plpgsql as $$
        begin raise read_only_sql_transaction; end $$;
      create trigger refuse before delete on operator_invites execute function refuse()`)
    const service = await startProcess({ DATABASE_URL: opened.databaseUrl, WORKERS })
    const told = () => service.output().includes('the link for the first admin could not be made')
    await eventually(told, true)
    await expectReady(service.url)
    expect(await service.stop()).toBe(0)
    await opened.close()
  },
)

test('a start waits longer for a slow database than a request would, and is ready', async () => {
  const opened = await openTestService()
  const dataDir = await mkdtemp(join(tmpdir(), 'billfold-slow-'))
  const { pool } = opened.service.db.longRunning
  await pool.query(`create function slow() returns trigger language plpgsql as $$
      begin perform pg_sleep(3.5); return new; end $$;
    create trigger slow before insert on apps for each row execute function slow();
    create trigger slow before insert on operator_invites for each row execute function slow()`)
  const holder = await pool.connect()
  await holder.query(
    `begin; set local idle_in_transaction_session_timeout = 0; lock table operators in access exclusive mode`,
  )
  const starting = startProcess({ DATABASE_URL: opened.databaseUrl, DATA_DIR: dataDir, DEMO: '1' })
  const isWaiting = async () => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query_start < clock_timestamp() - interval '3.5 seconds'`,
    )
    return rows[0]!.count > 0
  }
  // One that gave up would have ended.
  await Promise.race([eventually(isWaiting, true), starting])
  await holder.query('rollback')
  holder.release()
  const service = await starting
  await eventually(() => service.output().includes('Create the first admin'), true)
  expect(await service.stop()).toBe(0)
  await opened.close()
  await rm(dataDir, { recursive: true, force: true })
})

describe('the end', () => {
  let opened: TestService
  beforeAll(async () => {
    opened = await openTestService()
  })
  afterAll(() => opened.close())

  /** A service with a debit under way that cannot finish before the lock is let go. */
  async function withDebitUnderWay(environment: Record<string, string> = {}) {
    const app = await newApp(opened.service)
    const user = await newUser(opened.service, app)
    const service = await startProcess({ DATABASE_URL: opened.databaseUrl, ...environment })
    const client = newClient(service.send, app, service.url)
    await client.credit(user.serviceUserId, 10)
    const blocker = await opened.service.db.pool.connect()
    await beginPatiently(blocker)
    await blocker.query('select 1 from wallets where id = $1 for update', [user.userId])
    const debit = client.debit(user.serviceUserId, 1)
    debit.catch(() => {})
    // It asks for the row again and again, with a short wait each time.
    while ((await opened.service.db.pool.query(lockWaitsSql)).rowCount === 0) await Bun.sleep(5)
    const release = async () => {
      await blocker.query('rollback')
      blocker.release()
    }
    return { service, client, debit, release, su: user.serviceUserId }
  }

  test('a service that is asked to end says so at /readyz, answers what is under way and what still comes, and ends well', async () => {
    const { service, client, debit, release, su } = await withDebitUnderWay({ DRAIN_ANNOUNCE_MS: '5000' })
    const kept = await openConnection(service.url)
    expect(await kept.exchange(getText('/healthz'))).toMatchObject({ status: 200, isLast: false })
    const ended = service.stop('SIGTERM')
    const readiness = async () => {
      const response = await fetch(`${service.url}/readyz`)
      return [response.status, (await response.json()) as unknown]
    }
    await eventually(readiness, [503, { status: 'unavailable', database: 'ok', draining: true }])
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
    // On a connection that was open before, the answer comes as ever, and is the last one there.
    expect(await kept.exchange(getText('/healthz'))).toMatchObject({ status: 200, isLast: true })
    expect((await client.checkBalance(su, '1')).status).toBe(200)
    await release()
    expect((await debit).body).toMatchObject({ balance: 9 })
    expect(await ended).toBe(0)
  })

  test('SIGTERM to every process of two workers, twice, does not cut off what is under way', async () => {
    const { service, debit, release } = await withDebitUnderWay({ WORKERS: '2' })
    const all = [service.pid, ...workersOf(service)]
    expect(all).toHaveLength(3)
    const ended = service.stop('SIGTERM')
    // As systemd does with everything it has started. The worker that has nothing to finish may be gone.
    for (const pid of all) if (isAlive(pid)) process.kill(pid, 'SIGTERM')
    await Bun.sleep(700)
    await release()
    expect((await debit).body).toMatchObject({ balance: 9 })
    expect(await ended).toBe(0)
  })

  test('a second Ctrl-C ends the service at once', async () => {
    const { service, release } = await withDebitUnderWay({ LOG_LEVEL: 'info' })
    process.kill(service.pid, 'SIGINT')
    // Two signals that arrive before the first is handled count as one.
    await eventually(() => service.output().includes('"message":"draining"'), true)
    expect(await service.stop('SIGINT')).toBe(130)
    await release()
  })
})

describe('ports', () => {
  let opened: TestService
  beforeAll(async () => {
    opened = await openTestService()
  })
  afterAll(() => opened.close())

  // Each kind has the port once, and is refused it once.
  const pairs = [
    ['1', '2'],
    ['2', '1'],
  ] as const
  const same = [
    ['1', '1'],
    ['2', '2'],
  ] as const
  test.each(wantsAll ? [...pairs, ...same] : pairs)(
    'a port that a service with %s processes has is refused to one with %s, and the first goes on',
    async (first, second) => {
      const service = await startProcess({ DATABASE_URL: opened.databaseUrl, WORKERS: first })
      const port = new URL(service.url).port
      const other = { DATABASE_URL: opened.databaseUrl, PORT: port, WORKERS: second, DEMO: '0' }
      const { code, out, err } = await runMain(other)
      expect([code, out, err]).toEqual([
        1,
        '',
        `Port ${port} of 127.0.0.1 is in use: stop what listens there, or set PORT to another.\n`,
      ])
      await expectReady(service.url)
      expect(await service.stop()).toBe(0)
    },
  )
})

describe('configuration', () => {
  test('a configuration that cannot work is refused with every mistake, before anything is started', async () => {
    const { code, out, err } = await runMain({ PORT: 'x', CURRENCY: 'x', DATA_DIR: '/nonexistent/x' })
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('PORT=x: write a whole number')
    expect(err).toContain('CURRENCY=x: write a code of ISO 4217')
  })

  test('a configuration that cannot work is refused in production with the reason for each', async () => {
    const { code, err } = await runMain({ NODE_ENV: 'production' })
    expect(code).toBe(1)
    for (const name of ['PUBLIC_URL', 'CARD_PROCESSOR', 'SECRETS_KEY', 'SMTP_URL']) expect(err).toContain(`${name}:`)
  })

  test('a configuration that cannot work is also found in .env', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'billfold-env-'))
    await writeFile(join(folder, '.env'), 'WORKERS=many\n')
    // The runtime looks for it where it is started, as npm start is in the project's folder.
    await symlink(join(root, 'tsconfig.json'), join(folder, 'tsconfig.json'))
    const { code, err } = await runMain({}, folder)
    expect([code, err]).toEqual([1, expect.stringContaining('WORKERS=many')])
    await rm(folder, { recursive: true })
  })

  test('a database that is not there is said in a sentence, without its password', async () => {
    const { code, err } = await runMain({ DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/none', DEMO: '0' })
    expect(code).toBe(1)
    expect(err.trim().split('\n')).toHaveLength(1)
    expect(err).not.toContain('hunter2')
  })
})
