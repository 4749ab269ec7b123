/**
 * Everything an operator or the command line changes is on record in the transaction that changes it, or before. Every form
 * of the admin area and every command is sent once; triggers write down each change of a row, by transaction and in order.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateSync } from 'otplib'
import { totpPlace } from '../src/actions/operators/second-factor.ts'
import { startSession } from '../src/actions/operators/keep-session.ts'
import { adminRoutes } from '../src/admin/pages.tsx'
import { commands } from '../src/cli/commands.ts'
import { openDatabase } from '../src/store/database.ts'
import { listTables, quoted } from '../src/store/migrations/tables.ts'
import type { Stage } from '../src/store/operator-sessions.ts'
import { callCommand } from './command.ts'
import { newOperator, newVisitor, password, type TestOperator } from './operator.ts'
import { testDatabase } from './postgres.ts'
import { newApp, newUser, secretsKey } from './service.ts'
import { openBench, type Bench } from './topup/rig.ts'

setDefaultTimeout(60_000)

let bench: Bench
let admin: TestOperator
const folder = await mkdtemp(join(tmpdir(), 'billfold-audit-'))

beforeAll(async () => {
  bench = await openBench()
  admin = await newOperator(bench.opened)
  await watchChanges()
})
afterAll(async () => {
  await bench.close()
  await rm(folder, { recursive: true })
})

const query = async <T>(sql: string, values: unknown[] = []) =>
  (await bench.service.db.pool.query(sql, values)).rows as T[]

/** They say nothing about what was done: counts of tries, of requests, of the books' check, and which form was sent. */
const bookkeeping = ['limits', 'minutes', 'books_check', 'operator_forms', 'billfold_migrations']

/** In a schema of its own, so that nothing takes it for a table of the service. */
async function watchChanges(): Promise<void> {
  await query(`
    create schema watch;
    create table watch.changes (
      number bigserial, name text, operation text, transaction bigint default txid_current(), actor text);
    create function watch.note() returns trigger language plpgsql as $$ begin
      insert into watch.changes (name, operation, actor)
      values (tg_table_name, tg_op, case when tg_table_name = 'audit' then to_jsonb(new)->>'actor' end);
      return null;
    end $$;`)
  for (const { name } of await listTables(bench.service.db.pool)) {
    if (bookkeeping.includes(name)) continue
    await query(
      `create trigger watch_note after insert or update or delete on ${quoted(name)} for each row execute function watch.note()`,
    )
  }
}

type Change = { number: bigint; name: string; operation: string; transaction: bigint; actor: string | null }

/** What happened, and what of it happened without a record of this actor in its own transaction or before. */
async function changesBy(actor: string, act: () => Promise<unknown>): Promise<{ changed: string[]; silent: string[] }> {
  await query('truncate watch.changes')
  await act()
  const all = await query<Change>('select * from watch.changes order by number')
  const records = all.filter((change) => change.name === 'audit' && change.actor?.startsWith(actor))
  const changes = all.filter((change) => change.name !== 'audit')
  const isOnRecord = (change: Change) =>
    records.some((record) => record.transaction === change.transaction || record.number < change.number)
  const shown = (change: Change) => `${change.operation} ${change.name}`
  return { changed: changes.map(shown), silent: changes.filter((change) => !isOnRecord(change)).map(shown) }
}

/** Made before the form is sent, so that what makes it is not watched. */
type Call = { readonly path?: Record<string, string>; readonly fields?: Record<string, string>; readonly by?: Someone }
type Someone = Pick<TestOperator, 'post' | 'get'> & { readonly actor: string }

type Form = { readonly isRead?: true; readonly make: () => Promise<Call> }

async function signedIn(stage: Stage): Promise<Someone & { id: string }> {
  const other = await newOperator(bench.opened, 'viewer')
  const device = { address: '127.0.0.1', browser: 'Test' }
  const token = await startSession(bench.service, bench.service.db.pool, other.id, stage, device)
  const visitor = newVisitor(bench.app, new Map([['billfold-session', token]]))
  return { ...visitor, id: other.id, actor: `operator:${other.id}` }
}

async function stranger(actor: string): Promise<Someone> {
  const visitor = newVisitor(bench.app)
  await visitor.get('/admin/sign-in')
  return { ...visitor, actor }
}

const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const codeNow = () => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) })

async function giveSecret(column: 'totp_secret' | 'totp_pending', id: string): Promise<void> {
  const sealed = await bench.service.secrets.seal(secret, totpPlace({ id }))
  await query(`update operators set ${column} = $2, totp_pending_until = now() + interval '5 minutes' where id = $1`, [
    id,
    sealed,
  ])
}

const clientApp = async () => ({ path: { clientId: (await newApp(bench.service)).clientId } })
const wallet = async () => ({ path: { id: (await newUser(bench.service, bench.credentials)).userId } })

async function topup(): Promise<Record<string, string>> {
  const payer = await bench.newPayer()
  const payment = await payer.begin(25)
  bench.standIn.state.pay(payment)
  await payer.confirm(payment)
  return { id: (await bench.topup(payment)).id }
}

const reason = { reason: 'as agreed' }
const appFields = { name: 'Another shop', allowedOrigins: 'https://b.example', scopes: 'wallet:read' }

/** Every form of the admin area, with input that is accepted. */
const forms: Record<string, Form> = {
  '/admin/sign-in': {
    make: async () => {
      const { id, email } = await newOperator(bench.opened)
      return { by: await stranger(`operator:${id}`), fields: { email, password } }
    },
  },
  '/admin/sign-in/code': {
    make: async () => {
      const by = await signedIn('code')
      await giveSecret('totp_secret', by.id)
      return { by, fields: { code: codeNow() } }
    },
  },
  '/admin/sign-in/cancel': { make: async () => ({ by: await signedIn('code') }) },
  '/admin/sign-out': { make: async () => ({ by: await signedIn('full') }) },
  '/admin/second-factor': {
    make: async () => {
      const by = await signedIn('enrol')
      await giveSecret('totp_pending', by.id)
      return { by, fields: { code: codeNow() } }
    },
  },
  '/admin/second-factor/skip': { make: async () => ({ by: await signedIn('enrol') }) },
  '/admin/second-factor/cancel': { make: async () => ({ by: await signedIn('enrol') }) },
  '/admin/welcome': {
    make: async () => {
      const token = (await invite()).split('token=')[1]!
      return { by: await stranger(''), fields: { token, name: 'Eve', email: 'eve@example.com', password } }
    },
  },
  '/admin/client-apps': { make: async () => ({ fields: { ...appFields, form: crypto.randomUUID() } }) },
  '/admin/client-apps/:clientId': { make: async () => ({ ...(await clientApp()), fields: appFields }) },
  '/admin/client-apps/:clientId/active': { make: async () => ({ ...(await clientApp()), fields: { to: 'inactive' } }) },
  '/admin/client-apps/:clientId/secrets': {
    make: async () => ({ ...(await clientApp()), fields: { overlap: '1h', form: crypto.randomUUID() } }),
  },
  '/admin/client-apps/:clientId/secrets/:id/revoke': {
    make: async () => {
      const { clientId } = await newApp(bench.service)
      return { path: { clientId, id: await secretOf(clientId) } }
    },
  },
  '/admin/wallets/:id/freeze': { make: async () => ({ ...(await wallet()), fields: reason }) },
  '/admin/wallets/:id/unfreeze': {
    make: async () => {
      const { path } = await wallet()
      await admin.post(`/admin/wallets/${path.id}/freeze`, reason)
      return { path, fields: reason }
    },
  },
  '/admin/wallets/:id/bonus': {
    isRead: true,
    make: async () => ({ ...(await wallet()), fields: { amount: '5', bonusReason: 'sorry' } }),
  },
  '/admin/wallets/:id/bonus/grant': {
    make: async () => ({
      ...(await wallet()),
      fields: { amount: '5', bonusReason: 'sorry', referenceId: crypto.randomUUID() },
    }),
  },
  '/admin/topups/:id/refund': {
    isRead: true,
    make: async () => ({ path: await topup(), fields: { ...reason, amount: '10' } }),
  },
  '/admin/topups/:id/refund/order': {
    make: async () => ({ path: await topup(), fields: { ...reason, amount: '10', key: crypto.randomUUID() } }),
  },
  '/admin/operators/invite': { make: async () => ({ fields: { role: 'viewer' } }) },
  '/admin/operators/invites/:id/revoke': {
    make: async () => {
      await invite()
      const [row] = await query<{ id: string }>(
        `select to_jsonb(i)->>'id' as id from operator_invites i order by created_at desc limit 1`,
      )
      return { path: { id: row!.id } }
    },
  },
  '/admin/operators/:id/access': {
    make: async () => ({ path: { id: (await signedIn('full')).id }, fields: { role: 'viewer' } }),
  },
  '/admin/operators/:id/reset': { make: async () => ({ path: { id: (await signedIn('full')).id } }) },
  '/admin/operators/:id/sign-out': { make: async () => ({ path: { id: (await signedIn('full')).id } }) },
  '/admin/account/password': {
    make: async () => ({ by: await signedIn('full'), fields: { before: password, after: `${password} again` } }),
  },
  '/admin/account/recovery-codes': { make: async () => ({ by: await signedIn('full'), fields: { own: password } }) },
  '/admin/account/second-factor': { make: async () => ({ by: await signedIn('full'), fields: { own: password } }) },
  '/admin/account/sessions/end': {
    make: async () => {
      const by = await signedIn('full')
      const [row] = await query<{ id: string }>(
        'select id from operator_sessions where operator_id = $1 order by created_at limit 1',
        [by.id],
      )
      return { by, fields: { id: row!.id } }
    },
  },
  '/admin/account/sessions/end-all': { make: async () => ({ by: await signedIn('full') }) },
}

/** By the link that the page shows. */
async function invite(): Promise<string> {
  const page = await (await admin.post('/admin/operators/invite', { role: 'viewer' })).text()
  return /\/admin\/welcome\?token=[\w-]+/.exec(page)![0]
}

async function secretOf(clientId: string): Promise<string> {
  return (await query<{ id: string }>('select id from app_secrets where client_id = $1', [clientId]))[0]!.id
}

const posts = adminRoutes.filter((route) => route.method === 'POST')

describe('a form of the admin area is on record before or with what it changes:', () => {
  test.each(posts.map((route) => [route.path]))('POST %s', async (route) => {
    const form = forms[route]
    if (!form) throw new Error(`No input is known for POST ${route}: add it to forms, so that its record is tested.`)
    const { path = {}, fields = {}, by = { ...admin, actor: `operator:${admin.id}` } } = await form.make()
    const target = route.replace(/:(\w+)/g, (_, name: string) => path[name]!)
    let status = 0
    const { changed, silent } = await changesBy(by.actor, async () => {
      status = (await by.post(target, fields)).status
    })
    expect([200, 303]).toContain(status)
    expect(changed.length > 0).toBe(!form.isRead)
    expect(silent).toEqual([])
  })
})

test('the forms whose record is tested are those of the admin area', () => {
  const known = new Set(posts.map((route) => route.path))
  expect(Object.keys(forms).filter((path) => !known.has(path))).toEqual([])
})

type Line = { readonly isRead?: true; readonly make: () => Promise<string[]> }

const email = async (): Promise<string> => {
  const { userId } = await newUser(bench.service, bench.credentials)
  return `${userId}@example.com`
}
const newClientId = async () => (await newApp(bench.service)).clientId

/** Every command, with arguments that are accepted; what stands before is its name. */
const lines: Record<string, Line> = {
  'app create': { make: async () => ['--name', 'By hand'] },
  'app list': { isRead: true, make: async () => [] },
  'app show': { isRead: true, make: async () => [await newClientId()] },
  'app edit': { make: async () => [await newClientId(), '--name', 'Edited'] },
  'app activate': { make: async () => [await newClientId()] },
  'app deactivate': { make: async () => [await newClientId()] },
  'app rotate': { make: async () => [await newClientId()] },
  'app revoke-secret': {
    make: async () => {
      const clientId = await newClientId()
      return [clientId, await secretOf(clientId)]
    },
  },
  'user create': {
    make: async () => {
      const names = ['--email', 'ann@example.com', '--first', 'Ann', '--last', 'Lee']
      return [...names, '--link', bench.credentials.clientId]
    },
  },
  'wallet show': { isRead: true, make: async () => [await email()] },
  'wallet freeze': { make: async () => [await email(), '--reason', 'x'] },
  'wallet unfreeze': {
    make: async () => {
      const { userId } = await newUser(bench.service, bench.credentials)
      await admin.post(`/admin/wallets/${userId}/freeze`, reason)
      return [userId, '--reason', 'x']
    },
  },
  'wallet credit': { make: async () => [await email(), '--amount', '5', '--reason', 'x'] },
  'admin create': { make: async () => ['--email', 'new-operator@example.com'] },
  'admin reset': { make: async () => [(await newOperator(bench.opened)).email] },
  'admin list': { isRead: true, make: async () => [] },
  'admin remove': { make: async () => [(await newOperator(bench.opened)).email] },
  'admin invites': { isRead: true, make: async () => [] },
  'admin revoke': {
    make: async () => {
      const { path } = await forms['/admin/operators/invites/:id/revoke']!.make()
      return [path!['id']!]
    },
  },
  // The page is not there; that is an answer too.
  doctor: { isRead: true, make: async () => ['http://127.0.0.1:1/', '--app', bench.credentials.clientId] },
  migrate: { isRead: true, make: async () => [] },
  verify: { isRead: true, make: async () => [] },
  export: { isRead: true, make: async () => [join(folder, 'export.billfold')] },
  'keys rotate': {
    make: async () => {
      await giveSecret('totp_secret', (await newOperator(bench.opened)).id)
      return []
    },
  },
  seed: { make: async () => ['--users', '3', '--link', bench.credentials.clientId, '--credit', '5'] },
}

const otherKey = Buffer.alloc(32, 'other').toString('base64')

function environment(): Record<string, string> {
  return {
    DATABASE_URL: bench.opened.databaseUrl,
    DATA_DIR: folder,
    BILLFOLD_PASSWORD: password,
    SECRETS_KEY: `${otherKey},${secretsKey}`,
  }
}

// An import switches triggers off, and is looked at below.
const watched = commands.filter(({ name }) => name !== 'import')

test('the commands whose record is tested are those there are', () => {
  const known = new Set(watched.map(({ name }) => name))
  expect(Object.keys(lines).filter((name) => !known.has(name))).toEqual([])
})

describe('a command is on record before or with what it changes:', () => {
  test.each(watched.map(({ name }) => [name]))('%s', async (name) => {
    const line = lines[name]
    if (!line) throw new Error(`No arguments are known for ${name}: add them to lines, so that its record is tested.`)
    const args = [...name.split(' '), ...(await line.make())]
    let ended: unknown
    const { changed, silent } = await changesBy('cli', async () => {
      ended = await callCommand(args, environment())
    })
    if (name !== 'doctor') expect(ended).toMatchObject({ exitCode: 0, stderr: '' })
    expect(changed.length > 0).toBe(!line.isRead)
    expect(silent).toEqual([])
  })

  test('import', async () => {
    const file = join(folder, 'import.billfold')
    await callCommand(['export', file], environment())
    const empty = await testDatabase()
    const imported = await callCommand(['import', file], { ...environment(), DATABASE_URL: empty.url })
    const db = openDatabase(empty.connection, 1)
    const { rows } = await db.pool.query(
      `select count(*)::int as records from audit a join users u on u.xmin = a.xmin
       where a.action = 'books.imported' and a.actor like 'cli%' having count(*) > 0`,
    )
    await db.pool.end()
    await empty.drop()
    expect([imported.exitCode, rows.length]).toEqual([0, 1])
  })
})
