/** An app and its users with money: created by the command line, or with years of history. */
import { writeFile } from 'node:fs/promises'
import type { BenchDatabase } from './cluster.ts'
import { findLoad, givenMinor, loadHistory, type History } from './history.ts'
import type { Target } from './job.ts'
import { projectDir } from './processes.ts'

export type Seeding = {
  readonly users: number
  /** The transfers that each wallet already has: one credit, then debits. */
  readonly transfersPerUser: number
  /** Like after a restore: nothing was ever analysed, and autovacuum is off. */
  readonly isUnanalysed?: boolean
}

/** The first credit of each wallet: enough for any round, too little for the debits that must be refused. */
const funded = String(givenMinor / 100)

export async function seed(
  database: BenchDatabase,
  { users, transfersPerUser, isUnanalysed = false }: Seeding,
  { usersFile, dir = projectDir }: { usersFile: string; dir?: string | undefined },
): Promise<Omit<Target, 'port'>> {
  const app =
    transfersPerUser > 1 ? await grow(database, { users, transfersPerUser }, dir) : await found(database, users, dir)
  const [all] = await database.query(`select string_agg(id, E'\n') as ids from links where client_id = $1`, [
    app.clientId,
  ])
  await writeFile(usersFile, `${all!['ids']}\n`)
  if (isUnanalysed) await forgetStatistics(database)
  else await database.query('vacuum analyze')
  await database.query('checkpoint')
  return { ...app, usersFile }
}

type App = { readonly clientId: string; readonly clientSecret: string }

async function createApp(database: BenchDatabase, dir: string): Promise<App> {
  const scopes = ['--scope', 'wallet:read', '--scope', 'wallet:write']
  const app = (await billfold(dir, database, ['app', 'create', '--name', 'Load', ...scopes])) as App
  return { clientId: app.clientId, clientSecret: app.clientSecret }
}

/** Through the command line. */
async function found(database: BenchDatabase, users: number, dir: string): Promise<App> {
  const app = await createApp(database, dir)
  await billfold(dir, database, ['seed', '--users', String(users), '--link', app.clientId, '--credit', funded])
  return app
}

/** With years of history; a stopped load resumes, with a new secret for its app. */
async function grow(database: BenchDatabase, history: History, dir: string): Promise<App> {
  const load = await findLoad(database)
  if (load && (load.users !== history.users || load.transfersPerUser !== history.transfersPerUser))
    throw new Error(`another load was begun here: ${load.users} users with ${load.transfersPerUser} transfers each`)
  const app = load
    ? ((await billfold(dir, database, ['app', 'rotate', load.clientId, '--overlap', 'none'])) as App)
    : await createApp(database, dir)
  await loadHistory(database, app.clientId, history)
  return { clientId: app.clientId, clientSecret: app.clientSecret }
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
