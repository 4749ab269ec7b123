/** Waiting for effects outside the test: a background job, another process, the server. */
import { expect } from 'bun:test'

const withinMs = 60_000

/** Repeats `read` until it returns the expected value; on a time-out the error shows the last value. */
export async function eventually<T>(read: () => Promise<T> | T, expected: NoInfer<T>): Promise<void> {
  const endsAt = performance.now() + withinMs
  for (;;) {
    const seen = await read()
    if (Bun.deepEquals(seen, expected)) return
    if (performance.now() > endsAt) throw new Error(`saw ${Bun.inspect(seen)} instead of ${Bun.inspect(expected)}`)
    await Bun.sleep(20)
  }
}

/**
 * The limit must hold in one of a few attempts: a machine that stalls can make any of them late, but a real regression is late every
 * time. `measure` repeats the work and returns its milliseconds.
 */
export async function expectWithin(limitMs: number, measure: () => Promise<number>): Promise<void> {
  const took = [await measure()]
  while (took.length < 5 && took.at(-1)! > limitMs) took.push(await measure())
  expect(took.at(-1), `took ${took.map(Math.round).join(', ')} ms`).toBeLessThanOrEqual(limitMs)
}
