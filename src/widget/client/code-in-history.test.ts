import { afterEach, beforeEach, expect, setSystemTime, test } from 'bun:test'
import { storeCodeStep, storedCodeStep } from './code-in-history.ts'
import { storeSession } from './session-in-history.ts'

const token = `ws_${'1'.repeat(8)}-1111-4111-8111-${'1'.repeat(12)}`
const waiting = { step: 'reset', email: 'ada@example.com', handle: 'ch_x' } as const
const usual = globalThis.history

beforeEach(() => {
  const history = { state: null as unknown, replaceState: (state: unknown) => void (history.state = state) }
  Object.assign(globalThis, { history })
})
afterEach(() => {
  setSystemTime()
  Object.assign(globalThis, { history: usual })
})

test('the step that waits for a code is kept beside the absent session', () => {
  storeSession(null)
  storeCodeStep(waiting)
  expect(storedCodeStep()).toEqual(waiting)
  storeSession(null)
  expect(storedCodeStep()).toEqual(waiting)
})

test('a session ends the step, and so does leaving it by hand', () => {
  storeCodeStep(waiting)
  storeSession(token)
  expect(history.state).toEqual({ session: token })
  storeCodeStep(waiting)
  storeCodeStep(null)
  expect(history.state).toEqual({ session: token })
})

test('a step older than its code is not shown again', () => {
  storeCodeStep(waiting)
  setSystemTime(Date.now() + 15 * 60_000)
  expect(storedCodeStep()).toBeNull()
})

test.each([null, {}, { code: 5 }, { code: { step: 'login' } }, { code: { ...waiting, handle: 5, storedAt: 0 } }])(
  'the entry %j is no step',
  (state) => {
    history.replaceState(state, '')
    expect(storedCodeStep()).toBeNull()
  },
)
