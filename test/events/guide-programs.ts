/** The receivers and readers of docs/events.md as real processes, each with a shop's database. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { buildPackage } from '../../sdk/build.ts'
import type { Connection } from '../../src/store/connection/database.ts'
import { eventually } from '../eventually.ts'
import { readGuides, snippetsOf } from '../example/snippets.ts'
import { freePort } from '../free-port.ts'
import { testDatabase } from '../postgres.ts'

const root = new URL('../..', import.meta.url).pathname
/** Where Debian puts the sources of Go packages. */
const goPath = '/usr/share/gocode'

export const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'events.md'))

type Program = {
  readonly file: string
  /** What this machine lacks to run it. */
  readonly missing?: string
  readonly receive: (port: number) => string[]
  readonly follow: string[]
  readonly environment: (connection: Connection) => Record<string, string>
  readonly prepare?: (folder: string) => Promise<void>
}

const succeeds = (command: string[]) =>
  Bun.which(command[0]!) !== null && Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0

const python = ['python3', '/usr/bin/python3'].find((path) => succeeds([path, '-c', 'import psycopg']))
const hasPdo = succeeds(['php', '-r', 'exit(extension_loaded("pdo_pgsql") ? 0 : 1);'])
const hasGoDriver = Bun.which('go') !== null && existsSync(join(goPath, 'src/github.com/lib/pq'))

export const programs: readonly Program[] = [
  {
    file: 'events.mjs',
    receive: () => ['node', 'events.mjs'],
    follow: ['node', 'events.mjs', 'follow'],
    environment: withUrl,
    prepare: installPackages,
  },
  {
    file: 'events.py',
    ...(!python && { missing: 'no Python with psycopg (Debian: python3-psycopg)' }),
    receive: () => [python!, 'events.py'],
    follow: [python!, 'events.py', 'follow'],
    environment: withUrl,
  },
  {
    file: 'events.php',
    ...(!hasPdo && { missing: 'no PHP with pdo_pgsql (Debian: php-cli, php-pgsql)' }),
    // Shows errors, as a careless installation does.
    receive: (port) => ['php', '-d', 'display_errors=1', '-S', `127.0.0.1:${port}`, 'events.php'],
    follow: ['php', 'events.php'],
    environment: (connection) => ({ DATABASE_DSN: `pgsql:${keywordsOf(connection).join(';')}` }),
  },
  {
    file: 'events.go',
    ...(!hasGoDriver && { missing: 'no Go with lib/pq (Debian: golang-go, golang-github-lib-pq-dev)' }),
    receive: () => ['./events-go'],
    follow: ['./events-go', 'follow'],
    // Its parser of addresses takes no folder as the host.
    environment: (connection) => ({ DATABASE_URL: [...keywordsOf(connection), 'sslmode=disable'].join(' ') }),
    prepare: buildGo,
  },
]

function keywordsOf({ connectionString, host, user, database }: Connection): string[] {
  if (!connectionString) return [`host=${host}`, `user=${user}`, `dbname=${database}`]
  const { hostname, port, username, password, pathname } = new URL(connectionString)
  const named = { host: hostname, port, user: username, password, dbname: pathname.slice(1) }
  return Object.entries(named).flatMap(([name, value]) => (value ? [`${name}=${decodeURIComponent(value)}`] : []))
}

function withUrl({ connectionString, host, user, database }: Connection): Record<string, string> {
  return { DATABASE_URL: connectionString ?? `postgres://${user}@${encodeURIComponent(host ?? '')}/${database}` }
}

async function installPackages(folder: string): Promise<void> {
  for (const [path, bytes] of await buildPackage())
    await Bun.write(join(folder, 'node_modules/@billfold/sdk', path), bytes)
  for (const name of ['pg', 'express'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
}

async function buildGo(folder: string): Promise<void> {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, GO111MODULE: 'off', GOPATH: goPath, GOFLAGS: '' }
  const child = Bun.spawn(['go', 'build', '-o', 'events-go', 'events.go'], { cwd: folder, env, stderr: 'pipe' })
  const said = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(said)
}

export type Receiver = { readonly url: string; readonly port: number; readonly kill: () => Promise<void> }

/** `kill` returns what it wrote. */
export type Reader = { readonly kill: () => Promise<string> }

export type Shop = {
  readonly db: Client
  /** A second connection, which holds locks. */
  readonly holder: Client
  readonly receive: (secrets: string, port?: number) => Promise<Receiver>
  /** Follows until it is killed. */
  readonly follow: (feed: Feed) => Reader
  /** Runs once, to its end: what it wrote, and its exit code. */
  readonly followToEnd: (feed: Feed) => Promise<{ said: string; exitCode: number }>
  readonly close: () => Promise<void>
}

export type Feed = { readonly url: string; readonly clientId: string; readonly clientSecret: string }

/** An order that is “broken” cannot be paid. Each payment of an order leaves a row. */
const counting = `
create table effects (reference_id text not null);
create function count_effect() returns trigger language plpgsql as $$ begin
  if old.status = 'broken' then raise exception 'this order is broken'; end if;
  insert into effects values (new.reference_id);
  return new;
end $$;
create trigger counted before update on orders for each row when (new.status = 'paid') execute function count_effect()`

export async function openShop(program: Program): Promise<Shop> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-receiver-'))
  const database = await testDatabase()
  const db = new Client(database.connection)
  const holder = new Client(database.connection)
  await Promise.all([db.connect(), holder.connect()])
  await db.query(snippets.get('events.sql')! + counting)
  await Bun.write(join(folder, program.file), snippets.get(program.file)!)
  await program.prepare?.(folder)
  const running = new Set<Bun.Subprocess>()

  const start = (command: string[], environment: Record<string, string>) => {
    const { PATH = '', HOME = '' } = process.env
    const env = { PATH, HOME, ...program.environment(database.connection), ...environment }
    const child = Bun.spawn(command, { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    running.add(child)
    const said = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { child, said: said.then((texts) => texts.join('')) }
  }
  const kill = async (child: Bun.Subprocess) => {
    child.kill('SIGKILL')
    await child.exited
    running.delete(child)
  }
  const startReader = ({ url, clientId, clientSecret }: Feed) =>
    start(program.follow, { BILLFOLD_URL: url, BILLFOLD_CLIENT_ID: clientId, BILLFOLD_CLIENT_SECRET: clientSecret })

  return {
    db,
    holder,
    receive: async (secrets, port) => {
      const at = port ?? (await freePort())
      const { child, said } = start(program.receive(at), { PORT: String(at), BILLFOLD_WEBHOOK_SECRETS: secrets })
      const url = `http://127.0.0.1:${at}/billfold/events`
      const answers = () =>
        fetch(url, { method: 'POST' }).then(
          ({ status }) => status,
          () => 0,
        )
      await eventually(async () => child.exitCode === null && (await answers()) === 0, false)
      if (child.exitCode !== null) throw new Error(`the receiver ended: ${await said}`)
      return { url, port: at, kill: () => kill(child) }
    },
    follow: (feed) => {
      const stopping = new AbortController()
      let current = startReader(feed)
      // A reader that ends is started again, as cron and systemd do it.
      const kept = (async () => {
        let said = ''
        while (!stopping.signal.aborted) {
          await current.child.exited
          running.delete(current.child)
          said += await current.said
          await Bun.sleep(50)
          if (!stopping.signal.aborted) current = startReader(feed)
        }
        return said
      })()
      const killReader = async () => {
        stopping.abort()
        await kill(current.child)
        return await kept
      }
      return { kill: killReader }
    },
    followToEnd: async (feed) => {
      const { child, said } = startReader(feed)
      const exitCode = await child.exited
      running.delete(child)
      return { said: await said, exitCode }
    },
    close: async () => {
      await Promise.all([...running].map(kill))
      await Promise.all([db.end(), holder.end()])
      await database.drop()
      await rm(folder, { recursive: true })
    },
  }
}
