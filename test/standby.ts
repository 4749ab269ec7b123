/** A primary and its synchronous standby, of the embedded binaries; the wire between them can be cut by the test. */
import { spawn, type ChildProcess } from 'node:child_process'
import { appendFile, chmod, chown, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Connection } from '../src/store/connection/database.ts'
import { prepareFolder, serverEnvironment, writeSettings } from '../src/store/embedded/data-folder.ts'
import { findNative, type Native } from '../src/store/embedded/native.ts'
import { chooseAccount, type Account } from '../src/store/embedded/system-account.ts'
import { migrate } from '../src/store/migrations/migrate.ts'
import { openForwarder } from './forwarder.ts'
import { freePort } from './free-port.ts'

export type Pair = {
  readonly primary: Connection
  /** As a role that may cancel and terminate the others. */
  readonly asAdmin: Connection
  readonly standby: Connection
  /** From now on, what the primary writes does not reach the standby, and no connection is closed. */
  readonly separate: () => void
  /** The standby finds the primary again, and catches up. */
  readonly reunite: () => void
  /** The primary is gone as in a power cut, and the standby takes over. */
  readonly failOver: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The data of both servers is in a new folder in `parent`. */
export async function startPair(parent = tmpdir()): Promise<Pair> {
  const folder = await mkdtemp(join(parent, 'billfold-standby-'))
  const account = (await chooseAccount(folder, join(folder, 'primary'))) ?? ownAccount()
  await chmod(folder, 0o755)
  await chown(folder, account.uid, account.gid)
  const native = await findNative(account, folder)
  const primaryDir = join(folder, 'primary')
  const standbyDir = join(folder, 'standby')
  await prepareFolder(primaryDir, account, native)
  await writeSettings(primaryDir, account)
  await appendFile(
    join(primaryDir, 'pg_hba.conf'),
    'host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n',
  )
  const primaryPort = await freePort()
  const standbyPort = await freePort()
  let primaryServer = await startServer(native, primaryDir, primaryPort, account)
  const primary = connectionTo(primaryPort, 'billfold')
  const asAdmin = { ...connectionTo(primaryPort, 'postgres'), database: 'billfold' }
  const asSuperuser = connectionTo(primaryPort, 'postgres')
  await onServer(asSuperuser, async (client) => {
    await client.query('create role billfold login')
    await client.query('create database billfold owner billfold')
  })
  await onServer(primary, async (client) => await migrate(client))
  await stop(primaryServer, 'SIGINT')

  await cp(primaryDir, standbyDir, { recursive: true })
  const wire = await openForwarder(asAdmin)
  const settings = `primary_conninfo = 'host=127.0.0.1 port=${wire.connection.port} user=postgres application_name=second'\n`
  await appendFile(join(standbyDir, 'postgresql.auto.conf'), settings)
  await writeFile(join(standbyDir, 'standby.signal'), '')
  await giveTo(standbyDir, account)
  primaryServer = await startServer(native, primaryDir, primaryPort, account)
  const standbyServer = await startServer(native, standbyDir, standbyPort, account)
  const standby = connectionTo(standbyPort, 'billfold')
  await onServer(asAdmin, async (client) => {
    await client.query(`alter system set synchronous_standby_names = 'second'`)
    await client.query('select pg_reload_conf()')
    const sql = `select 1 from pg_stat_replication where sync_state = 'sync'`
    while ((await client.query(sql)).rowCount === 0) await Bun.sleep(20)
  })

  return {
    primary,
    asAdmin,
    standby,
    separate: () => wire.silence(),
    reunite: () => {
      wire.cut()
      wire.mend()
    },
    failOver: async () => {
      await stop(primaryServer, 'SIGKILL')
      await onServer(connectionTo(standbyPort, 'postgres'), async (client) => await client.query('select pg_promote()'))
    },
    close: async () => {
      wire.close()
      await stop(primaryServer, 'SIGQUIT')
      await stop(standbyServer, 'SIGQUIT')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function ownAccount(): Account {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, spawn: {} }
}

async function giveTo(folder: string, { uid, gid }: Account): Promise<void> {
  await new Promise((resolve, reject) => {
    spawn('chown', ['-R', `${uid}:${gid}`, folder])
      .on('error', reject)
      .on('close', resolve)
  })
}

async function startServer(native: Native, databaseDir: string, port: number, account: Account): Promise<ChildProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    wal_level: 'replica',
    // There is no slot: without it, a checkpoint while the standby is away may remove what it still needs.
    wal_keep_size: '1GB',
    // After a minute of silence the standby would look for the primary by itself, and find it.
    wal_receiver_timeout: '0',
    wal_sender_timeout: '0',
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(native.root, 'bin', 'postgres'), ['-D', databaseDir, ...flags], {
    cwd: databaseDir,
    env: serverEnvironment,
    stdio: 'ignore',
    ...account.spawn,
  })
  for (let isUp = false; !isUp;) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL in ${databaseDir} ended with ${child.exitCode}`)
    isUp = await onServer(connectionTo(port, 'postgres'), async (client) => await client.query('select 1')).then(
      () => true,
      () => false,
    )
    if (!isUp) await Bun.sleep(50)
  }
  return child
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await ended
}

function connectionTo(port: number, name: 'billfold' | 'postgres') {
  return { host: '127.0.0.1', port, user: name, database: name }
}

export async function onServer<T>(connection: Connection, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
