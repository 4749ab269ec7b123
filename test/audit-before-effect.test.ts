/**
 * Every change by an operator or the command line is in the audit log, in the same transaction or before it. The tests send every form
 * of the admin area and run every command once; triggers record each changed row, in order and with its transaction.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeLog } from '../src/actions/proofs/describe-log.ts'
import { proveEntry } from '../src/actions/proofs/prove-entry.ts'
import { runDue } from '../src/work/runner.ts'
import { sendMail } from '../src/work/send-mail.ts'
import { adminRoutes } from '../src/admin/pages.tsx'
import { loadCommands } from '../src/cli/commands.ts'
import { receiptCodeOf } from '../src/ledger/receipt-code.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { listTables, quoted } from '../src/store/migrations/tables.ts'
import { newClient } from './client.ts'
import { callCommand } from './command.ts'
import { eventually } from './eventually.ts'
import { letHoldsAge, sweepHolds } from './holds.ts'
import { adminForms, type AdminForms } from './admin-forms.ts'
import { newOperator, password, type TestOperator } from './operator.ts'
import { testDatabase } from './postgres.ts'
import { sealAll } from './sealed-books.ts'
import { newApp, newUser, secretsKey } from './service.ts'
import { openBench, type Bench } from './topup/rig.ts'

setDefaultTimeout(180_000)

let bench: Bench
let admin: TestOperator
let known: AdminForms
const folder = await mkdtemp(join(tmpdir(), 'billfold-audit-'))

beforeAll(async () => {
  bench = await openBench({}, 20_000)
  admin = await newOperator(bench.opened)
  known = adminForms(bench, admin)
  await watchChanges()
})
afterAll(async () => {
  await bench.close()
  await rm(folder, { recursive: true })
})

const query = async <T>(sql: string, values: unknown[] = []) =>
  (await bench.service.db.pool.query(sql, values)).rows as T[]

/**
 * These hold only counters and caches: attempts, requests, the check of the books, submitted forms, known reference types, sign-ins that
 * were sent to the identity provider; and the hashes of what is recorded elsewhere.
 */
const bookkeeping = [
  'limits',
  'minutes',
  'books_check',
  'verified_wallets',
  'operator_forms',
  'billfold_migrations',
  'reference_types',
  'oidc_starts',
  'wallet_heads',
  'wallet_subtrees',
  'log_leaves',
  'log_subtrees',
  'log_days',
  'log_checkpoints',
  'log_state',
  'log_publications',
]

/** In a separate schema, so that it is not mistaken for a table of the service. */
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

/**
 * Waits until the background writes of the preparation are done, so that none is recorded as a change. Also marks every operator as just
 * seen, because the service would update that after half a minute.
 */
async function waitForBackgroundWrites(): Promise<void> {
  const { db, repeats, referenceTypes } = bench.service
  await Promise.all([repeats.close(), referenceTypes.close(), runDue(bench.service, sendMail)])
  await query('update operator_sessions set seen_at = now()')
  const busy = `select query from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and state <> 'idle'`
  const running = 'select kind, key from work where leased_until > now()'
  await eventually(async () => [db.pool.waitingCount, await query(busy), await query(running)], [0, [], []])
}

type Change = { number: bigint; name: string; operation: string; transaction: bigint; actor: string | null }

/** All changes, and those without an audit record of this actor in the same transaction or before. */
async function changesBy(actor: string, act: () => Promise<unknown>): Promise<{ changed: string[]; silent: string[] }> {
  await waitForBackgroundWrites()
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

const posts = adminRoutes.filter((route) => route.method === 'POST')

describe('a form of the admin area is in the audit log before or with its changes:', () => {
  test.each(posts.map((route) => [route.path]))('POST %s', async (route) => {
    const form = known.forms[route]
    if (!form)
      throw new Error(
        `No input is known for POST ${route}: add it to test/admin-forms.ts, so that its record is tested.`,
      )
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

test('the forms whose audit record is tested are those of the admin area', () => {
  const there = new Set(posts.map((route) => route.path))
  expect(Object.keys(known.forms).filter((path) => !there.has(path))).toEqual([])
})

type Line = { readonly isRead?: true; readonly make: () => Promise<string[]> }

const email = async (): Promise<string> => {
  const { userId } = await newUser(bench.service, bench.credentials)
  return `${userId}@example.com`
}
const newClientId = async () => (await newApp(bench.service)).clientId

/** Its number. */
const newClosedPeriod = async () => {
  await newReceiptCode()
  await callCommand(['period', 'close'], environment())
  const { rows } = await bench.service.db.pool.query<{ id: number }>('select max(id) as id from closings')
  return String(rows[0]!.id)
}

const periodsInDatabase = async () => {
  const { rows } = await bench.service.db.pool.query<{ id: number }>(
    'select id from closings c where not exists (select from archives a where a.closing_id = c.id) order by id',
  )
  return rows.map(({ id }) => String(id))
}

/** The oldest period in the database, with nothing that still needs it; its files, and those of the later ones, are written. */
const newSettledArchive = async () => {
  await letHoldsAge(bench.opened, 60 * 86_400)
  await sweepHolds(bench.opened)
  await newClosedPeriod()
  await callCommand(['period', 'index'], environment())
  for (const table of ['event_pages', 'journal', 'new_links']) await query(`delete from ${table}`)
  await sealAll(bench.service)
  const periods = await periodsInDatabase()
  for (const period of periods)
    await callCommand(['archive', 'write', period, '--to', join(folder, 'dropped-archive')], environment())
  return periods.slice(0, 1)
}

const newReceiptCode = async () => {
  const { serviceUserId } = await newUser(bench.service, bench.credentials)
  const { body } = await newClient(bench.app.fetch, bench.credentials).credit(serviceUserId, 5)
  return receiptCodeOf(String(body['transactionId']).slice('txn_'.length))
}

/** A new entry that is sealed and proven: the files of its proof and of the newest checkpoint, and the key that checks them. */
const newProof = async () => {
  const { serviceUserId, userId } = await newUser(bench.service, bench.credentials)
  await newClient(bench.app.fetch, bench.credentials).credit(serviceUserId, 5)
  await sealAll(bench.service)
  const [proof, checkpoint] = [join(folder, 'entry.proof'), join(folder, 'signed')]
  const result = await proveEntry(bench.service, { walletId: userId, sequence: 1 })
  const { newest, publicKey } = (await describeLog(bench.service))!
  await writeFile(proof, result.kind === 'proof' ? result.file : result.kind)
  await writeFile(checkpoint, newest!.note)
  return { userId, proof, checkpoint, key: publicKey! }
}

/** Every command by its name, with valid arguments. */
const lines: Record<string, Line> = {
  'app create': { make: async () => ['--name', 'By hand'] },
  'app list': { isRead: true, make: async () => [] },
  'app show': { isRead: true, make: async () => [await newClientId()] },
  'app edit': { make: async () => [await newClientId(), '--name', 'Edited'] },
  'app activate': { make: async () => [await newClientId()] },
  'app deactivate': { make: async () => [await newClientId()] },
  'app events': { make: async () => [await newClientId(), 'on'] },
  'app rotate': { make: async () => [await newClientId()] },
  'app revoke-secret': {
    make: async () => {
      const clientId = await newClientId()
      return [clientId, await known.secretOf(clientId)]
    },
  },
  'endpoint add': { make: async () => [(await known.appWithEvents()).clientId, 'https://shop.example/hooks'] },
  'endpoint list': { isRead: true, make: async () => [(await known.endpoint()).clientId] },
  'endpoint rotate': { make: async () => [(await known.endpoint()).id] },
  'endpoint test': { make: async () => [(await known.appWithEvents()).clientId] },
  'endpoint disable': { make: async () => [(await known.endpoint()).id] },
  'endpoint enable': {
    make: async () => {
      const { id } = await known.endpoint()
      await bench.service.db.pool.query(
        `update endpoints set disabled_at = now(), disabled_for = 'operator' where id = $1`,
        [id],
      )
      return [id]
    },
  },
  'endpoint remove': { make: async () => [(await known.endpoint()).id] },
  // Without credentials it is refused; it would not end by itself.
  listen: { isRead: true, make: async () => ['--forward-to', 'http://127.0.0.1:9/'] },
  'events list': { isRead: true, make: async () => [(await known.endpoint()).clientId] },
  'events show': { isRead: true, make: async () => [(await known.endpoint()).clientId, '1'] },
  'events replay': { make: async () => [(await known.endpoint()).id, '--first', '1'] },
  'endpoint replay': { make: async () => [(await known.endpoint()).id, '--first', '1'] },
  'app settlements': { isRead: true, make: async () => [await newClientId()] },
  'app settle': {
    make: async () => [await known.owedApp(), '--through', '2026-01-31', '--reference', 'SEPA 4711'],
  },
  'app unsettle': {
    make: async () => [(await known.settledApp()).clientId, '--reason', 'it came back'],
  },
  'user create': {
    make: async () => {
      const names = ['--email', 'ann@example.com', '--first', 'Ann', '--last', 'Lee']
      return [...names, '--link', bench.credentials.clientId]
    },
  },
  'user export': { make: async () => [await email(), '--reason', 'x', '--out', join(folder, 'user.json')] },
  'user delete': { make: async () => [await email(), '--reason', 'x'] },
  'wallet show': { isRead: true, make: async () => [await email()] },
  'wallet receipt': { isRead: true, make: async () => [await newReceiptCode()] },
  'wallet freeze': { make: async () => [await email(), '--reason', 'x'] },
  'wallet unfreeze': {
    make: async () => {
      const { userId } = await newUser(bench.service, bench.credentials)
      await admin.post(`/admin/wallets/${userId}/freeze`, known.reason)
      return [userId, '--reason', 'x']
    },
  },
  'wallet credit': { make: async () => [await email(), '--amount', '5', '--reason', 'x'] },
  'wallet correct': { make: async () => [await email(), '--credit', '5', '--reason', 'x'] },
  'correction list': { isRead: true, make: async () => [] },
  'correction approve': { make: async () => [await known.waitingCorrection('operator:somebody')] },
  'correction decline': { make: async () => [await known.waitingCorrection('operator:somebody'), '--reason', 'x'] },
  'correction withdraw': { make: async () => [await known.waitingCorrection('cli:somebody')] },
  'hold list': { isRead: true, make: async () => [] },
  'hold show': { isRead: true, make: async () => [await known.openHold()] },
  'hold void': { make: async () => [await known.openHold(), '--reason', 'x'] },
  'period close': { make: async () => [] },
  'period index': {
    make: async () => {
      await email()
      await callCommand(['period', 'close'], environment())
      await query('update closings set transfers = null, outcomes = null, indexed_at = null')
      return []
    },
  },
  'period list': { isRead: true, make: async () => [] },
  'archive write': { isRead: true, make: async () => [await newClosedPeriod(), '--to', join(folder, 'archive')] },
  'archive check': {
    isRead: true,
    make: async () => {
      const to = join(folder, 'checked-archive')
      await callCommand(['archive', 'write', await newClosedPeriod(), '--to', to], environment())
      return [to]
    },
  },
  'archive drop': {
    make: async () => {
      const to = await newSettledArchive()
      return [...to, '--from', join(folder, 'dropped-archive')]
    },
  },
  'archive restore': {
    make: async () => {
      await newSettledArchive()
      const from = ['--from', join(folder, 'dropped-archive')]
      for (const period of await periodsInDatabase())
        await callCommand(['archive', 'drop', period, ...from], environment())
      const { rows } = await bench.service.db.pool.query<{ id: number }>('select max(closing_id) as id from archives')
      return [String(rows[0]!.id), ...from]
    },
  },
  'admin create': { make: async () => ['--email', 'new-operator@example.com'] },
  'admin invite': { make: async () => ['--email', 'new-invited@example.com'] },
  'admin role': { make: async () => [(await newOperator(bench.opened)).email, 'viewer'] },
  'admin restore': {
    make: async () => {
      const { id, email } = await newOperator(bench.opened)
      await bench.service.db.pool.query('update operators set is_active = false where id = $1', [id])
      return [email]
    },
  },
  'admin reset': { make: async () => [(await newOperator(bench.opened)).email] },
  'admin list': { isRead: true, make: async () => [] },
  'admin remove': { make: async () => [(await newOperator(bench.opened)).email] },
  'admin invites': { isRead: true, make: async () => [] },
  'admin revoke': {
    make: async () => {
      const { path } = await known.forms['/admin/operators/invites/:id/revoke']!.make()
      return [path!['id']!]
    },
  },
  // Neither the service nor the page exists; the command reports that.
  conform: {
    isRead: true,
    make: async () => {
      const { clientId } = bench.credentials
      return ['--url', 'http://127.0.0.1:1', '--client-id', clientId, '--service-user-id', 'su_none']
    },
  },
  doctor: { isRead: true, make: async () => ['http://127.0.0.1:1/', '--app', bench.credentials.clientId] },
  migrate: { isRead: true, make: async () => [] },
  // This database lacks the extension: the command is refused, and changes nothing.
  distribute: { isRead: true, make: async () => [] },
  verify: { isRead: true, make: async () => [] },
  'verify-receipt': {
    isRead: true,
    make: async () => {
      const { proof, key } = await newProof()
      return [proof, '--key', key]
    },
  },
  'log show': {
    isRead: true,
    make: async () => {
      await newProof()
      return []
    },
  },
  'log prove': { isRead: true, make: async () => [(await newProof()).userId, '1'] },
  'log verify': {
    isRead: true,
    make: async () => {
      const { checkpoint, key } = await newProof()
      return ['--checkpoint', checkpoint, '--key', key]
    },
  },
  'log publish': {
    isRead: true,
    make: async () => {
      await newProof()
      return []
    },
  },
  // The card processor in the command's environment is the sandbox.
  reconcile: { make: async () => [] },
  'reconcile settle': {
    make: async () => {
      const { fields } = await known.forms['/admin/reconciliation/difference']!.make()
      return [String(fields!['payment']), 'charge', '--processor', '1.00', '--ledger', '0.00', '--reason', 'x']
    },
  },
  export: {
    isRead: true,
    make: async () => [join(folder, 'export.billfold')],
  },
  'keys rotate': {
    make: async () => {
      await known.giveSecret('totp_secret', (await newOperator(bench.opened)).id)
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
    BILLFOLD_CLIENT_SECRET: bench.credentials.clientSecret,
    SECRETS_KEY: `${otherKey},${secretsKey}`,
    CHECKPOINTS: join(folder, 'published'),
  }
}

// An import disables triggers; a separate test below covers it.
const watched = (await loadCommands()).filter(({ name }) => name !== 'import')

test('the commands whose audit record is tested are all commands', () => {
  const there = new Set(watched.map(({ name }) => name))
  expect(Object.keys(lines).filter((name) => !there.has(name))).toEqual([])
})

describe('a command is in the audit log before or with its changes:', () => {
  test.each(watched.map(({ name }) => [name]))('%s', async (name) => {
    const line = lines[name]
    if (!line) throw new Error(`No arguments are known for ${name}: add them to lines, so that its record is tested.`)
    const args = [...name.split(' '), ...(await line.make())]
    let ended: unknown
    const { changed, silent } = await changesBy('cli', async () => {
      ended = await callCommand(args, environment())
    })
    if (!['doctor', 'conform', 'distribute', 'listen'].includes(name))
      expect(ended).toMatchObject({ exitCode: 0, stderr: '' })
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
