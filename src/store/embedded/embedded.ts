import { chmod, mkdir, realpath, rmdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { diskFull, sqlState } from '../connection/database.ts'
import { chooseAccount, type Account } from './system-account.ts'
import { prepareFolder, pruneLogs, writeSettings } from './data-folder.ts'
import { findNative, type Native } from './native.ts'
import { folderMark, isAlive, isOurServer, readPidFile, spawnServer, stopServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'
import { EmbeddedRefused, errorCode, explainFailure } from './refused.ts'
import { connectionTo, register, type Busy, type EmbeddedConnection, type Registration } from './registration.ts'
import { isPrivateFolder, makeSocketFolder } from './socket-folder.ts'

export type Embedded = {
  connection: EmbeddedConnection
  /** Gives up our share in the server, and stops it if no other service has one. Close every other connection first. */
  release: () => Promise<void>
}

type Log = (message: string) => void
type Place = { databaseDir: string; mark: string; account: Account; native: Native }

/** How long, and how often, a start is retried while another server uses the folder. */
const patienceMs = 10_000
const leastStarts = 5
/** A server that starts on a busy machine writes its pid long before it opens its socket, or refuses for another reason. */
const silentForMs = 30_000

/**
 * Joins the PostgreSQL server of this data folder: starts the server if it does not run, and creates the database if there
 * is none. Until `release` is called, a server process that dies is started again.
 */
export async function startEmbedded({ dataDir, log }: { dataDir: string; log: Log }): Promise<Embedded> {
  const place = await openPlace(dataDir)
  let current = joinServer(place, log)
  const connection = connectionTo((await current).socketDir, 'billfold')
  const ending = new AbortController()
  const pruning = setInterval(() => void pruneLogs(place.databaseDir), 3_600_000)
  pruning.unref()
  await pruneLogs(place.databaseDir)

  async function keep(): Promise<void> {
    for (let held = await current; ; held = await current) {
      await held.ended
      if (ending.signal.aborted) return
      log('PostgreSQL ended; starting it again')
      current = rejoin(held)
    }
  }

  async function rejoin(held: Registration): Promise<Registration> {
    while (!ending.signal.aborted) {
      try {
        return await joinServer(place, log)
      } catch (error) {
        log(error instanceof Error ? error.message : String(error))
        await sleep(1_000)
      }
    }
    return held
  }

  async function release(): Promise<void> {
    ending.abort()
    clearInterval(pruning)
    await leaveServer(place, await current, log)
  }

  void keep()
  let releasing: Promise<void> | null = null
  return { connection, release: () => (releasing ??= release()) }
}

/** Whether the data folder contains a database. Creates nothing. A folder that may not be read counts: its start names the problem. */
export async function hasDatabase(dataDir: string): Promise<boolean> {
  return await stat(join(resolve(dataDir), 'postgres')).then(
    () => true,
    (error) => errorCode(error) !== 'ENOENT',
  )
}

async function openPlace(dataDir: string): Promise<Place> {
  const folder = await makeDataFolder(resolve(dataDir))
  const databaseDir = join(folder, 'postgres')
  const account = await chooseAccount(folder, databaseDir)
  if (account === null) {
    throw new EmbeddedRefused(
      'PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to lend it.',
    )
  }
  const native = await findNative(account, folder)
  await prepareFolder(databaseDir, account, native)
  return { databaseDir, mark: await folderMark(databaseDir), account, native }
}

async function makeDataFolder(dataDir: string): Promise<string> {
  try {
    const created = await mkdir(dataDir, { recursive: true })
    // 0711 lets PostgreSQL's account pass through root's data folder to the database folder, and lets no other account list it.
    if (created !== undefined) await chmod(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700)
    return await realpath(dataDir)
  } catch (error) {
    throw new EmbeddedRefused(`The data folder ${dataDir} cannot be created (${errorCode(error) ?? String(error)}).`, {
      cause: error,
    })
  }
}

/**
 * Adopts the server that runs, or starts one. No lock is needed: of two servers started at once in a folder
 * PostgreSQL ends one, and the service that started it finds the other one on its next round of this loop. A server that is
 * starting, recovering or stopping is waited for.
 */
async function joinServer(place: Place, log: Log): Promise<Registration> {
  const { databaseDir, mark, account, native } = place
  const since = Date.now()
  let silentSince: number | null = null
  let refusedSince: number | null = null
  let started: ServerProcess | null = null
  let failure = ''
  let starts = 0
  let socketDir = ''
  let nextNoteAt = since + patienceMs
  for (; ; await sleep(50)) {
    const pidFile = await readPidFile(databaseDir)
    const answer = await askServer(pidFile?.socketDir ?? null, place)
    if (typeof answer === 'object' && 'leave' in answer) {
      if (socketDir !== answer.socketDir) await rmdir(socketDir).catch(() => undefined)
      return answer
    }
    if (Date.now() > nextNoteAt) {
      log('waiting for PostgreSQL to recover or stop')
      nextNoteAt = Date.now() + patienceMs
    }
    if (typeof answer === 'object') {
      const { reason, cause } = answer
      if (sqlState(cause) === diskFull) throw new EmbeddedRefused(explainFailure(reason, databaseDir), { cause })
      refusedSince = answer.isPassing ? null : (refusedSince ?? Date.now())
      if (refusedSince === null || Date.now() - refusedSince < silentForMs) continue
      throw new EmbeddedRefused(`PostgreSQL in ${databaseDir} refuses connections: ${reason}`, { cause })
    }
    refusedSince = null
    if (started !== null) {
      if (started.failure === null) continue
      failure = started.failure
      started = null
      if (!mayPass(failure)) break
      await sleep(200)
      continue
    }
    if (pidFile !== null && (await isOurServer(pidFile.pid, mark))) {
      silentSince ??= Date.now()
      if (Date.now() - silentSince < silentForMs) continue
      throw new EmbeddedRefused(
        `A PostgreSQL server (process ${pidFile.pid}) runs in ${databaseDir}, but its socket in ${pidFile.socketDir} does not answer: stop that process.`,
      )
    }
    if (failure !== '' && starts >= leastStarts && Date.now() - since > patienceMs) break
    const strangerPid = pidFile !== null && isAlive(pidFile.pid) ? pidFile.pid : null
    await writeSettings(databaseDir, account)
    socketDir = await makeSocketFolder(databaseDir, account)
    started = await spawnServer(databaseDir, socketDir, strangerPid, account, native)
    starts++
  }
  await rmdir(socketDir).catch(() => undefined)
  throw new EmbeddedRefused(explainFailure(failure, databaseDir))
}

async function askServer(socketDir: string | null, place: Place): Promise<Registration | Busy | 'absent'> {
  if (socketDir === null || !(await isPrivateFolder(socketDir, place.account))) return 'absent'
  return register(socketDir, place.databaseDir, place.mark)
}

/**
 * Whether a start that failed with this message may succeed when it is tried again. Another server in the folder, its lock
 * file or its shared memory may be about to go. So may the server we started: another service that left as the last one
 * stops it, if we had not joined yet. A full disk stays full.
 */
function mayPass(failure: string): boolean {
  const passing =
    /lock file|shared memory block|could not create any Unix-domain sockets|could not bind|administrator command|shutting down/i
  return passing.test(failure)
}

async function leaveServer({ databaseDir }: Place, registration: Registration, log: Log): Promise<void> {
  if (await registration.leave()) {
    const pidFile = await readPidFile(databaseDir)
    if (pidFile !== null && !(await stopServer(databaseDir, pidFile.pid))) {
      log('PostgreSQL is still writing its last checkpoint and will end by itself')
    }
    // rmdir removes the socket folder only if it is empty; a service that starts meanwhile creates it again.
    await rmdir(registration.socketDir).catch(() => undefined)
  }
  await registration.close()
}
