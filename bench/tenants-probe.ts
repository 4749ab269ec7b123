/**
 * Loaded into the service before its own code, by `npm run bench -- tenants`: records where the quiet app's calls spend their time. Those calls
 * have the header `x-quiet-call`, and a referenceId that begins with its value.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { clockMs, probePath, type Marks, type Probed } from './tenants-calls.ts'

const marks = new Map<string, Marks>()
let delays: number[] = []
const delayEveryMs = 5

// The driver of the service, which may be another checkout.
const { Client } = createRequire(join(process.cwd(), 'package.json'))('pg') as typeof import('pg')
type Query = (this: unknown, ...args: unknown[]) => unknown
const query = Reflect.get(Client.prototype, 'query') as Query

function probedQuery(this: unknown, ...args: unknown[]): unknown {
  const running = query.apply(this, args)
  const [config, values] = args as [{ readonly values?: unknown[] } | undefined, unknown[] | undefined]
  const found = (values ?? config?.values ?? []).find((value) => typeof value === 'string' && value.includes('quiet-'))
  if (typeof found !== 'string' || !(running instanceof Promise)) return running
  const mine = [...found.matchAll(/quiet-\d+-/g)].map(([id]) => marks.get(id)).filter((each) => each !== undefined)
  for (const each of mine) each.statementAt = clockMs()
  const note = () => {
    for (const each of mine) each.writtenAt = clockMs()
  }
  running.then(note, note)
  return running
}
Object.assign(Client.prototype, { query: probedQuery })

type Fetch = (request: Request, server: unknown) => Response | Promise<Response>
const { serve } = Bun

Object.assign(Bun, {
  serve: (options: { fetch: Fetch }) => {
    const { fetch } = options
    const probed: Fetch = (request, server) => {
      const id = request.headers.get('x-quiet-call')
      if (id === null) return request.url.endsWith(probePath) ? takeProbed() : fetch(request, server)
      const mine: Marks = { arrivedAt: clockMs() }
      marks.set(id, mine)
      const answer = Promise.resolve(fetch(request, server))
      return answer.finally(() => void (mine.answeredAt = clockMs()))
    }
    return serve({ ...options, fetch: probed })
  },
})

function takeProbed(): Response {
  const probed: Probed = { marks: Object.fromEntries(marks), loopDelaysMs: delays }
  marks.clear()
  delays = []
  return Response.json(probed)
}

let expectedAt = clockMs() + delayEveryMs
setInterval(() => {
  const now = clockMs()
  delays.push(Math.round(now - expectedAt))
  expectedAt = now + delayEveryMs
}, delayEveryMs).unref()
