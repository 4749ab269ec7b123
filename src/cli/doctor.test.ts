import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { callCommand } from '../../test/command.ts'
import { startMailServer } from '../../test/mail-server.ts'
import { dropDatabase } from '../../test/postgres.ts'
import { newApp, openTestService, secretsKey, type TestService } from '../../test/service.ts'
import type { Check } from '../actions/apps/examine-embedding.ts'
import { createDemo } from '../actions/demo.ts'
import { examineDatabase, type DatabaseFacts } from '../actions/deployment/examine-database.ts'
import { databaseChecks, workChecks } from '../actions/deployment/not-made.ts'
import { probeHeader, sealProbe } from '../actions/deployment/probe.ts'
import { openSecrets } from '../actions/secrets/open-secrets.ts'
import { buildApp } from '../app.ts'
import { neededEvents } from '../cards/stripe/stripe-account.ts'
import type { Connection } from '../store/connection/database.ts'
import { startEmbedded } from '../store/embedded/embedded.ts'

setDefaultTimeout(240_000)

let opened: TestService
let db: Client
const closing: (() => unknown)[] = []

beforeAll(async () => {
  opened = await openTestService()
  db = new Client(asSuperuser(opened.service.db.connection))
  await db.connect()
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})
afterAll(async () => {
  await db.end()
  await opened.close()
})

type Environment = Record<string, string>

/** The embedded server's second role, beside the service's own. */
function asSuperuser(connection: Connection): Connection {
  return connection.connectionString ? connection : { ...connection, user: 'postgres' }
}

async function doctor(environment: Environment = {}) {
  const here = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, DEMO: '0', CARD_PROCESSOR: 'none' }
  const { exitCode, stdout, stderr } = await callCommand(['doctor', '--json'], { ...here, ...environment })
  expect(stderr).toBe('')
  const { isGood, checks } = JSON.parse(stdout) as { isGood: boolean; checks: Check[] }
  expect(exitCode).toBe(isGood ? 0 : 1)
  return { isGood, checks, of: (name: string) => checks.filter((check) => check.name === name) }
}

/** The service behind a number of proxies, each of which appends to X-Forwarded-For. */
function serve({
  proxies = 0,
  trusts = 0,
  answer,
}: { proxies?: number; trusts?: number; answer?: () => Response } = {}) {
  const { service } = opened
  const app = buildApp({ ...service, config: { ...service.config, trustedProxies: trusts } })
  let url = listen((request) => (answer ? answer() : app.fetch(request, '127.0.0.1')))
  for (let i = 0; i < proxies; i++) {
    const next = url
    url = listen((request) => {
      const headers = new Headers(request.headers)
      headers.set('x-forwarded-for', [headers.get('x-forwarded-for'), `198.51.100.${i + 1}`].filter(Boolean).join(', '))
      return fetch(next + new URL(request.url).pathname, { headers })
    })
  }
  return { PUBLIC_URL: url, TRUSTED_PROXIES: String(trusts) }
}

function listen(answer: (request: Request) => Response | Promise<Response>): string {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  closing.push(() => server.stop(true))
  return server.url.origin
}

/** Another database on the same server. */
async function newDatabase(options = ''): Promise<string> {
  const name = `doctor_${crypto.randomUUID().replaceAll('-', '')}`
  await db.query(`create database ${name} ${options}`)
  closing.push(() => dropDatabase(db, name))
  const url = new URL(opened.databaseUrl)
  url.pathname = `/${name}`
  return url.href
}

async function newRole(url: string, options = ''): Promise<string> {
  const name = `doctor_${crypto.randomUUID().replaceAll('-', '')}`
  await db.query(`create role ${name} login ${options}`)
  closing.push(async () => {
    await db.query(`drop owned by ${name}`)
    await db.query(`drop role ${name}`)
  })
  const changed = new URL(url)
  changed.username = name
  return changed.href
}

const bad = (text: string) => [expect.objectContaining({ state: 'bad', text: expect.stringContaining(text) as string })]
const warn = (text: string) => [
  expect.objectContaining({ state: 'warn', text: expect.stringContaining(text) as string }),
]
const good = [expect.objectContaining({ state: 'good' })]

test('a deployment in which nothing is wrong is good, the worst stands first, and every failing check says what to do', async () => {
  const mail = await startMailServer()
  closing.push(() => mail.goAway())
  const role = await newRole(opened.databaseUrl)
  const { checks, isGood } = await doctor({ ...serve(), SMTP_URL: mail.url, MAIL_FROM: 'wallet@shop.example' })
  expect(checks.filter(({ state }) => state === 'bad')).toEqual([])
  expect(isGood).toBeTrue()
  const states = checks.map(({ state }) => state)
  expect(states).toEqual(states.toSorted((a, b) => 'bwug'.indexOf(a[0]!) - 'bwug'.indexOf(b[0]!)))
  expect(mail.taken).toEqual([])
  const broken = await doctor({ ...serve({ proxies: 1 }), SMTP_URL: 'smtp://127.0.0.1:1', DATABASE_URL: role })
  expect(broken.isGood).toBeFalse()
  for (const { state, fix } of broken.checks.slice(0, 3)) expect([state, fix]).toEqual(['bad', expect.any(String)])
  const plain = await callCommand(['doctor'], { DATABASE_URL: role, PUBLIC_URL: 'http://127.0.0.1:1', DEMO: '0' })
  expect(plain.stdout).toMatch(/^FAIL {2}Role: .*\n {8}As the database's owner: grant create/)
  expect(plain.stdout).toMatch(/\n\n\d+ failed, \d+ warnings, \d+ unknown, \d+ good\.\n$/)
})

describe('settings', () => {
  test('every mistake is told, and what looks like a setting and is none', async () => {
    const { checks } = await doctor({ PORT: 'x', CURRENCY: 'dollars', TRUSTED_PROXY: '1' })
    expect(checks.map(({ state, text }) => [state, text.split(/[=: ]/)[0]])).toEqual([
      ['bad', 'PORT'],
      ['bad', 'CURRENCY'],
      ['warn', 'TRUSTED_PROXY'],
    ])
    expect((await doctor({ ...serve(), TRUSTED_PROXY: '1' })).of('Names of variables')).toEqual(warn('TRUSTED_PROXY'))
  })

  test('the flags of a page need a page', async () => {
    expect(await callCommand(['doctor', '--app', 'app_x'], {})).toMatchObject({ exitCode: 2, stdout: '' })
  })
})

describe('database', () => {
  test('one that is not there, without its password', async () => {
    const { of } = await doctor({ DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/none' })
    expect(of('Database')).toEqual(bad('postgres://me@127.0.0.1:1/none'))
  })

  test('the checks that ask a database which is not there are named, and all others are made', async () => {
    const whole = await doctor(serve())
    const { checks, isGood } = await doctor({ ...serve(), DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/none' })
    const unmade = checks.filter(({ text }) => text.startsWith('Not checked: '))
    expect(unmade.every(({ state, text }) => state === 'unknown' && text.includes('ECONNREFUSED'))).toBeTrue()
    expect(unmade.map(({ name }) => name).toSorted()).toEqual(databaseChecks.toSorted())
    // A seal is checked where there is one.
    expect(new Set(checks.map(({ name }) => name))).toEqual(
      new Set([...whole.checks.map(({ name }) => name), 'Database', 'Seal of the books']),
    )
    expect([isGood, JSON.stringify(checks).includes('hunter2')]).toEqual([false, false])
  })

  test('of a table that cannot be read', async () => {
    await db.query('alter table books_check rename to gone')
    closing.push(() => db.query('alter table gone rename to books_check'))
    const { checks, isGood } = await doctor()
    const unmade = checks.filter(({ text }) => text.startsWith('Not checked: '))
    expect([isGood, unmade.map(({ name }) => name)]).toEqual([false, [...workChecks]])
    expect(checks.find(({ name }) => name === 'Database')).toMatchObject({
      state: 'bad',
      text: expect.stringContaining('books_check') as string,
    })
    expect(checks.find(({ name }) => name === 'Writes')).toMatchObject({ state: 'good' })
  })

  test('one that was never migrated, and one that is newer than this program', async () => {
    expect((await doctor({ DATABASE_URL: await newDatabase() })).of('Migrations')).toEqual(bad('is empty'))
    await db.query(`insert into billfold_migrations (number, name, checksum) values (9999, '9999_later', 'x')`)
    closing.push(() => db.query('delete from billfold_migrations where number = 9999'))
    expect((await doctor()).of('Migrations')).toEqual(bad('at migration 9999_later'))
  })

  test('another encoding', async () => {
    const url = await newDatabase(`encoding 'SQL_ASCII' template template0 locale 'C'`)
    expect((await doctor({ DATABASE_URL: url })).of('PostgreSQL')).toEqual(bad('SQL_ASCII'))
  })

  test('a role that may do everything, one that may do nothing, and one that forgets commits', async () => {
    expect((await doctor()).of('Role')).toEqual(good)
    const mighty = await newRole(opened.databaseUrl, 'superuser')
    expect((await doctor({ DATABASE_URL: mighty })).of('Role')).toEqual(warn('superuser'))
    const poor = await doctor({ DATABASE_URL: await newRole(opened.databaseUrl) })
    expect([poor.of('Role'), poor.of('Tables')]).toEqual([bad('may not create tables'), bad('may not read and write')])
    const empty = await newDatabase()
    expect((await doctor({ DATABASE_URL: await newRole(empty) })).of('Role')).toEqual(bad('may not create tables'))
    const hasty = await newRole(opened.databaseUrl, 'superuser')
    await db.query(`alter role ${new URL(hasty).username} set synchronous_commit = 'off'`)
    expect((await doctor({ DATABASE_URL: hasty })).of('synchronous_commit')).toEqual(warn('off'))
    const reader = await newRole(opened.databaseUrl, 'superuser')
    await db.query(`alter role ${new URL(reader).username} set default_transaction_read_only = on`)
    expect((await doctor({ DATABASE_URL: reader })).of('Writes')).toEqual(bad('read-only'))
  })

  test('tables that belong to another role', async () => {
    const url = await newRole(opened.databaseUrl)
    const { username } = new URL(url)
    await db.query(
      `grant all on all tables in schema public to ${username}; grant create on schema public to ${username}`,
    )
    expect((await doctor({ DATABASE_URL: url })).of('Tables')).toEqual(warn('belong to another role'))
  })

  test('connections that never fit', async () => {
    expect((await doctor({ DATABASE_CONNECTIONS: '500' })).of('Connections')).toEqual(bad('may open 501 connections'))
  })

  test('a server that would lose money in a power cut, hides damage, or archives nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'billfold-doctor-'))
    const here = { DATABASE_URL: '', DATA_DIR: folder }
    const asItComes = await doctor()
    for (const name of ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums', 'Vacuum'])
      expect([name, asItComes.of(name)]).toEqual([name, good])
    expect(asItComes.of('Back-up')).toEqual(warn('not archived'))
    await (await startEmbedded({ dataDir: folder, log: () => {} })).release()
    const lines = ['fsync = off', 'full_page_writes = off', 'autovacuum = off', 'zero_damaged_pages = on']
    await appendFile(
      join(folder, 'postgres/postgresql.conf'),
      `\n${[...lines, 'archive_mode = on', `archive_command = 'false'`].join('\n')}\n`,
    )
    const held = await startEmbedded({ dataDir: folder, log: () => {} })
    await callCommand(['migrate'], { ...here, DEMO: '0' })
    const client = new Client(asSuperuser(held.connection))
    await client.connect()
    await client.query('select pg_switch_wal()')
    const failures = async () =>
      (await client.query<{ n: bigint }>('select failed_count as n from pg_stat_archiver')).rows
    while ((await failures())[0]!.n === 0n) await Bun.sleep(50)
    await client.end()
    const found = await doctor(here)
    expect(found.of('Back-up')).toEqual(bad('Archiving the log fails'))
    for (const name of ['fsync', 'full_page_writes', 'Vacuum', 'zero_damaged_pages'])
      expect([name, found.of(name)]).toEqual([name, bad('')])
    expect(found.of('Disk')).toEqual(good)
    await held.release()
    await rm(folder, { recursive: true })
  })

  test('what cannot be made here: an old server, a network in between, a slow way, clocks apart, very old rows', () => {
    const facts = goodFacts()
    const { server, gauges } = facts
    const states = (changes: Partial<DatabaseFacts>) =>
      examineDatabase({ ...facts, ...changes })
        .filter(({ state }) => state !== 'good')
        .map(({ name, state }) => `${name} ${state}`)
    expect(states({})).toEqual([])
    expect(states({ server: { ...server, version: 140_009 } })).toEqual(['PostgreSQL bad'])
    expect(states({ server: { ...server, isLocal: false, isEncrypted: false } })).toEqual([
      'Connection to the database warn',
    ])
    expect(states({ server: { ...server, roundTripMs: 40 } })).toEqual(['Distance to the database warn'])
    expect(states({ gauges: { ...gauges!, clockSkewSeconds: -5 } })).toEqual(['Clock warn'])
    expect(states({ gauges: { ...gauges!, clockSkewSeconds: 90 } })).toEqual(['Clock bad'])
    expect(states({ gauges: { ...gauges!, transactionAge: 1_500_000_000 } })).toEqual(['Vacuum bad'])
    expect(states({ writing: 'full' })).toEqual(['Writes bad'])
    expect(states({ writing: 'no standby' })).toEqual(['Writes bad'])
  })
})

describe('what is in it', () => {
  test('wrong books, payments and mails that wait, demo data, and a key that is not here', async () => {
    const own = await openTestService()
    closing.push(() => own.close())
    const { service } = own
    const { pool } = service.db
    const { clientId } = await newApp(service, { allowedOrigins: ['http://shop.example'] })
    const demo = await createDemo(service, { shopPort: 3001 })
    const { rows } = await pool.query<{ id: string }>('select id from users limit 1')
    const topup = `with topup as (
        insert into topups (id, user_id, client_id, processor, amount, currency, state, problem, created_at, updated_at, expires_at)
        select gen_random_uuid(), $1, $2, 'sandbox', 100, 'USD', 'processing', $3, now() - interval '1 h', now(), now() returning id)
      insert into work (kind, key, due_at) select 'resolve-topup', id, now() - interval '1 h' from topup`
    await pool.query(topup, [rows[0]!.id, clientId, null])
    await pool.query(
      `insert into work (kind, key, due_at, created_at) values ('send-mail', 'waits', now(), now() - interval '1 h')`,
    )
    const here = { DATABASE_URL: own.databaseUrl }
    const waiting = await doctor(here)
    expect(waiting.of('Top-ups')).toEqual(warn('1 card payment(s) are still open'))
    expect(waiting.of('Mails')).toEqual(warn('1 waiting, the oldest for 60 minutes'))
    expect(waiting.of('Books')).toEqual(good)
    expect(waiting.of('Demo and plain HTTP').map(({ text }) => text)).toEqual([
      expect.stringContaining('The demo app is active') as string,
      expect.stringContaining(`The demo user ${demo.email}`) as string,
      expect.stringContaining('http://shop.example') as string,
    ])
    await pool.query(topup, [rows[0]!.id, clientId, 'mismatch'])
    await pool.query(
      `insert into operators (id, email, name, password_hash, role, totp_secret)
       values (gen_random_uuid(), 'a@b.cd', 'A', 'x', 'admin', $1)`,
      [await service.secrets.seal('secret', { purpose: 'operator-totp', id: 'x' })],
    )
    const another = await doctor({ ...here, SECRETS_KEY: Buffer.alloc(32, 'another').toString('base64') })
    expect(another.of('Top-ups')).toEqual(bad('took money that was not credited'))
    expect(another.of('SECRETS_KEY')).toEqual(bad('encrypted with the key'))
  })
})

describe('mail server', () => {
  test('one that lets us in, one that is away, and one that says nothing', async () => {
    const server = await startMailServer()
    closing.push(() => server.goAway())
    expect((await doctor({ SMTP_URL: server.url })).of('Mail server')).toEqual(good)
    expect((await doctor({ SMTP_URL: 'smtp://127.0.0.1:1' })).of('Mail server')).toEqual(bad('refuses to send'))
    expect((await doctor()).of('Mail server')).toEqual(warn('There is none'))
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    closing.push(() => silent.close())
    const { port } = silent.address() as { port: number }
    expect((await doctor({ SMTP_URL: `smtp://127.0.0.1:${port}` })).of('Mail server')).toEqual(bad('Greeting'))
  })
})

const url = 'https://wallet.example/api/processor/stripe'
const endpoint = { url, status: 'enabled', enabled_events: ['*'] }
/** Answers these two calls as Stripe does. */
const stripe = (endpoints: object[] | 'forbidden' | 'refused') =>
  listen((request) => {
    const refused = { error: { type: 'invalid_request_error', message: 'Invalid API Key provided' } }
    if (endpoints === 'refused') return Response.json(refused, { status: 401 })
    if (new URL(request.url).pathname === '/v1/balance') return Response.json({ object: 'balance', livemode: false })
    if (endpoints === 'forbidden') return Response.json(refused, { status: 403 })
    return Response.json({ object: 'list', data: endpoints, has_more: false, url: '/v1/webhook_endpoints' })
  })
const stripeSettings = (api: string) => ({
  CARD_PROCESSOR: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_1',
  STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  STRIPE_API_URL: api,
  PUBLIC_URL: 'https://wallet.example',
})

describe('card processor', () => {
  test('its key, and the endpoint that it tells of what happens', async () => {
    const all = await doctor(stripeSettings(stripe([endpoint])))
    expect([all.of('Card processor'), all.of('Webhook')]).toEqual([good, good])
    expect(
      (await doctor(stripeSettings(stripe([{ ...endpoint, enabled_events: neededEvents }])))).of('Webhook'),
    ).toEqual(good)
    const some = [{ ...endpoint, enabled_events: neededEvents.slice(1) }]
    expect((await doctor(stripeSettings(stripe(some)))).of('Webhook')).toEqual(warn('payment_intent.succeeded'))
    expect((await doctor(stripeSettings(stripe([{ ...endpoint, status: 'disabled' }])))).of('Webhook')).toEqual(
      bad('disabled'),
    )
    expect((await doctor(stripeSettings(stripe([])))).of('Webhook')).toEqual(bad('no endpoint'))
    expect((await doctor(stripeSettings(stripe('forbidden')))).of('Webhook')).toMatchObject([{ state: 'unknown' }])
    expect((await doctor(stripeSettings(stripe('refused')))).of('Card processor')).toEqual(
      bad('refuses STRIPE_SECRET_KEY'),
    )
    expect((await doctor(stripeSettings('http://127.0.0.1:1'))).of('Card processor')).toEqual(bad('cannot be reached'))
    expect((await doctor({ CARD_PROCESSOR: 'sandbox' })).of('Card processor')).toEqual(warn('play money'))
  })
})

describe('the way in', () => {
  test('as many proxies as are trusted; more and fewer', async () => {
    for (const [proxies, trusts, state] of [
      [0, 0, 'good'],
      [1, 1, 'good'],
      [2, 2, 'good'],
      [0, 1, 'bad'],
      [1, 2, 'bad'],
      [1, 0, 'bad'],
      [2, 1, 'bad'],
    ] as const) {
      const { of } = await doctor(serve({ proxies, trusts }))
      expect([proxies, trusts, of('Proxy headers').map((check) => check.state)]).toEqual([proxies, trusts, [state]])
      if (state === 'bad') expect(of('Proxy headers')[0]!.fix).toBe(`TRUSTED_PROXIES=${proxies}`)
    }
  })

  test('metrics that are open, somebody else’s answer, nobody’s answer, and a service of another deployment', async () => {
    expect((await doctor(serve())).of('/metrics')).toEqual(good)
    const open = serve({ answer: () => Response.json({ status: 'ok' }) })
    expect((await doctor(open)).of('/metrics')).toEqual(bad('open to everyone'))
    const other = serve({ answer: () => new Response('It works!') })
    expect((await doctor(other)).of('PUBLIC_URL')).toEqual(bad('not as Billfold does'))
    const [silent] = (await doctor({ PUBLIC_URL: 'http://127.0.0.1:1' })).of('PUBLIC_URL')
    expect([silent]).toEqual(warn('does not answer'))
    expect(silent!.fix).toEndWith('allow port 1.')
    const stranger = await doctor({ ...serve(), SECRETS_KEY: Buffer.alloc(32, 'another').toString('base64') })
    expect(stranger.of('Proxy headers')).toMatchObject([{ state: 'unknown' }])
  })

  test('only a fresh probe with the key of the service gets the report about proxies', async () => {
    const { app, service } = opened
    const probe = async (token: string) => {
      const request = new Request('http://billfold.test/healthz', { headers: { [probeHeader]: token } })
      return Object.keys((await (await app.fetch(request)).json()) as object)
    }
    expect(await probe(await sealProbe(service.secrets, new Date()))).toEqual(['status', 'seen'])
    expect(await probe(await sealProbe(service.secrets, new Date(Date.now() - 120_000)))).toEqual(['status'])
    const strangers = openSecrets({ secretsKeys: [Buffer.alloc(32, 'another').toString('base64')], dataDir: '' })
    expect(await probe(await sealProbe(strangers, new Date()))).toEqual(['status'])
    for (const token of ['', 'x', 'sealed:1:', '%']) expect(await probe(token)).toEqual(['status'])
  })

  test('a service of another version', async () => {
    const seen = { version: '0.0.1', address: '192.0.2.1', forwardedFor: ['203.0.113.77'] }
    const { of } = await doctor(serve({ answer: () => Response.json({ status: 'ok', seen }) }))
    expect(of('Version')).toEqual(warn('0.0.1'))
  })
})

function goodFacts(): DatabaseFacts {
  const settings = {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    data_checksums: 'on',
    autovacuum: 'on',
    archive_mode: 'on',
    zero_damaged_pages: 'off',
    ignore_checksum_failure: 'off',
  }
  const role = {
    name: 'billfold',
    isSuperuser: false,
    mayCreate: true,
    mayUseTemporary: true,
    closedTables: [],
    othersTables: [],
  }
  const waits = { Lock: 0, LWLock: 0, IO: 0, IPC: 0, other: 0 }
  const none = { count: 0, oldestSeconds: 0 }
  const idle = { waiting: 0, running: 0, lateSeconds: 0, oldestSeconds: 0, failing: 0 }
  const noEndpoint = { count: 0, events: 0, seconds: 0, failingSeconds: 0 }
  const noEndpoints = {
    working: noEndpoint,
    failing: noEndpoint,
    ill: noEndpoint,
    'disabled-by-operator': noEndpoint,
    'disabled-by-service': noEndpoint,
  }
  const workLevels = {
    'resolve-topup': idle,
    'send-mail': idle,
    'send-farewell': idle,
    'send-operator-mail': idle,
    'reconcile-day': idle,
    'post-correction': idle,
    'post-bonus': idle,
    'find-first-payment': idle,
    'deliver-sandbox-webhook': idle,
    'deliver-event': idle,
    'expire-holds': idle,
    'publish-checkpoint': idle,
  }
  return {
    server: {
      version: 180_004,
      versionText: '18.4',
      encoding: 'UTF8',
      settings,
      isReadOnly: false,
      standbys: '',
      isEncrypted: true,
      isLocal: false,
      role,
      databaseBytes: 1,
      roundTripMs: 1,
    },
    migrations: { current: 1, latest: 1, pending: [], problem: null },
    connections: { wanted: 13 },
    writing: 'ok',
    gauges: {
      topups: { created: none, processing: none },
      lateAttemptSeconds: 0,
      topupProblems: 0,
      unnumberedSeconds: 0,
      endpoints: noEndpoints,
      mails: none,
      holds: { open: 0, heldMinor: 0n, lateSeconds: 0 },
      work: workLevels,
      databaseBytes: 1,
      connections: 1,
      maxConnections: 100,
      waits,
      transactionAge: 1,
      clockSkewSeconds: 0,
      archiveLateSeconds: 0,
    },
    foreign: undefined,
    isEmbedded: false,
  }
}
