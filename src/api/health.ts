/** For those who run the service: is the process alive, can it work, and how does it do. */
import { z } from 'zod'
import type { Service } from '../actions/service.ts'
import { migrationStatus } from '../store/migrations/migrate.ts'
import { answer, type Answer } from './reply.ts'
import type { Route } from './route.ts'

export type Readiness = { isDraining: boolean }

export function healthRoutes(service: Service, readiness: Readiness): Route[] {
  const output = z.object({ status: z.enum(['ok', 'unavailable']) })
  return [
    {
      method: 'GET',
      path: '/healthz',
      tag: 'Operations',
      summary: 'Whether the process is alive',
      output,
      errors: [],
      example: { output: { status: 'ok' } },
      // An embedding page may ask, without reading the answer, whether the service can be reached at all.
      handle: async () => ({
        ...answer({ status: 'ok' }),
        headers: { 'cross-origin-resource-policy': 'cross-origin' },
      }),
    },
    {
      method: 'GET',
      path: '/readyz',
      tag: 'Operations',
      summary: 'Whether requests should come here: the database answers, is migrated, and the process is not ending',
      output: z.object({ status: z.enum(['ok', 'unavailable']), database: z.string(), draining: z.boolean() }),
      errors: [],
      example: { output: { status: 'ok', database: 'ok', draining: false } },
      handle: () => readyAnswer(service, readiness),
    },
  ]
}

async function readyAnswer(service: Service, { isDraining }: Readiness): Promise<Answer> {
  const database = await databaseState(service)
  const isReady = database === 'ok' && !isDraining
  const body = { status: isReady ? 'ok' : 'unavailable', database, draining: isDraining }
  return { status: isReady ? 200 : 503, body }
}

async function databaseState(service: Service): Promise<string> {
  try {
    const { pending } = await migrationStatus(service.db.pool)
    return pending.length === 0 ? 'ok' : 'migrations pending'
  } catch {
    return 'not reachable'
  }
}
