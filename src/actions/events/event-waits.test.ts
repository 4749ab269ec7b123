import { expect, test } from 'bun:test'
import { eventually } from '../../../test/eventually.ts'
import type { NumberedEvents } from '../../store/events/number-events.ts'
import { openEventWaits, roundEveryMs } from './event-waits.ts'

const heads = new Map<string, number>()

const none = { events: 0, toDeliver: [] }

test('what is written while numbers are given gets its numbers in another round, without a further write', async () => {
  const rounds: PromiseWithResolvers<NumberedEvents>[] = []
  const waits = openEventWaits(
    {
      findHeads: async () => heads,
      number: async () => {
        const round = Promise.withResolvers<NumberedEvents>()
        rounds.push(round)
        return await round.promise
      },
    },
    () => {},
  )
  const numbered: (readonly string[])[] = []
  waits.onNumbered((clientIds) => numbered.push(clientIds))
  waits.written()
  await eventually(() => rounds.length, 1)
  waits.written()
  waits.written()
  rounds[0]!.resolve({ events: 1, toDeliver: ['app_1'] })
  await eventually(() => rounds.length, 2)
  rounds[1]!.resolve(none)
  waits.written()
  await eventually(() => rounds.length, 3)
  rounds[2]!.resolve({ events: 2, toDeliver: ['app_2'] })
  // The second round numbered nothing that an endpoint waits for.
  await eventually(() => numbered, [['app_1'], ['app_2']])
  waits.close()
})

test('a round that fails is not counted: the job must try again', async () => {
  const faults: unknown[] = []
  let isAway = true
  const waits = openEventWaits(
    {
      findHeads: async () => heads,
      number: async () => {
        if (isAway) throw new Error('away')
        return none
      },
    },
    (error) => faults.push(error),
  )
  waits.written()
  await eventually(() => faults.length, 1)
  expect(waits.hasNumberedWithin(Infinity)).toBeFalse()
  isAway = false
  waits.written()
  await eventually(() => waits.hasNumberedWithin(Infinity), true)
  waits.close()
})

test('a database that does not answer keeps a call waiting, and the next poll ends it', async () => {
  let asked = 0
  const faults: unknown[] = []
  const waits = openEventWaits(
    {
      findHeads: async () => {
        if (++asked === 1) throw new Error('away')
        return new Map([['app_1', 5]])
      },
      number: async () => none,
    },
    (error) => faults.push(error),
  )
  await waits.wait('app_1', 4, 60_000, new AbortController().signal)
  expect([asked, faults.length, waits.count()]).toEqual([2, 1, 0])
  waits.close()
})

test('rounds are rarer under load, and rarest while nobody waits for the events, but at least two a second', () => {
  const everyMs = [
    roundEveryMs({ isUnderLoad: false, isAwaited: false }),
    roundEveryMs({ isUnderLoad: true, isAwaited: true }),
    roundEveryMs({ isUnderLoad: true, isAwaited: false }),
    500,
  ]
  expect(everyMs).toEqual(everyMs.toSorted((a, b) => a - b))
  expect(new Set(everyMs.slice(0, 3)).size).toBe(3)
  expect(roundEveryMs({ isUnderLoad: false, isAwaited: true })).toBe(everyMs[0]!)
})
