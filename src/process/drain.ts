/** Shuts a process down in an order that loses no answer. The caller limits how long it may take. */
import { setTimeout as sleep } from 'node:timers/promises'
import { closeService, type Service } from '../actions/service.ts'
import type { App } from '../app.ts'
import { giveUpBodies } from '../web/body.ts'
import { holdNewConnections } from './listener.ts'

/** For requests in flight. */
const requestsMs = 10_000
/** A new connection gets this long to send its first request: a far client needs a round trip after it is accepted. */
const firstRequestMs = 500

type Draining = {
  readonly service: Service
  readonly app: App
  readonly server: { stop: (closeActiveConnections?: boolean) => Promise<void> }
  readonly stopJobs: () => Promise<void>
  /** How long it still accepts requests; each answer closes its connection. */
  readonly announceMs: number
  /** Called with the name of each step before it is awaited. */
  readonly waitFor: (what: string) => void
}

export async function drain({ service, app, server, stopJobs, announceMs, waitFor }: Draining): Promise<void> {
  const { log, config, db } = service
  log.info('draining')
  app.readiness.isDraining = true
  waitFor('announcement')
  await sleep(announceMs)
  waitFor('requests')
  giveUpBodies()
  if (await holdNewConnections(config.port)) await sleep(firstRequestMs)
  giveUpBodies()
  // Streams never end by themselves, and a call may wait for events for long.
  service.live.close()
  service.eventWaits.close()
  const jobs = stopJobs()
  // Closes the listener and idle connections at once, and resolves when all requests in flight are answered.
  await Promise.race([server.stop(), sleep(requestsMs)])
  await server.stop(true)
  waitFor('jobs')
  await jobs
  waitFor('writer and mail')
  await closeService(service)
  waitFor('database connections')
  await db.pool.end()
  waitFor('embedded database')
}
