/** The end of a process, in the order that costs nobody an answer. Whoever calls it limits how long it may take. */
import { setTimeout as sleep } from 'node:timers/promises'
import { closeService, type Service } from '../actions/service.ts'
import type { App } from '../app.ts'
import { holdNewConnections } from './listener.ts'

/** For the requests that are under way. */
const requestsMs = 10_000
/** A connection that was just made gets as long to send its first request. */
const settleMs = 150

type Draining = {
  readonly service: Service
  readonly app: App
  readonly server: { stop: (closeActiveConnections?: boolean) => Promise<void> }
  readonly stopJobs: () => Promise<void>
  /** How long it goes on as before, while each answer says that its connection is the last of it. */
  readonly announceMs: number
  /** Told what is waited for, each time that changes. */
  readonly waitFor: (what: string) => void
}

export async function drain({ service, app, server, stopJobs, announceMs, waitFor }: Draining): Promise<void> {
  const { log, config, db } = service
  log.info('draining')
  app.readiness.isDraining = true
  waitFor('announcement')
  await sleep(announceMs)
  waitFor('requests')
  if (await holdNewConnections(config.port)) await sleep(settleMs)
  // Streams have no end of their own.
  service.live.close()
  // Closes the listener and the idle connections at once, and is done when everything under way has its answer.
  await Promise.race([server.stop(), sleep(requestsMs)])
  await server.stop(true)
  waitFor('jobs')
  await stopJobs()
  waitFor('writer and mail')
  await closeService(service)
  waitFor('database connections')
  await db.pool.end()
  waitFor('embedded database')
}
