import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  enqueue,
  isFull,
  itemsOf,
  newFairQueue,
  putBack,
  removeItems,
  takeInTurn,
  type FairQueue,
} from './fair-queue.ts'

type Item = { readonly app: string; readonly n: number }

const add = (queue: FairQueue<Item>, app: string, count: number, from = 0) => {
  for (let n = 0; n < count; n++) enqueue(queue, app, { app, n: from + n })
}
const take = (queue: FairQueue<Item>, places: number): Item[] => {
  const batch: Item[] = []
  takeInTurn(queue, places, (item) => {
    batch.push(item)
    return 'taken'
  })
  return batch
}
const countsOf = (batch: readonly Item[]) =>
  Object.fromEntries([...Map.groupBy(batch, ({ app }) => app)].map(([app, items]) => [app, items.length]))

test('each waiting app gets its share of a batch, and what one leaves goes to the others', () => {
  const queue = newFairQueue<Item>()
  add(queue, 'greedy', 5_000)
  add(queue, 'busy', 300)
  add(queue, 'small', 3)
  expect(countsOf(take(queue, 512))).toEqual({ greedy: 255, busy: 254, small: 3 })
  expect(countsOf(take(queue, 512))).toEqual({ greedy: 466, busy: 46 })
  expect(countsOf(take(queue, 512))).toEqual({ greedy: 512 })
  expect(queue.size).toBe(5_303 - 3 * 512)
})

test('one app gets no more than the most of a batch, and several apps fill it together', () => {
  const queue = newFairQueue<Item>()
  for (const app of ['a', 'b', 'c']) add(queue, app, 300)
  add(queue, 'd', 10)
  const capped = (places: number) => {
    const batch: Item[] = []
    takeInTurn(queue, places, (item) => (batch.push(item), 'taken'), 128)
    return countsOf(batch)
  }
  expect(capped(512)).toEqual({ a: 128, b: 128, c: 128, d: 10 })
  expect(capped(90)).toEqual({ a: 30, b: 30, c: 30 })
})

test('with more apps than places every app is served before one is served twice', () => {
  const queue = newFairQueue<Item>()
  for (let app = 0; app < 30; app++) add(queue, `app ${app}`, 2)
  const batches = Array.from({ length: 6 }, () => take(queue, 10))
  const firsts = batches.slice(0, 3).flat()
  expect(new Set(firsts.map(({ app }) => app)).size).toBe(30)
  expect(firsts.every(({ n }) => n === 0)).toBeTrue()
  expect(
    batches
      .slice(3)
      .flat()
      .every(({ n }) => n === 1),
  ).toBeTrue()
  expect([queue.size, queue.lines.size]).toEqual([0, 0])
})

test('items that stay keep their order and do not use up the share of their app', () => {
  const queue = newFairQueue<Item>()
  add(queue, 'a', 6)
  const batch: number[] = []
  takeInTurn(queue, 2, ({ n }) => {
    if (n % 2 === 0) return 'stays'
    batch.push(n)
    return 'taken'
  })
  expect(batch).toEqual([1, 3])
  expect(take(queue, 9).map(({ n }) => n)).toEqual([0, 2, 4, 5])
})

test('of a full queue only an app above its share is refused', () => {
  const queue = newFairQueue<Item>()
  add(queue, 'greedy', 100)
  expect(isFull(queue, 'greedy', 101)).toBeFalse()
  expect([isFull(queue, 'greedy', 100), isFull(queue, 'other', 100)]).toEqual([true, false])
  add(queue, 'other', 50)
  expect([isFull(queue, 'other', 100), isFull(queue, 'third', 100)]).toEqual([true, false])
})

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('add' as const), app: fc.nat(4), count: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ kind: fc.constant('take' as const), places: fc.integer({ min: 1, max: 24 }), stays: fc.nat(3) }),
    fc.record({ kind: fc.constant('back' as const), count: fc.nat(12) }),
    fc.record({ kind: fc.constant('remove' as const), every: fc.integer({ min: 2, max: 5 }) }),
  ),
  { maxLength: 40, size: 'max' },
)

test('any order of calls loses nothing, repeats nothing and keeps the order of each app', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const queue = newFairQueue<Item>()
      const waiting = new Map<string, number[]>()
      let last: Item[] = []
      let next = 0
      for (const step of list) {
        if (step.kind === 'add') {
          const app = `app ${step.app}`
          add(queue, app, step.count, next)
          waiting.set(app, [...(waiting.get(app) ?? []), ...Array.from({ length: step.count }, () => next++)])
        } else if (step.kind === 'take') {
          last = []
          takeInTurn(queue, step.places, (item) => {
            if (step.stays > 0 && item.n % (step.stays + 1) === 0) return 'stays'
            last.push(item)
            return 'taken'
          })
          expect(last.length).toBeLessThanOrEqual(step.places)
          for (const { app, n } of last)
            waiting.set(
              app,
              waiting.get(app)!.filter((each) => each !== n),
            )
        } else if (step.kind === 'back') {
          const back = last.splice(0, step.count)
          putBack(queue, back, ({ app }) => app)
          for (const [app, items] of Map.groupBy(back, ({ app }) => app))
            waiting.set(app, [...items.map(({ n }) => n), ...(waiting.get(app) ?? [])])
        } else {
          removeItems(queue, ({ n }) => n % step.every === 0)
          for (const [app, items] of waiting)
            waiting.set(
              app,
              items.filter((n) => n % step.every !== 0),
            )
        }
        const left = [...itemsOf(queue)]
        expect(queue.size).toBe(left.length)
        for (const [app, items] of waiting)
          expect(left.filter((item) => item.app === app).map(({ n }) => n)).toEqual(items)
        expect([...queue.lines.values()].every(({ items, head }) => head < items.length)).toBeTrue()
      }
    }),
    { numRuns: 300 },
  )
})
