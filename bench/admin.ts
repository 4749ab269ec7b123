/**
 * `npx bun bench/admin.ts`: how long the service takes for each page of the admin area, with 100,000 wallets, a million
 * transfers (a tenth of them in one wallet) and 200,000 entries in the audit log. The goal is 100 ms.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { createApp } from '../src/actions/apps/manage-apps.ts'
import { grantBonus } from '../src/actions/money/manage-wallets.ts'
import { closeService, openService } from '../src/actions/service.ts'
import { parseConfig } from '../src/config.ts'
import { openLog } from '../src/log.ts'
import { openMetrics } from '../src/metrics.ts'
import { openDatabase } from '../src/store/database.ts'
import { startEmbedded } from '../src/store/embedded/embedded.ts'
import { migrate } from '../src/store/migrations/migrate.ts'
import { signIn, timePages, times } from './pages.ts'

const users = Number(process.argv[2] ?? 100_000)
const transfersPerUser = 9
const hotTransfers = users
const goalMs = 100

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
  const rows = await timePages(service, await signIn(service), pagesOf(hot, clientId, referenceId))
  console.table(rows)
  await writeFile(join(resultsDir, 'admin.json'), `${JSON.stringify({ users, times, rows }, null, 2)}\n`)
  const slow = rows.filter((row) => row.medianMs > goalMs)
  console.log(
    slow.length === 0 ? `every page within ${goalMs} ms` : `${slow.length} pages are slower than ${goalMs} ms`,
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
  await client.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select w.id, n, case when n = 1 then 10000000 else -1 end, 10000001 - n, gen_random_uuid(),
       now() - interval '100 days' + interval '100 days' * n / (w.count + 1), case when n = 1 then 'bonus' else $1 end,
       case when n = 1 then 'BONUS' else 'ORDER_PAYMENT' end, 'seed-' || n
     from ${counts} w, generate_series(1, w.count) n`,
    [`app:${clientId}`],
  )
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

function pagesOf(hot: string, clientId: string, referenceId: string): Record<string, string> {
  const month = new Date().toISOString().slice(0, 7)
  const account = encodeURIComponent(`app:${clientId}`)
  return {
    Overview: '/admin',
    'Client apps': '/admin/client-apps',
    'One client app': `/admin/client-apps/${clientId}`,
    'Wallets, newest': '/admin/wallets',
    'Wallets, frozen': '/admin/wallets?state=frozen',
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
