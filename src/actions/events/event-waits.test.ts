import { expect, test } from 'bun:test'
import { eventually } from '../../../test/eventually.ts'
import { openEventWaits } from './event-waits.ts'

const heads = new Map<string, number>()

test('what is written while numbers are given gets its numbers in another round, without a further write', async () => {
  const rounds: PromiseWithResolvers<void>[] = []
  const waits = openEventWaits(
    {
      findHeads: async () => heads,
      number: async () => {
        const round = Promise.withResolvers<void>()
        rounds.push(round)
        await round.promise
      },
    },
    () => {},
  )
  const numbered: (readonly string[])[] = []
  waits.onNumbered((clientIds) => numbered.push(clientIds))
  waits.written('app_1')
  await eventually(() => rounds.length, 1)
  waits.written('app_2')
  waits.written('app_2')
  rounds[0]!.resolve()
  await eventually(() => rounds.length, 2)
  rounds[1]!.resolve()
  await eventually(() => numbered, [['app_1'], ['app_2']])
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
      number: async () => {},
    },
    (error) => faults.push(error),
  )
  await waits.wait('app_1', 4, 60_000, new AbortController().signal)
  expect([asked, faults.length, waits.count()]).toEqual([2, 1, 0])
  waits.close()
})
