/** Everything the actions need: configuration, database, writer, apps in memory. */
import type { Config } from '../config.ts'
import { inTime } from '../platform/in-time.ts'
import { faultFields, openRateLimit, type Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { openAppCalls, type AppCalls } from '../store/calls/app-calls.ts'
import { openAppDirectory, type AppDirectory } from '../store/app-directory.ts'
import { getSnapshot, type Database } from '../store/connection/database.ts'
import { serversProblem } from '../store/connection/servers.ts'
import { watchServers } from '../store/connection/servers.ts'
import { openDatabaseGauges } from '../store/database-gauges.ts'
import { openBalanceReader, openHoldReader, openSessionReader, type SharedReader } from '../store/shared-reader.ts'
import { openRefusedCredentials, type RefusedCredentials } from '../store/calls/refused-credentials.ts'
import { findEventHeads } from '../store/events/feed.ts'
import { numberEvents } from '../store/events/number-events.ts'
import { openReferenceTypes, type ReferenceTypes } from '../store/reference-types.ts'
import { openRepeats, type Repeats } from '../store/repeats.ts'
import { openWaitingCounts, type WaitingCounts } from '../store/work/waiting-counts.ts'
import { findChangedWallets, type LinkedWallet } from '../store/wallets.ts'
import { findSessions, type Session } from '../store/people/widget-sessions.ts'
import type { SeenHold } from '../store/writer/stored-holds.ts'
import { openWriter, type Writer } from '../store/writer/writer.ts'
import { openAttempts, type Attempts } from './attempts.ts'
import { freeBytes } from './free-bytes.ts'
import { openWrongSecrets } from './apps/authenticate.ts'
import { openQuota, type Quota } from './apps/quota.ts'
import { countCalls } from './apps/count-calls.ts'
import { openCards, type Cards } from './topups/open-processor.ts'
import { openLive, type Live } from './live.ts'
import { openOidcProvider, type OidcProvider } from './operators/oidc/provider.ts'
import { openMail, type MailSender } from './mails/send-mail.ts'
import { passwordCost as usualCost, type PasswordCost } from './people/passwords.ts'
import { openSecrets, type Secrets } from './secrets/open-secrets.ts'
import { openEventWaits, type EventWaits } from './events/event-waits.ts'
import { openWakeUps, type WakeUps } from './wake-ups.ts'

export type Service = {
  readonly config: Config
  readonly db: Database
  readonly log: Log
  readonly metrics: Metrics
  readonly now: () => Date
  readonly apps: AppDirectory
  /** Ends the watch on the servers of the database. */
  readonly stopWatching: () => void
  readonly appCalls: AppCalls
  readonly refusedCredentials: RefusedCredentials
  readonly writer: Writer
  readonly quota: Quota
  readonly reader: SharedReader<LinkedWallet>
  readonly holdReader: SharedReader<SeenHold>
  readonly sessionReader: SharedReader<Session>
  readonly repeats: Repeats
  readonly referenceTypes: ReferenceTypes
  readonly waitingCounts: WaitingCounts
  readonly wrongSecrets: Attempts
  readonly browserCalls: Attempts
  /** By address; counts by account are in the database. */
  readonly wrongCodes: Attempts
  readonly signUps: Attempts
  readonly live: Live
  readonly eventWaits: EventWaits
  readonly mail: MailSender
  readonly wakeUps: WakeUps
  /** Encrypts secrets that the service must read again. */
  readonly secrets: Secrets
  readonly passwordCost: PasswordCost
  /** Undefined without OIDC_ISSUER. */
  readonly oidc: OidcProvider | undefined
} & Cards

/** What an action takes that needs only the database. */
export type WithDb = Pick<Service, 'db'>

export type Parts = Pick<Service, 'config' | 'db' | 'log' | 'metrics' | 'now'> & Partial<Pick<Service, 'passwordCost'>>

export function openService({ config, db, log, metrics, now, passwordCost = usualCost }: Parts): Service {
  const faults = openRateLimit(1_000)
  const writer = openWriter(db.connection, config.writerLanes, {
    batch: metrics.batch,
    hold: metrics.hold,
    fault: (lane, error) => {
      metrics.writerFault(lane)
      faults(`${lane} ${JSON.stringify(faultFields(error))}`, (suppressed) =>
        log.warn('a batch of the writer failed', { lane, ...faultFields(error), suppressed }),
      )
    },
    nodeFault: (error) => log.warn('a node that DATABASE_URL names cannot coordinate batches', faultFields(error)),
    outage: (names) =>
      names.length > 0
        ? log.error(
            'nodes of the cluster are away: postings that need them get 503, and their wallets are checked when they are back',
            { nodes: names.join(', ') },
          )
        : log.info('all nodes of the cluster are back'),
  })
  const stopWatching = watchServers(db.connection, (problem, servers) => {
    if (problem)
      log.error('the servers of the database contradict each other', { problem, servers: servers.join('; ') })
    else log.info('the servers of the database agree again')
  })
  const service: Service = {
    config,
    db,
    log,
    metrics,
    now,
    writer,
    stopWatching,
    quota: openQuota({
      maxOperations: config.appOperations,
      estimateMs: writer.estimateMs,
      onRefused: ({ clientId }) => metrics.throttled(clientId),
    }),
    apps: openAppDirectory(db.connection, (error) =>
      log.warn('the apps cannot be read; the last copy is used for up to ten seconds', faultFields(error)),
    ),
    appCalls: openAppCalls(),
    refusedCredentials: openRefusedCredentials(),
    reader: openBalanceReader(db),
    holdReader: openHoldReader(db),
    sessionReader: openSessionReader(db.widget),
    repeats: openRepeats(db),
    referenceTypes: openReferenceTypes(db),
    waitingCounts: openWaitingCounts(db.longRunning, (error) =>
      log.warn('the counts of the admin menu cannot be read', faultFields(error)),
    ),
    oidc: config.oidc && openOidcProvider(config, config.oidc, log),
    wrongSecrets: openWrongSecrets(),
    browserCalls: openAttempts({ limit: 1, windowMs: 60_000 }),
    wrongCodes: openAttempts({ limit: 50, windowMs: 15 * 60_000 }),
    signUps: openAttempts({ limit: 50, windowMs: 60 * 60_000 }),
    live: openLive(
      {
        getSnapshot: () => getSnapshot(db.widget.pool),
        findChangedWallets: (seen) => findChangedWallets(db.widget.pool, seen),
        findSessions: (tokenHashes) => findSessions(db.widget.pool, tokenHashes),
      },
      (error) => log.warn('open widgets could not be brought up to date', faultFields(error)),
    ),
    eventWaits: openEventWaits(
      {
        findHeads: (clientIds) => findEventHeads(db.pool, clientIds),
        number: () => numberEvents(db.longRunning, metrics.events),
      },
      (error) => log.warn('events could not get their numbers; the next attempt follows', faultFields(error)),
    ),
    mail: openMail(config, log, metrics),
    wakeUps: openWakeUps(),
    secrets: openSecrets(config),
    passwordCost,
    ...openCards(config, db, now, metrics),
  }
  metrics.watch({
    depths: writer.depths,
    pools: { requests: db.pool, widget: db.widget.pool, jobs: db.longRunning.pool },
    streams: service.live.count,
    gauges: openDatabaseGauges(db),
    serversProblem: () => serversProblem(db.connection),
    appsStaleMs: service.apps.staleMs,
    freeBytes: () => freeBytes(config),
  })
  return service
}

const countWithinMs = 1_000

/** Every posting in flight has its answer when this returns. The caller that opened the pool closes it. */
export async function closeService(service: Service): Promise<void> {
  service.live.close()
  service.eventWaits.close()
  await service.writer.close()
  service.stopWatching()
  await service.repeats.close()
  await service.referenceTypes.close()
  await service.mail.close()
  await service.apps.close()
  // The calls of the last minute. Only an app's page shows them, so the shutdown does not fail without a database.
  await inTime(countCalls(service), countWithinMs).catch(() => {})
}
