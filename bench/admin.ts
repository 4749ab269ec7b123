/**
 * `npx bun bench/admin.ts [wallets]`: the time of each page of the admin area and of each kind of search, with 100,000 wallets, ten
 * times as many transfers over a year (a tenth of them in one wallet), top-ups, and 200,000 entries in the audit log. The goal is
 * 200 ms in the database, with a million wallets and ten million transfers too: `npx bun bench/admin.ts 1000000`. A load that was
 * stopped resumes; with `--keep` it stays for the next run.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { grantBonus } from '../src/actions/money/grant-bonus.ts'
import { closeService, openService } from '../src/actions/service.ts'
import { parseConfig } from '../src/config.ts'
import { receiptCodeOf } from '../src/ledger/receipt-code.ts'
import { openLog } from '../src/platform/log.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { mergeMinutes } from '../src/store/minutes.ts'
import { startCluster, type BenchDatabase } from './cluster.ts'
import { growWallet } from './history.ts'
import { signIn, timePages, times } from './pages.ts'
import { seed } from './seed.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
})
const users = Number(positionals[0] ?? 100_000)
const transfersPerUser = 9
const hotTransfers = users
const goalMs = 200

const resultsDir = join(import.meta.dir, 'results')
const dataDir = join(resultsDir, `admin-${users}`)
await mkdir(dataDir, { recursive: true })
const cluster = await startCluster(dataDir)
// An interrupted load stays for the next run.
const interrupted = () => void cluster.stop(true).finally(() => process.exit(130))
process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
let isDone = false
try {
  await run(await cluster.openDatabase('admin'))
  isDone = true
} finally {
  await cluster.stop(values.keep || !isDone)
}
process.exit()

async function run(database: BenchDatabase): Promise<void> {
  console.log(`${users} wallets and ${users * transfersPerUser + hotTransfers} transfers, in ${dataDir}`)
  const { clientId } = await seed(database, { users, transfersPerUser }, { usersFile: join(dataDir, 'admin.users') })
  const [row] = await database.query('select id from wallets order by id limit 1 offset 77')
  const hot = row!['id']!
  await growWallet(database, clientId, hot, transfersPerUser + hotTransfers)
  await addTheRest(database, clientId)
  const db = openDatabase(database.connection)
  // The job has merged them by the time there are two days of them.
  await mergeMinutes(db.longRunning)
  const config = parseConfig({ DEMO: '0', LOG_LEVEL: 'silent' })
  const log = openLog('silent', () => {})
  const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
  const referenceId = crypto.randomUUID()
  const bonus = { walletId: hot, amountMinor: 100n, referenceId, reason: 'For the inspector' }
  await grantBonus(service, { name: 'bench', address: null }, bonus)
  const pages = Object.entries(await pagesOf(database, hot, clientId, referenceId))
  const wanted = Object.fromEntries(pages.filter(([name]) => name.includes(values.only)))
  const rows = await timePages(service, await signIn(service), wanted)
  console.table(rows)
  await writeFile(join(resultsDir, 'admin.json'), `${JSON.stringify({ users, times, rows }, null, 2)}\n`)
  const slow = rows.filter((each) => each.databaseMs > goalMs)
  console.log(
    slow.length === 0
      ? `every page within ${goalMs} ms in the database`
      : `more than ${goalMs} ms in the database: ${slow.map((each) => each.page).join(', ')}`,
  )
  await closeService(service)
  await db.pool.end()
}

/** Rows besides transfers: top-ups, minutes, the audit log; one wallet in a hundred is frozen. */
function theRest(clientId: string): string[] {
  return [
    `insert into reference_types select 'app:bench-' || n, 'TYPE_' || type from generate_series(1, 1000) n, generate_series(1, 5) type
   union all values ('app:${clientId}', 'ORDER_PAYMENT'), ('service', 'BONUS') on conflict do nothing`,
    `insert into topups (id, user_id, client_id, processor, payment_intent_id, amount, currency, state, created_at, updated_at, expires_at)
   select uuidv7(), id, '${clientId}', 'stripe', 'pi_' || replace(id::text, '-', ''), 2500, 'USD', 'cancelled', at, at, at
   from (select id, now() - interval '100 days' * random() as at from wallets) w order by at`,
    `insert into minutes (minute, process, requests, faults, debits, credits, refusals, took, widgets)
   select date_trunc('minute', now()) - n * interval '1 minute', gen_random_uuid(), 600, 0, 500, 50, 5, '{100,200,100,100,50,30,10,5,3,1,1}', 7
   from generate_series(0, 2879) n, generate_series(1, 4) process`,
    `update wallets set frozen_for = 'operator' where random() < 0.01`,
    `insert into audit (id, at, actor, action, subject)
   select uuidv7(), now() - interval '1 second' * n, 'operator:' || (n % 7), 'bench.' || (n % 20), 'wallet:' || (n % 1000)
   from generate_series(1, 200000) n`,
  ]
}

async function addTheRest(database: BenchDatabase, clientId: string): Promise<void> {
  const [is] = await database.query(`select to_regclass('bench.rest') as rest`)
  if (!is?.['rest']) {
    await database.query([...theRest(clientId), 'create table bench.rest ()'].join(';\n'))
    await database.query('vacuum analyze')
  }
}

function search(q: string): string {
  return `/admin/search?q=${encodeURIComponent(q)}`
}

async function pagesOf(
  database: BenchDatabase,
  hot: string,
  clientId: string,
  referenceId: string,
): Promise<Record<string, string>> {
  const month = new Date().toISOString().slice(0, 7)
  const account = encodeURIComponent(`app:${clientId}`)
  const day = new Date(Date.now() - 50 * 86_400_000).toISOString().slice(0, 10)
  const [newest] = await database.query(
    `select replace(t.reference_key::text, '-', '') as key, l.id as link from transfers t join links l on l.user_id = t.wallet_id
     where t.wallet_id = $1 order by t.sequence desc limit 1`,
    [hot],
  )
  const [key, link] = [newest!['key']!, newest!['link']!]
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
    'Search: a reference id': search(`past-2-${hot}`),
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
