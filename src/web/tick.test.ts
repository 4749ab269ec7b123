import { expect, test } from 'bun:test'
import { shareTick } from './tick.ts'

/** Resolves when all have their turn. */
function inTurns(requests: readonly boolean[]) {
  const turns: { readonly isPatient: boolean; readonly turn: number }[] = []
  let turn = 0
  let isOver = false
  const next = () => {
    turn++
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  const all = requests.map((isPatient) => shareTick(isPatient).then(() => turns.push({ isPatient, turn })))
  return Promise.all(all).then(() => {
    isOver = true
    return turns
  })
}

test('requests of apps that arrive together share a turn, behind any number of patient ones', async () => {
  const turns = await inTurns([...Array<boolean>(200).fill(true), ...Array<boolean>(100).fill(false)])
  expect(turns.slice(0, 100).every(({ isPatient }) => !isPatient)).toBeTrue()
  expect(new Set(turns.slice(0, 100).map(({ turn }) => turn)).size).toBe(1)
})

test('of patient requests at most 16 have a turn together, and all of them have one', async () => {
  const turns = await inTurns(Array<boolean>(100).fill(true))
  const each = Map.groupBy(turns, ({ turn }) => turn)
  expect([...each.values()].map(({ length }) => length)).toEqual([16, 16, 16, 16, 16, 16, 4])
})
