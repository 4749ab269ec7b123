/** Examines a whole deployment from its own machine: the problems, worst first, and how to fix them. */
import type { Config } from '../../config.ts'
import { openLog } from '../../platform/log.ts'
import { openMetrics } from '../../platform/metrics.ts'
import { checkConnections } from '../../store/connection/connection-limit.ts'
import { commandLimits, openDatabase, type Connection, type Database } from '../../store/connection/database.ts'
import { findClusterState } from '../../store/cluster/state.ts'
import { getDatabaseGauges } from '../../store/database-gauges.ts'
import { describeForeign, migrationStatus } from '../../store/migrations/migrate.ts'
import { commandConnectMs } from '../../store/connection/open-client.ts'
import { examineServers, openClient } from '../../store/connection/servers.ts'
import { reachExisting, type Reached } from '../../store/prepare.ts'
import { readServerInfo } from '../../store/connection/server-info.ts'
import { asUnreachable } from '../../store/connection/unreachable.ts'
import { countPlainEndpoints, listTroubledApps } from '../../store/events/endpoint-lag.ts'
import { listStalledApps } from '../../store/events/stalled-events.ts'
import { findJobFailure } from '../../store/work/work-report.ts'
import { getBooksState } from '../../store/verify/books-check.ts'
import { probeWriting } from '../../store/connection/write-probe.ts'
import type { Check, CheckState } from '../apps/examine-embedding.ts'
import { freeBytes } from '../free-bytes.ts'
import { findUnsafeForProduction } from '../demo.ts'
import { findNoWayIn } from '../operators/oidc/way-in.ts'
import { openSecrets } from '../secrets/open-secrets.ts'
import { findSecretsProblem } from '../secrets/reseal.ts'
import { closeService, openService } from '../service.ts'
import { checkServers, examineDatabase } from './examine-database.ts'
import { examineCluster } from './examine-cluster.ts'
import { examineSettings } from './examine-settings.ts'
import { examineEvents } from './examine-events.ts'
import { examineLog } from './examine-log.ts'
import { describeLog } from '../proofs/describe-log.ts'
import { listClosings } from '../../store/closing/closings.ts'
import { checkDisk, examineWork } from './examine-work.ts'
import { databaseChecks, notMade, orNotMade, workChecks } from './not-made.ts'
import { checkMail, checkOidc, checkProcessor, checkPublicUrl } from './examine-outside.ts'

/** Reads only: it changes no table and no setting, and sends no mail. */
export async function examineDeployment(
  config: Config,
  misspelt: readonly { name: string; meant: string }[],
): Promise<Check[]> {
  const [inside, mail, processor, publicUrl, oidc] = await Promise.all([
    examineInside(config),
    checkMail(config),
    checkProcessor(config),
    checkPublicUrl(config, openSecrets(config), new Date()),
    checkOidc(
      config,
      openLog('silent', () => {}),
    ),
  ])
  return bySeverity([...inside, ...publicUrl, mail, ...processor, ...oidc, ...examineSettings(config, misspelt)])
}

const order: readonly CheckState[] = ['bad', 'warn', 'unknown', 'good']

/** Keeps the order of checks within one state: checks that concern money come first. */
export function bySeverity(checks: readonly Check[]): Check[] {
  return checks.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
}

async function examineInside(config: Config): Promise<Check[]> {
  let reached: Reached
  try {
    reached = await reachExisting(config)
  } catch (error) {
    return await examineWithoutDatabase(config, error)
  }
  const { connection } = reached
  try {
    const first = await openClient(connection, { name: 'billfold doctor', connectWithinMs: commandConnectMs })
    await first.end()
  } catch (error) {
    await reached.release()
    const { problem, reasons } = await examineServers(connection)
    const servers = problem ? checkServers(problem, reasons) : []
    const isEmbedded = config.databaseUrls.length === 0
    const cause = isEmbedded ? error : asUnreachable(error, config.databaseUrls)
    return await examineWithoutDatabase(config, cause, servers)
  }
  const db = openDatabase(connection, 4, commandLimits).longRunning
  try {
    return await orNotMade(databaseChecks, async () => {
      const { problem, reasons } = await examineServers(connection)
      return [...checkServers(problem, reasons), ...(await readDatabase(config, connection, db))]
    })
  } finally {
    await db.pool.end()
    await reached.release()
  }
}

/** The disk of an embedded database can be examined without its server. */
async function examineWithoutDatabase(config: Config, error: unknown, servers: Check[] = []): Promise<Check[]> {
  const free = await freeBytes(config)
  const disk = free === undefined ? [] : [checkDisk({ freeBytes: free, databaseBytes: undefined })]
  const others = databaseChecks.filter((name) => !disk.some((check) => check.name === name))
  return [...servers, ...disk, ...notMade(others, error)]
}

async function readDatabase(config: Config, connection: Connection, db: Database): Promise<Check[]> {
  const server = await readServerInfo(db.pool)
  const migrations = server.role.closedTables.length > 0 ? undefined : await migrationStatus(db.pool)
  const isWhole = migrations?.pending.length === 0 && migrations.problem === null
  const gauges = isWhole ? await getDatabaseGauges(db.pool) : undefined
  const checks = examineDatabase({
    server,
    migrations,
    foreign: migrations?.current === 0 ? await describeForeign(db.pool) : undefined,
    connections: await readConnections(config, db),
    writing: await probeWriting(db).catch((error: unknown) => String(error)),
    gauges,
    isEmbedded: config.databaseUrls.length === 0,
  })
  checks.push(...(await readCluster(db)))
  if (!isWhole) return checks
  // Tables that do not exist yet or may not be read cannot be examined.
  const work = await orNotMade(workChecks, () => readWork(config, connection, server.databaseBytes, gauges))
  return [...work, ...checks]
}

/** Empty on plain PostgreSQL. */
async function readCluster(db: Database): Promise<Check[]> {
  try {
    const state = await findClusterState(db.pool)
    return state ? examineCluster(state) : []
  } catch (error) {
    return [{ name: 'Nodes', state: 'unknown', text: `The cluster could not be examined: ${String(error)}` }]
  }
}

/** Apps whose endpoints fail. */
const maxNamed = 5

async function readWork(
  config: Config,
  connection: Connection,
  databaseBytes: number,
  gauges: Awaited<ReturnType<typeof getDatabaseGauges>> | undefined,
): Promise<Check[]> {
  const db = openDatabase(connection, 4, commandLimits).longRunning
  const log = openLog('silent', () => {})
  const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
  try {
    const work = examineWork({
      booksProblems: (await getBooksState(db.pool)).problems.length,
      gauges,
      databaseBytes,
      freeBytes: await freeBytes(config),
      unsafe: await findUnsafeForProduction(service),
      noWayIn: await findNoWayIn(service),
      secretsProblem: await findSecretsProblem(db.pool, service.secrets).catch((error: unknown) => String(error)),
      isProduction: config.isProduction,
      closings: await listClosings(db.pool),
    })
    if (!gauges) return work
    const log = examineLog({ log: await describeLog(service), targetCount: config.checkpointTargets.length })
    const events = examineEvents({
      gauges,
      numbererError: await findJobFailure(db.pool, 'number-events'),
      stalled: await listStalledApps(db.pool, maxNamed),
      troubled: await listTroubledApps(db.pool, maxNamed),
      plainEndpoints: await countPlainEndpoints(db.pool),
      isProduction: config.isProduction,
    })
    return [...work, ...log, ...events]
  } finally {
    await closeService(service)
    await db.pool.end()
  }
}

async function readConnections({ workers, databaseConnections }: Config, db: Database) {
  const wanted = workers * databaseConnections + 1
  try {
    return { wanted, warning: await checkConnections(db.pool, wanted) }
  } catch (error) {
    return { wanted, refusal: error instanceof Error ? error.message : String(error) }
  }
}
