/** Health checks for operators and load balancers: whether the process is alive and whether it can take requests. */
import { z } from 'zod'
import { isProbe, probeHeader } from '../actions/deployment/probe.ts'
import type { Service } from '../actions/service.ts'
import { migrationStatus } from '../store/migrations/migrate.ts'
import { serversProblem } from '../store/connection/servers.ts'
import { probeWriting } from '../store/connection/write-probe.ts'
import { answer, type Answer } from './reply.ts'
import type { Call, Route } from './route.ts'
import { version } from '../platform/version.ts'

export type Readiness = { isDraining: boolean }

const readinessBody = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    database: z.string().describe('`ok`, or what is wrong with the database'),
    draining: z.boolean().describe('The process is shutting down and takes no new requests'),
  })
  .meta({ id: 'Readiness' })

const seenBody = z
  .object({
    version: z.string(),
    address: z.string().describe('The client address as the service sees it'),
    forwardedFor: z.array(z.string()).describe('The addresses in X-Forwarded-For, in order'),
  })
  .describe('Only for `npx billfold doctor` of this deployment, which authenticates with SECRETS_KEY')

export function healthRoutes(service: Service, readiness: Readiness): Route[] {
  const askDatabase = openDatabaseState(service)
  return [
    {
      method: 'GET',
      path: '/healthz',
      tag: 'Operations',
      summary: 'Whether the process is alive',
      description:
        'An embedding page may call it across origins to test whether the service is reachable; it cannot read the answer.',
      output: z.object({ status: z.literal('ok'), seen: seenBody.optional() }).meta({ id: 'Health' }),
      errors: [],
      isProbe: true,
      example: { output: { status: 'ok' } },
      // The SDK in an embedding page calls this with `no-cors` to test whether the service is reachable.
      handle: async (call) => ({
        ...answer({ status: 'ok', ...(await seenBy(service, call)) }),
        headers: { 'cross-origin-resource-policy': 'cross-origin' },
      }),
    },
    {
      method: 'GET',
      path: '/readyz',
      tag: 'Operations',
      summary:
        'Whether the process can take requests: the database is migrated and takes writes, and the process is not shutting down',
      description:
        'For load balancers: the status code alone is enough. With 200, `database` may be `two primaries`: the process uses the newer one.',
      output: readinessBody,
      others: {
        503: {
          description: 'Send requests to another process; `database` and `draining` say why.',
          schema: readinessBody,
        },
      },
      errors: [],
      isProbe: true,
      example: { output: { status: 'ok', database: 'ok', draining: false } },
      handle: () => readyAnswer(askDatabase, readiness),
    },
  ]
}

/** How the request reached this process, only for `npx billfold doctor` of this deployment. */
async function seenBy(service: Service, { request, context }: Call): Promise<{ seen?: z.infer<typeof seenBody> }> {
  const token = request.headers.get(probeHeader)
  if (token === null || !(await isProbe(service, token))) return {}
  const forwardedFor = (request.headers.get('x-forwarded-for') ?? '').split(',').map((hop) => hop.trim())
  return { seen: { version, address: context.address, forwardedFor: forwardedFor.filter((hop) => hop !== '') } }
}

async function readyAnswer(askDatabase: () => Promise<DatabaseState>, { isDraining }: Readiness): Promise<Answer> {
  const { database, isUsable } = await askDatabase()
  const isReady = isUsable && !isDraining
  const body = { status: isReady ? 'ok' : 'unavailable', database, draining: isDraining }
  return { status: isReady ? 200 : 503, body }
}

const goodForMs = 1_000
/** A load balancer has other processes to use, so a slow database must count as unavailable quickly. */
const askWithinMs = 1_000

/** Caches a good state for a second and shares a check under way, so that probes write at most once a second. A bad state is not cached. */
function openDatabaseState(service: Service): () => Promise<DatabaseState> {
  let goodUntil = 0
  let asking: Promise<DatabaseState> | undefined
  const ask = async () => {
    const askedAt = performance.now()
    const state = await readDatabaseState(service)
    if (state.database === 'ok') goodUntil = askedAt + goodForMs
    asking = undefined
    return state
  }
  return async () => (performance.now() < goodUntil ? { database: 'ok', isUsable: true } : await (asking ??= ask()))
}

type DatabaseState = { readonly database: string; readonly isUsable: boolean }

/**
 * With two primaries this process uses the newer one, if one is newer: it stays ready, because every other process sees the
 * same two.
 */
async function readDatabaseState({ db }: Service): Promise<DatabaseState> {
  try {
    const { pending } = await migrationStatus(db.pool.within(askWithinMs))
    const database = pending.length === 0 ? await probeWriting(db) : 'migrations pending'
    if (database !== 'ok') return { database, isUsable: false }
    return { database: serversProblem(db.connection) ?? 'ok', isUsable: true }
  } catch {
    return { database: serversProblem(db.connection) ?? 'not reachable', isUsable: false }
  }
}
