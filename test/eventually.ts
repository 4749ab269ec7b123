/** What somebody else brings about in their own time: a background job, another process, the server. */
import { expect } from 'bun:test'

const withinMs = 60_000

/** Looks until it sees what is expected; what it saw last is told, when that is something else. */
export async function eventually<T>(look: () => Promise<T> | T, expected: NoInfer<T>): Promise<void> {
  const endsAt = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (Bun.deepEquals(seen, expected)) return
    if (performance.now() > endsAt) throw new Error(`saw ${Bun.inspect(seen)} instead of ${Bun.inspect(expected)}`)
    await Bun.sleep(20)
  }
}

/**
 * A promise about time, kept in one of a few tries: a machine that stands still for a moment makes any of them late, and what
 * really takes too long does so each time. `measure` does it once more and tells how many milliseconds it took.
 */
export async function expectWithin(limitMs: number, measure: () => Promise<number>): Promise<void> {
  const took = [await measure()]
  while (took.length < 5 && took.at(-1)! > limitMs) took.push(await measure())
  expect(took.at(-1), `took ${took.map(Math.round).join(', ')} ms`).toBeLessThanOrEqual(limitMs)
}
