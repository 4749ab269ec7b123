/** How long the service takes for pages of the admin area, and the database for what they ask of it. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { checkBooks } from '../src/actions/money/check-books.ts'
import { createOperator } from '../src/actions/operators/manage-operators.ts'
import { startSession } from '../src/actions/operators/manage-sessions.ts'
import type { Service } from '../src/actions/service.ts'
import { buildApp } from '../src/app.ts'

/** Of each page, after three that warm it up. */
export const times = 25

/** A new operator, signed in: the value of the cookie. */
export async function signIn(service: Service): Promise<string> {
  const operator = {
    email: `bench-${crypto.randomUUID()}@example.com`,
    name: 'Bench',
    password: 'a bench is for sitting',
    role: 'admin' as const,
  }
  const id = await createOperator(service, { name: 'bench', address: null }, operator)
  return await startSession(service, service.db.pool, id!, 'full', { address: '127.0.0.1', browser: 'Bench' })
}

export type PageRow = { page: string; medianMs: number; worstMs: number; databaseMs: number; kilobytes: number }

/** What the page that is under way has waited for its statements; those it sends at once add up. */
const asking = new AsyncLocalStorage<{ ms: number }>()

/** Adds the time of each statement to the page that sent it, and leaves those of jobs alone. */
function watchStatements(): void {
  // oxlint-disable-next-line typescript/unbound-method -- It is called with its own client below.
  const query = Client.prototype.query as (this: Client, ...asked: unknown[]) => unknown
  Client.prototype.query = function (this: Client, ...asked: unknown[]) {
    const page = asking.getStore()
    const startedAt = performance.now()
    const answer = query.apply(this, asked)
    const note = () => void (page && (page.ms += performance.now() - startedAt))
    if (answer instanceof Promise) answer.then(note, note)
    return answer
  } as typeof Client.prototype.query
}

/** The whole of what the service does for a page: session, queries, rendering. While the check of the books goes on. */
export async function timePages(service: Service, token: string, pages: Record<string, string>): Promise<PageRow[]> {
  const app = buildApp(service)
  const headers = { cookie: `billfold-session=${token}` }
  const rows: PageRow[] = []
  watchStatements()
  const done = new AbortController()
  const checking = checkOn(service, done.signal)
  for (const [page, path] of Object.entries(pages)) {
    const taken: number[] = []
    const inDatabase: number[] = []
    let bytes = 0
    for (let i = 0; i < times + 3; i++) {
      const startedAt = performance.now()
      const asked = { ms: 0 }
      const response = await asking.run(asked, async () =>
        app.fetch(new Request(`http://127.0.0.1:3000${path}`, { headers })),
      )
      bytes = (await response.arrayBuffer()).byteLength
      // A search that has one hit leads to its page.
      if (response.status !== 200 && response.status !== 303) throw new Error(`${path} answered ${response.status}`)
      if (i < 3) continue
      taken.push(performance.now() - startedAt)
      inDatabase.push(asked.ms)
    }
    for (const list of [taken, inDatabase]) list.sort((a, b) => a - b)
    rows.push({
      page,
      medianMs: round(taken[Math.floor(times / 2)]!),
      worstMs: round(taken.at(-1)!),
      databaseMs: round(inDatabase[Math.floor(times / 2)]!),
      kilobytes: Math.round(bytes / 1024),
    })
  }
  done.abort()
  await checking
  return rows
}

/** As the job does: patiently, until no pages are left, and after a fault once more. */
async function checkOn(service: Service, done: AbortSignal): Promise<void> {
  const patient = { ...service, db: service.db.longRunning }
  while (!done.aborted) {
    await checkBooks(patient).catch((error: unknown) => console.log(`the check of the books: ${String(error)}`))
    await sleep(1_000)
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
