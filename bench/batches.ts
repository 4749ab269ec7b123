/**
 * `npm run bench -- batches --database URL [--sizes 128,1024] [--batches 40]`: batches of a fixed size, one after the other, and the
 * processor time of each node per batch. Unlike debits a second, it does not depend on how busy the machine is, so it compares
 * clusters with more nodes or shards. It leaves an app, its users and their transfers behind: use a test database.
 */
import { mkdir, mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { postForApp } from '../src/actions/money/post.ts'
import { closeService, openService } from '../src/actions/service.ts'
import { parseConfig } from '../src/config.ts'
import { openLog } from '../src/platform/log.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import { findApp } from '../src/store/apps.ts'
import { openDatabase } from '../src/store/connection/database.ts'
import { databaseOn } from './cluster.ts'
import { checkExactness } from './exactness.ts'
import { findPostmaster, listNodes } from './nodes.ts'
import { seed } from './seed.ts'
import { familyCpuSeconds } from './usage.ts'

export async function measureBatches(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      database: { type: 'string' },
      sizes: { type: 'string', default: '128,1024' },
      batches: { type: 'string', default: '40' },
    },
  })
  if (!values.database) throw new Error('--database URL: which database?')
  const resultsDir = join(import.meta.dir, 'results')
  await mkdir(resultsDir, { recursive: true })
  const usersFile = join(await mkdtemp(join(resultsDir, 'batches-')), 'users')
  const database = databaseOn(values.database, { connectionString: values.database })
  const sizes = values.sizes.split(',').map(Number)
  const { clientId } = await seed(database, { users: Math.max(...sizes), transfersPerUser: 1 }, { usersFile })
  const users = (await readFile(usersFile, 'utf8')).trim().split('\n')
  const seeded = Number((await database.query('select count(*) as n from transfers'))[0]!['n'])
  const nodes = await Promise.all((await listNodes(database)).map(findPostmaster))
  const db = openDatabase({ connectionString: values.database })
  const config = parseConfig({
    DATABASE_URL: values.database,
    DEMO: '0',
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  })
  const log = openLog('silent', () => {})
  const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
  const app = (await findApp(db.pool, clientId))!
  const posting = { referenceType: 'T', description: null, direction: 'debit', amountMinor: 1n } as const
  let posted = 0
  const post = async (size: number) => {
    const batch = users.slice(0, size).map((serviceUserId) => {
      return postForApp(service, app, { ...posting, serviceUserId, referenceId: String(posted++) })
    })
    await Promise.all(batch)
  }
  const read = () => nodes.map(({ pid }) => familyCpuSeconds(pid))
  for (const size of sizes) {
    for (let i = 0; i < 10; i++) await post(size)
    const before = read()
    for (let i = 0; i < Number(values.batches); i++) await post(size)
    const each = read().map((after, i) => ((after - before[i]!) / Number(values.batches)) * 1_000)
    const cost = each.map((ms, i) => `${nodes[i]!.name} ${ms.toFixed(1)} ms`).join(', ')
    console.log(`a batch of ${size}: ${cost}; together ${each.reduce((a, b) => a + b, 0).toFixed(1)} ms`)
  }
  await closeService(service)
  await db.pool.end()
  const { faults } = await checkExactness(database, { posted, refused: 0, replayed: 0 }, seeded)
  console.log(faults.length === 0 ? `exact: ${posted} debits, each once` : faults.join('\n'))
  return faults.length === 0
}
