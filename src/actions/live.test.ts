import { expect, test } from 'bun:test'
import type { Session } from '../store/widget-sessions.ts'
import { openLive } from './live.ts'

const session = (name: string, userId = 'u1') => ({ tokenHash: Buffer.from(name), userId }) as Session

function openCounted() {
  const asked: string[][] = []
  const live = openLive(
    async (hashes) => {
      asked.push(hashes.map(String))
      return hashes.map((hash) => session(String(hash)))
    },
    () => {},
  )
  const watch = (name: string, userId?: string) => {
    const seen: (Session | undefined)[] = []
    const stop = live.watch({ session: session(name, userId), look: (each) => seen.push(each), end: () => stop?.() })
    return { seen, stop: stop! }
  }
  return { live, asked, watch }
}

test('all watched sessions are asked for in one question, each once', async () => {
  const { asked, watch } = openCounted()
  const watchers = ['a', 'b', 'a', 'c'].map((name) => watch(name))
  await Bun.sleep(120)
  expect(asked).toEqual([['a', 'b', 'c']])
  expect(watchers.map(({ seen }) => seen.length)).toEqual([1, 1, 1, 1])
  for (const { stop } of watchers) stop()
})

test('nobody watching, nothing is asked', async () => {
  const { asked, watch, live } = openCounted()
  live.poke('u1')
  await Bun.sleep(600)
  expect(asked).toEqual([])
  const { stop } = watch('a')
  await Bun.sleep(120)
  stop()
  stop()
  expect(live.count()).toBe(0)
  const before = asked.length
  await Bun.sleep(900)
  expect(asked.length).toBe(before)
  const again = watch('a')
  await Bun.sleep(120)
  expect(again.seen.length).toBe(1)
  again.stop()
})

test('a poke brings the next look forward, and thousands of them bring no more looks than one does', async () => {
  const { asked, watch, live } = openCounted()
  const { stop } = watch('a', 'u7')
  await Bun.sleep(120)
  const before = asked.length
  for (let i = 0; i < 5_000; i++) live.poke('u7')
  await Bun.sleep(120)
  expect(asked.length - before).toBe(1)
  live.poke('somebody else')
  stop()
})

test('a look that fails is told, and the next one comes all the same', async () => {
  let faults = 0
  let calls = 0
  const live = openLive(
    async () => {
      if (++calls === 1) throw new Error('away')
      return []
    },
    () => faults++,
  )
  const seen: unknown[] = []
  const stop = live.watch({ session: session('a'), look: (each) => seen.push(each), end: () => {} })!
  await Bun.sleep(700)
  expect(faults).toBe(1)
  expect(seen.length).toBeGreaterThan(0)
  stop()
})

test('there are at most six watchers of a session and two thousand in all', () => {
  const { live } = openCounted()
  const stops = Array.from({ length: 2_100 }, (_, i) =>
    live.watch({ session: session(`s${i >> 3}`), look: () => {}, end: () => {} }),
  )
  expect(stops.slice(0, 8).filter(Boolean)).toHaveLength(6)
  const more = Array.from({ length: 2_100 }, (_, i) =>
    live.watch({ session: session(`t${i}`), look: () => {}, end: () => {} }),
  )
  expect(live.count()).toBe(2_000)
  for (const stop of [...stops, ...more]) stop?.()
  expect(live.count()).toBe(0)
})
