/**
 * `npx bun bench/admin.ts [wallets]`: how long each page of the admin area and each kind of search takes, with 100,000 wallets, ten
 * times as many transfers over 100 days (a tenth of them in one wallet), top-ups, and 200,000 entries in the audit log. The goal is
 * 200 ms in the database, with a million wallets and ten million transfers too: `npx bun bench/admin.ts 1000000`.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { createApp } from '../src/actions/apps/manage-apps.ts'
import { grantBonus } from '../src/actions/money/manage-wallets.ts'
import { closeService, openService } from '../src/actions/service.ts'
import { parseConfig } from '../src/config.ts'
import { receiptCodeOf } from '../src/ledger/receipt-code.ts'
import { openLog } from '../src/log.ts'
import { openMetrics } from '../src/metrics.ts'
import { openDatabase } from '../src/store/database.ts'
import { startEmbedded } from '../src/store/embedded/embedded.ts'
import { migrate } from '../src/store/migrations/migrate.ts'
import { signIn, timePages, times } from './pages.ts'

const users = Number(process.argv[2] ?? 100_000)
const transfersPerUser = 9
const hotTransfers = users
const goalMs = 200

const resultsDir = join(import.meta.dir, 'results')
await mkdir(resultsDir, { recursive: true })
const dataDir = await mkdtemp(join(resultsDir, 'admin-'))
const embedded = await startEmbedded({ dataDir, log: () => {} })
try {
  await run()
} finally {
  await embedded.release()
  await rm(dataDir, { recursive: true, force: true })
}
process.exit()

async function run(): Promise<void> {
  const client = new Client(embedded.connection)
  await client.connect()
  await migrate(client)
  const db = openDatabase(embedded.connection)
  const config = parseConfig({ DEMO: '0', LOG_LEVEL: 'silent' })
  const service = openService({
    config,
    db,
    log: openLog('silent', () => {}),
    metrics: openMetrics(),
    now: () => new Date(),
  })
  const actor = { name: 'bench', address: null }
  const settings = {
    name: 'Load',
    allowedOrigins: [],
    allowedIframeParents: [],
    scopes: [],
    strictReferences: false,
    accentColor: null,
    logoUrl: null,
  }
  const { clientId } = await createApp(service, actor, settings)
  console.log(`seeding ${users} wallets and ${users * transfersPerUser + hotTransfers} transfers …`)
  const hot = await seed(client, clientId)
  const referenceId = crypto.randomUUID()
  await grantBonus(service, actor, { walletId: hot, amountMinor: 100n, referenceId, reason: 'For the inspector' })
  const rows = await timePages(service, await signIn(service), await pagesOf(client, hot, clientId, referenceId))
  console.table(rows)
  await writeFile(join(resultsDir, 'admin.json'), `${JSON.stringify({ users, times, rows }, null, 2)}\n`)
  const slow = rows.filter((row) => row.databaseMs > goalMs)
  console.log(
    slow.length === 0
      ? `every page within ${goalMs} ms in the database`
      : `more than ${goalMs} ms in the database: ${slow.map((row) => row.page).join(', ')}`,
  )
  await closeService(service)
  await db.pool.end()
  await client.end()
}

/** True books: verify has nothing to say about them. Returns the busiest wallet. */
async function seed(client: Client, clientId: string): Promise<string> {
  await client.query(
    `with person as (
       insert into users (id, email, first_name, last_name)
       select uuidv7(), 'load' || n || '@example.com', (array['Ada','Grace','Alan','Edsger','Barbara'])[1 + n % 5], 'User' || n
       from generate_series(1, $1::integer) n returning id
     ), wallet as (insert into wallets (id) select id from person)
     insert into links (id, client_id, user_id) select 'su_' || replace(gen_random_uuid()::text, '-', ''), $2, id from person`,
    [users, clientId],
  )
  const { rows } = await client.query<{ id: string }>('select id from wallets order by id limit 1 offset 77')
  const hot = rows[0]!.id
  const counts = `(select id, case when id = '${hot}' then ${hotTransfers + transfersPerUser} else ${transfersPerUser} end as count from wallets)`
  // In the order of time, as entries are written; with the keys that their references have.
  await client.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select id, n, case when n = 1 then 10000000 else -1 end, 10000001 - n,
       encode(substring(sha256(convert_to(namespace, 'UTF8') || '\\x00'::bytea || convert_to(type, 'UTF8') || '\\x00'::bytea
         || convert_to(reference, 'UTF8')) from 1 for 16), 'hex')::uuid,
       at, case when n = 1 then 'bonus' else $1 end, type, reference
     from (select w.id, n, now() - interval '100 days' + interval '100 days' * n / (w.count + 1) as at,
         case when n = 1 then 'service' else $1 end as namespace,
         case when n = 1 then 'BONUS' else 'ORDER_PAYMENT' end as type, 'seed-' || w.id || '-' || n as reference
       from ${counts} w, generate_series(1, w.count) n) entry
     order by at, id`,
    [`app:${clientId}`],
  )
  await client.query(
    `insert into reference_types select 'app:bench-' || n, 'TYPE_' || type from generate_series(1, 1000) n, generate_series(1, 5) type
     union all values ($1, 'ORDER_PAYMENT'), ('service', 'BONUS') on conflict do nothing`,
    [`app:${clientId}`],
  )
  await client.query(
    `insert into topups (id, user_id, client_id, processor, payment_intent_id, amount, currency, state, created_at, updated_at, expires_at)
     select uuidv7(), id, $1, 'stripe', 'pi_' || replace(id::text, '-', ''), 2500, 'USD', 'cancelled', at, at, at
     from (select id, now() - interval '100 days' * random() as at from wallets) w order by at`,
    [clientId],
  )
  await client.query(`insert into minutes (minute, process, requests, faults, debits, credits, refusals, took, widgets)
    select date_trunc('minute', now()) - n * interval '1 minute', gen_random_uuid(), 600, 0, 500, 50, 5, '{100,200,100,100,50,30,10,5,3,1,1}', 7
    from generate_series(0, 2879) n, generate_series(1, 4) process`)
  await client.query(`insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
    select reference_key, wallet_id, amount, balance_after, sequence, created_at from transfers`)
  await client.query(`insert into positions (counter_account, day, writer, debited, credited, transfers)
    select counter_account, (created_at at time zone 'UTC')::date, 99, sum(greatest(-amount, 0)), sum(greatest(amount, 0)), count(*)
    from transfers group by 1, 2`)
  await client.query(`update wallets w set sequence = c.count, balance = 10000001 - c.count,
    frozen_for = case when random() < 0.01 then 'operator' end from ${counts} c where c.id = w.id`)
  await client.query(`insert into audit (id, at, actor, action, subject)
    select uuidv7(), now() - interval '1 second' * n, 'operator:' || (n % 7), 'bench.' || (n % 20), 'wallet:' || (n % 1000)
    from generate_series(1, 200000) n`)
  await client.query('vacuum analyze')
  return hot
}

function search(q: string): string {
  return `/admin/search?q=${encodeURIComponent(q)}`
}

async function pagesOf(
  client: Client,
  hot: string,
  clientId: string,
  referenceId: string,
): Promise<Record<string, string>> {
  const month = new Date().toISOString().slice(0, 7)
  const account = encodeURIComponent(`app:${clientId}`)
  const day = new Date(Date.now() - 50 * 86_400_000).toISOString().slice(0, 10)
  const { rows } = await client.query<{ key: string; link: string }>(
    `select replace(t.reference_key::text, '-', '') as key, l.id as link from transfers t join links l on l.user_id = t.wallet_id
     where t.wallet_id = $1 order by t.sequence desc limit 1`,
    [hot],
  )
  const { key, link } = rows[0]!
  return {
    'Overview, an hour': '/admin?range=hour',
    'Overview, a day': '/admin?range=day',
    'Overview, a week': '/admin?range=week',
    'Overview, a quarter': '/admin?range=quarter',
    'Search: an email': search('load77777@example.com'),
    'Search: a name': search('ada'),
    'Search: a user id': search(hot),
    'Search: a serviceUserId': search(link),
    'Search: a transaction': search(`txn_${key}`),
    'Search: a receipt': search(receiptCodeOf(key)),
    'Search: a reference id': search(`seed-${hot}-2`),
    'Search: a payment': search(`pi_${hot.replaceAll('-', '')}`),
    'Search: an amount on a day': search(`0.01 ${day}`),
    'Search: an amount that no entry of a day has': search(`77.77 ${day}`),
    'Search: nothing': search('nothing at all'),
    'Top-ups': '/admin/topups',
    'Top-ups, a rare state': '/admin/topups?state=failed',
    'Top-ups, disputed': '/admin/topups?state=disputed',
    'Top-ups of one user': `/admin/topups?user=${hot}`,
    Corrections: '/admin/corrections',
    'Client apps': '/admin/client-apps',
    'One client app': `/admin/client-apps/${clientId}`,
    'Wallets, newest': '/admin/wallets',
    'Wallets, frozen': '/admin/wallets?state=frozen',
    'Wallets, in debt': '/admin/wallets?state=debt',
    'Wallets, oldest': '/admin/wallets?order=oldest',
    'Search that fits all': '/admin/wallets?q=load',
    'Search by a common name': '/admin/wallets?q=ada',
    'Search by an email': '/admin/wallets?q=load77777%40',
    'Search, deep page': `/admin/wallets?q=load&after=${hot}+load8`,
    'Search without a hit': '/admin/wallets?q=zzz',
    'The busiest wallet': `/admin/wallets/${hot}`,
    'Busiest wallet, deep page': `/admin/wallets/${hot}?before=${Math.floor(hotTransfers / 2)}`,
    'Busiest wallet, one month': `/admin/wallets/${hot}?month=${month}`,
    'Busiest wallet, filter without a hit': `/admin/wallets/${hot}?ref=nothing`,
    'Statement of a month, busiest wallet': `/admin/wallets/${hot}/statement?month=2020-01`,
    References: `/admin/references?type=BONUS&id=${referenceId}`,
    Books: '/admin/books',
    'Books of one account': `/admin/books?account=${account}`,
    'Audit log': '/admin/audit',
    'Audit log, one action': '/admin/audit?action=bench.7',
    'Audit log, one subject': '/admin/audit?subject=wallet%3A7',
    Operators: '/admin/operators',
  }
}
