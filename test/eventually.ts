/** Waiting for what a background job, another process or the server brings about. */
import { expect } from 'bun:test'

const withinMs = 60_000

/** Asks until the answer is the expected one; the error has the last answer. */
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
 * A promise about time, kept in one of a few tries: a machine that pauses makes any of them late, and what really takes too
 * long does so each time. `measure` does it once more and returns how many milliseconds it took.
 */
export async function expectWithin(limitMs: number, measure: () => Promise<number>): Promise<void> {
  const took = [await measure()]
  while (took.length < 5 && took.at(-1)! > limitMs) took.push(await measure())
  expect(took.at(-1), `took ${took.map(Math.round).join(', ')} ms`).toBeLessThanOrEqual(limitMs)
}
