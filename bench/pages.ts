/** How long the service takes for pages of the admin area. */
import { checkBooks } from '../src/actions/money/check-books.ts'
import { createOperator } from '../src/actions/operators/manage-operators.ts'
import { startSession } from '../src/actions/operators/keep-session.ts'
import type { Service } from '../src/actions/service.ts'
import { buildApp } from '../src/app.ts'

/** Of each page, after three that warm it up. */
export const times = 25

/** An operator of its own, signed in: the value of the cookie. */
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

export type PageRow = { page: string; medianMs: number; worstMs: number; kilobytes: number }

/** The whole of what the service does for a page: session, queries, rendering. While the check of the books goes on. */
export async function timePages(service: Service, token: string, pages: Record<string, string>): Promise<PageRow[]> {
  const app = buildApp(service)
  const headers = { cookie: `billfold-session=${token}` }
  const rows: PageRow[] = []
  const checking = setInterval(() => void checkBooks(service), 1_000)
  for (const [page, path] of Object.entries(pages)) {
    const taken: number[] = []
    let bytes = 0
    for (let i = 0; i < times + 3; i++) {
      const startedAt = performance.now()
      const response = await app.fetch(new Request(`http://127.0.0.1:3000${path}`, { headers }))
      bytes = (await response.arrayBuffer()).byteLength
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`)
      if (i >= 3) taken.push(performance.now() - startedAt)
    }
    taken.sort((a, b) => a - b)
    rows.push({
      page,
      medianMs: round(taken[Math.floor(times / 2)]!),
      worstMs: round(taken.at(-1)!),
      kilobytes: Math.round(bytes / 1024),
    })
  }
  clearInterval(checking)
  return rows
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
