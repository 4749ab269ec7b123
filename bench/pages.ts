/** The time of pages of the admin area in the service, and of their statements in the database. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { checkBooks } from '../src/actions/money/check-books.ts'
import { createOperator } from '../src/actions/operators/manage-operators.ts'
import { startSession } from '../src/actions/operators/manage-sessions.ts'
import type { Service } from '../src/actions/service.ts'
import { buildApp } from '../src/app.ts'

/** Repetitions of each page, after three that warm it up. */
export const times = 25

/** Creates an operator and signs in; returns the value of the cookie. */
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

/** The time that the current page has waited for its statements; concurrent statements add up. */
const asking = new AsyncLocalStorage<{ ms: number }>()

/** Adds the time of each statement to the page that sent it, and ignores those of jobs. */
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

/** Times everything the service does for a page: session, queries, rendering. Runs beside the check of the books. */
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
      // A search with one hit redirects to its page.
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

/** Checks the books like the job does, with its longer time limits, and again after a fault, until the pages are timed. */
async function checkOn(service: Service, done: AbortSignal): Promise<void> {
  const longRunning = { ...service, db: service.db.longRunning }
  while (!done.aborted) {
    await checkBooks(longRunning).catch((error: unknown) => console.log(`the check of the books: ${String(error)}`))
    await sleep(1_000)
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
