/**
 * Loaded into the service before its own code, by `npm run bench -- tenants`: records where the quiet app's calls spend their time. Those calls
 * have the header `x-quiet-call`, and a referenceId that begins with its value.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { clockMs, probePath, type Marks, type Probed } from './tenants-calls.ts'

const marks = new Map<string, Marks>()
let delays: number[] = []
let underWay: number[] = []
let greedyRequests = 0
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
      if (id === null) return request.url.endsWith(probePath) ? takeProbed() : countGreedy(fetch(request, server))
      const mine: Marks = { arrivedAt: clockMs(), usedMs: -usedMs() }
      marks.set(id, mine)
      return Promise.resolve(fetch(request, server)).finally(() => {
        mine.answeredAt = clockMs()
        mine.usedMs += usedMs()
      })
    }
    return serve({ ...options, fetch: probed })
  },
})

/** Of this process and all of its threads. */
function usedMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function countGreedy(answer: Response | Promise<Response>): Response | Promise<Response> {
  if (!(answer instanceof Promise)) return answer
  greedyRequests++
  return answer.finally(() => void greedyRequests--)
}

function takeProbed(): Response {
  const probed: Probed = { marks: Object.fromEntries(marks), loopDelaysMs: delays, underWay }
  marks.clear()
  delays = []
  underWay = []
  return Response.json(probed)
}

let expectedAt = clockMs() + delayEveryMs
setInterval(() => {
  const now = clockMs()
  delays.push(Math.round(now - expectedAt))
  underWay.push(greedyRequests)
  expectedAt = now + delayEveryMs
}, delayEveryMs).unref()
