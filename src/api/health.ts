/** For those who run the service: is the process alive, can it work, and how does it do. */
import { z } from 'zod'
import { isProbe, probeHeader } from '../actions/deployment/probe.ts'
import type { Service } from '../actions/service.ts'
import { migrationStatus } from '../store/migrations/migrate.ts'
import { probeWriting } from '../store/connection/write-probe.ts'
import { answer, type Answer } from './reply.ts'
import type { Call, Route } from './route.ts'
import { version } from '../platform/version.ts'

export type Readiness = { isDraining: boolean }

const readinessBody = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    database: z.string().describe('`ok`, or what is wrong with it'),
    draining: z.boolean().describe('The process is about to end'),
  })
  .meta({ id: 'Readiness' })

const seenBody = z
  .object({
    version: z.string(),
    address: z.string().describe('Whom the service takes the caller for'),
    forwardedFor: z.array(z.string()).describe('What the proxies wrote into X-Forwarded-For'),
  })
  .describe('Only for the doctor of this deployment, which proves itself with SECRETS_KEY')

export function healthRoutes(service: Service, readiness: Readiness): Route[] {
  const askDatabase = openDatabaseState(service)
  return [
    {
      method: 'GET',
      path: '/healthz',
      tag: 'Operations',
      summary: 'Whether the process is alive',
      description: 'An embedding page may ask it too, without reading the answer.',
      output: z.object({ status: z.literal('ok'), seen: seenBody.optional() }).meta({ id: 'Health' }),
      errors: [],
      isProbe: true,
      example: { output: { status: 'ok' } },
      // An embedding page may ask, without reading the answer, whether the service can be reached at all.
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
        'Whether requests should come here: the database takes writes, is migrated, and the process is not ending',
      description: 'For load balancers: the status alone says it.',
      output: readinessBody,
      others: {
        503: { description: 'Send requests elsewhere; `database` and `draining` say why.', schema: readinessBody },
      },
      errors: [],
      isProbe: true,
      example: { output: { status: 'ok', database: 'ok', draining: false } },
      handle: () => readyAnswer(askDatabase, readiness),
    },
  ]
}

/** How the question got here, for `npx billfold doctor` of this deployment alone. */
async function seenBy(service: Service, { request, context }: Call): Promise<{ seen?: z.infer<typeof seenBody> }> {
  const token = request.headers.get(probeHeader)
  if (token === null || !(await isProbe(service, token))) return {}
  const forwardedFor = (request.headers.get('x-forwarded-for') ?? '').split(',').map((hop) => hop.trim())
  return { seen: { version, address: context.address, forwardedFor: forwardedFor.filter((hop) => hop !== '') } }
}

async function readyAnswer(askDatabase: () => Promise<string>, { isDraining }: Readiness): Promise<Answer> {
  const database = await askDatabase()
  const isReady = database === 'ok' && !isDraining
  const body = { status: isReady ? 'ok' : 'unavailable', database, draining: isDraining }
  return { status: isReady ? 200 : 503, body }
}

const goodForMs = 1_000
/** Who asks whether to send requests here has other places to send them. */
const askWithinMs = 1_000

/** However many ask, the database is written to once a second at most; what was bad is looked at again at once. */
function openDatabaseState(service: Service): () => Promise<string> {
  let goodUntil = 0
  let asking: Promise<string> | undefined
  const ask = async () => {
    const askedAt = performance.now()
    const state = await databaseState(service)
    if (state === 'ok') goodUntil = askedAt + goodForMs
    asking = undefined
    return state
  }
  return async () => (performance.now() < goodUntil ? 'ok' : await (asking ??= ask()))
}

async function databaseState({ db }: Service): Promise<string> {
  try {
    const { pending } = await migrationStatus(db.pool.within(askWithinMs))
    return pending.length === 0 ? await probeWriting(db) : 'migrations pending'
  } catch {
    return 'not reachable'
  }
}
