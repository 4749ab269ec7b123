import { afterAll, expect, spyOn, test } from 'bun:test'
import { beginTogether, isShared, placesPerTurn, runInTurn, seeApp, turnFor } from './turns.ts'

/** Does not move by itself, so that a pause of this process ends no second. */
let time = performance.now()
const clock = spyOn(performance, 'now').mockImplementation(() => time)
afterAll(() => clock.mockRestore())

/** From now on no app but this one has called. */
function leaveAlone(app: string): void {
  seeApp(app)
  time += 1_000
}

/** Counts the turns of the event loop while `work` runs, and returns what happened in each. The app that calls alone is `greedy`. */
async function inTurns(work: (happen: (what: string) => void) => Promise<unknown>): Promise<string[][]> {
  leaveAlone('greedy')
  // All places are given again after they were used up.
  await turnFor('greedy', placesPerTurn)
  for (let i = 0; i < 2; i++) await new Promise((resolve) => void setImmediate(resolve))
  const turns: string[][] = [[]]
  let isOver = false
  const next = () => {
    turns.push([])
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  await work((what) => void turns.at(-1)!.push(what))
  isOver = true
  return turns.filter((turn) => turn.length > 0)
}

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

const countOf = (turn: readonly string[] | undefined, what: string) =>
  (turn ?? []).filter((each) => each === what).length

test('requests of apps that arrive together begin in one turn, ahead of any number of patient ones', async () => {
  const turns = await inTurns((happen) =>
    Promise.all([
      ...times(200, () => beginTogether(true).then(() => happen('patient'))),
      ...times(100, () => beginTogether(false).then(() => happen('urgent'))),
    ]),
  )
  expect(turns[0]!.slice(0, 100)).toEqual(times(100, () => 'urgent'))
  expect(turns.map((turn) => countOf(turn, 'urgent'))).toEqual([100, ...times(12, () => 0)])
})

test('of patient requests at most 16 begin in a turn, and all of them begin', async () => {
  const turns = await inTurns((happen) =>
    Promise.all(times(100, () => beginTogether(true).then(() => happen('patient')))),
  )
  expect(turns.map(({ length }) => length)).toEqual([16, 16, 16, 16, 16, 16, 4])
})

test('of the calls of an app 128 have a turn together, in their order', async () => {
  const turns = await inTurns((happen) =>
    Promise.all(times(400, async (i) => (await turnFor('greedy'), happen(String(i))))),
  )
  expect(turns.map(({ length }) => length)).toEqual([128, 128, 128, 16])
  expect(turns.flat()).toEqual(times(400, String))
})

test('a few calls of another app wait for none of 500', async () => {
  const turns = await inTurns(async (happen) => {
    const greedy = times(500, async () => (await turnFor('greedy'), happen('greedy')))
    for (let i = 0; i < 8; i++) runInTurn('quiet', () => happen('quiet'))
    expect(turnFor('quiet')).toBeInstanceOf(Promise)
    await Promise.all(greedy)
  })
  expect(countOf(turns[0], 'quiet')).toBe(8)
})

test('apps that both have many waiting take their places in turn', async () => {
  const turns = await inTurns((happen) =>
    Promise.all(
      ['one', 'two'].flatMap((app) =>
        times(200, () => new Promise<void>((resolve) => runInTurn(app, () => (happen(app), resolve())))),
      ),
    ),
  )
  expect(countOf(turns[1], 'one')).toBe(16)
  expect(countOf(turns[1], 'two')).toBe(16)
})

test('while another app calls, 32 calls of an app have a turn together, and 128 again a second after its last call', async () => {
  const [first, ...turns] = await inTurns(async (happen) => {
    seeApp('quiet')
    await Promise.all(times(300, async () => (await turnFor('greedy'), happen('greedy'))))
  })
  // This turn had its places before the other app called.
  expect(first).toHaveLength(128)
  expect(turns.map(({ length }) => length)).toEqual([32, 32, 32, 32, 32, 12])
  time += 999
  expect(isShared()).toBeTrue()
  time += 1
  expect(isShared()).toBeFalse()
})

test('what belongs to no app does not count as another app', () => {
  leaveAlone('greedy')
  for (const app of ['', 'greedy']) seeApp(app)
  expect(isShared()).toBeFalse()
})

test('long steps take as many places as they say: three of 50, or one of 128, have a turn', async () => {
  const slices = await inTurns((happen) =>
    Promise.all(times(6, async () => (await turnFor('greedy', 50), happen('slice')))),
  )
  expect(slices.map(({ length }) => length)).toEqual([3, 3])
  const bodies = await inTurns((happen) =>
    Promise.all(times(3, async () => (await turnFor('greedy', placesPerTurn), happen('body')))),
  )
  expect(bodies.map(({ length }) => length)).toEqual([1, 1, 1])
})

test('a short step does not overtake a long one of its app', async () => {
  const turns = await inTurns(async (happen) => {
    await turnFor('greedy', placesPerTurn)
    await Promise.all([
      turnFor('quiet', 50)!.then(() => happen('long')),
      Promise.resolve(turnFor('quiet')).then(() => happen('short')),
    ])
  })
  expect(turns.flat()).toEqual(['long', 'short'])
})

test('a turn begins with all of its places, also after one that used them up for those that waited', async () => {
  for (let i = 0; i < 2; i++) {
    const turns = await inTurns((happen) =>
      Promise.all(times(256, async () => (await turnFor('greedy'), happen('greedy')))),
    )
    expect(turns.map(({ length }) => length)).toEqual([128, 128])
  }
})
