/** An app and its users with money, made by the command line as anyone would; and, if asked for, years of history. */
import { writeFile } from 'node:fs/promises'
import type { BenchDatabase } from './cluster.ts'
import type { Target } from './job.ts'
import { projectDir } from './processes.ts'

export type Seeding = {
  readonly users: number
  /** How many transfers each wallet already has: one credit, then debits. */
  readonly transfersPerUser: number
  /** As right after a restore: nothing was ever analysed, and autovacuum does not come. */
  readonly isUnanalysed?: boolean
}

/** What each wallet is given at first: enough for any round, too little for what is to be refused. */
const funded = { major: '50000', minor: 5_000_000 }

export async function seed(
  database: BenchDatabase,
  { users, transfersPerUser, isUnanalysed = false }: Seeding,
  { usersFile, dir = projectDir }: { usersFile: string; dir?: string | undefined },
): Promise<Omit<Target, 'port'>> {
  const scopes = ['--scope', 'wallet:read', '--scope', 'wallet:write']
  const app = await billfold(dir, database, ['app', 'create', '--name', 'Load', ...scopes])
  const { clientId, clientSecret } = app as { clientId: string; clientSecret: string }
  const order = ['--users', String(users), '--link', clientId, '--credit', funded.major]
  const { serviceUserIds } = (await billfold(dir, database, ['seed', ...order])) as { serviceUserIds: string[] }
  await writeFile(usersFile, `${serviceUserIds.join('\n')}\n`)
  if (transfersPerUser > 1) await addHistory(database, clientId, transfersPerUser)
  if (isUnanalysed) await forgetStatistics(database)
  else await database.query('vacuum analyze')
  await database.query('checkpoint')
  return { clientId, clientSecret, usersFile }
}

async function forgetStatistics(database: BenchDatabase): Promise<void> {
  for (const table of ['users', 'wallets', 'links', 'transfers', 'outcomes', 'positions', 'apps'])
    await database.query(`alter table ${table} set (autovacuum_enabled = off)`)
  await database.query(
    `delete from pg_statistic s using pg_class c where c.oid = s.starelid and c.relnamespace = 'public'::regnamespace`,
  )
  await database.query(`update pg_class set reltuples = -1, relpages = 0 where relnamespace = 'public'::regnamespace`)
}

async function billfold(dir: string, database: BenchDatabase, args: string[]): Promise<unknown> {
  const child = Bun.spawn([process.execPath, 'src/cli.ts', ...args, '--json'], {
    cwd: dir,
    env: { ...process.env, DATABASE_URL: database.url },
    stderr: 'pipe',
  })
  const [output, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`billfold ${args[0]} failed: ${faults}`)
  return JSON.parse(output)
}

/** In bulk and with true books: one debit of a cent for every wallet, then the next for every wallet, as time would. */
async function addHistory(database: BenchDatabase, clientId: string, transfersPerUser: number): Promise<void> {
  for (let sequence = 2; sequence <= transfersPerUser; sequence++) {
    await database.query(historySql, [sequence, `app:${clientId}`, funded.minor])
  }
  await database.query('update wallets set balance = $2::bigint - $1::integer + 1, sequence = $1', [
    transfersPerUser,
    funded.minor,
  ])
}

const historySql = `
with transfer as (
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
  select w.id, $1::integer, -1, $3::bigint - $1 + 1, encode(substring(sha256(convert_to($2, 'UTF8') || '\\x00'::bytea
      || convert_to('ORDER_PAYMENT', 'UTF8') || '\\x00'::bytea || convert_to('past-' || $1 || '-' || w.id, 'UTF8'))
    from 1 for 16), 'hex')::uuid, now(), $2, 'ORDER_PAYMENT', 'past-' || $1 || '-' || w.id
  from wallets w returning *
), position as (
  insert into positions (counter_account, day, writer, debited, credited, transfers)
  select $2, (now() at time zone 'UTC')::date, -1000 - $1, sum(greatest(-amount, 0))::bigint, sum(greatest(amount, 0))::bigint, count(*)
  from transfer
)
insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
select reference_key, wallet_id, amount, balance_after, sequence, created_at from transfer`
