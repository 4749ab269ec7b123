import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  extendHold,
  holdStatusAt,
  maxHoldSeconds,
  planCapture,
  planRelease,
  remainingOf,
  viewHold,
  type Hold,
} from './hold.ts'

const at = new Date('2026-03-01T12:00:00.000Z')
const after = (seconds: number) => new Date(at.getTime() + seconds * 1_000)
const open: Hold = {
  walletId: 'w',
  id: 'h',
  clientId: 'app',
  referenceType: 'ORDER',
  referenceId: '1',
  description: null,
  amountMinor: 30n,
  capturedMinor: 0n,
  releasedMinor: 0n,
  extraMinor: 0n,
  createdAt: at,
  expiresAt: after(60),
  closedAt: null,
  endedBy: null,
  steps: 0,
  initialExpiresAt: null,
  noticeAt: null,
}

test('a hold is expired from its instant on, and not a millisecond before', () => {
  expect(holdStatusAt(open, new Date(after(60).getTime() - 1))).toBe('OPEN')
  expect(holdStatusAt(open, after(60))).toBe('EXPIRED')
  expect(planCapture(open, after(60), { amountMinor: 1n, isFinal: true, allowsExtra: true })).toEqual({
    refusal: 'HOLD_EXPIRED',
  })
  expect(viewHold(open, after(61))).toMatchObject({ status: 'EXPIRED', closedAt: open.expiresAt, releasedMinor: 30n })
})

test.each([
  [undefined, true, false, '30 0 0 capture'],
  [30n, false, false, '30 0 0 capture'],
  [10n, true, false, '10 20 0 capture'],
  [10n, false, false, '10 0 0 open'],
  [31n, true, true, '30 0 1 capture'],
  [31n, false, true, '30 0 1 capture'],
  [31n, true, false, 'HOLD_EXCEEDED'],
])(
  'a capture of %p of 30, final %p, extra %p: captured, released, extra, end: %s',
  (amountMinor, isFinal, allowsExtra, said) => {
    const plan = planCapture(open, at, { amountMinor, isFinal, allowsExtra })
    if ('refusal' in plan) return expect(plan.refusal as string).toBe(said)
    const { capturedMinor, releasedMinor, extraMinor, endedBy } = plan.hold
    expect(`${capturedMinor} ${releasedMinor} ${extraMinor} ${endedBy ?? 'open'}`).toBe(said)
  },
)

test('whatever is captured and released, a wallet is given back exactly what was held for it', () => {
  const asked = fc.array(
    fc.record({
      amountMinor: fc.option(fc.bigInt(1n, 40n), { nil: undefined }),
      isFinal: fc.boolean(),
      allowsExtra: fc.boolean(),
    }),
  )
  fc.assert(
    fc.property(asked, fc.constantFrom('void', 'expiry'), (captures, end) => {
      let hold = open
      let heldMinor = hold.amountMinor
      let takenMinor = 0n
      for (const capture of captures) {
        const plan = planCapture(hold, at, capture)
        if ('refusal' in plan) continue
        hold = plan.hold
        heldMinor += plan.operation.heldMinor!
        takenMinor -= plan.operation.amountMinor
        expect(heldMinor).toBe(remainingOf(hold))
        expect(takenMinor).toBe(hold.capturedMinor + hold.extraMinor)
        expect(hold.closedAt === null).toBe(remainingOf(hold) > 0n)
      }
      if (hold.closedAt) return
      const ended = planRelease(hold, at, end)
      expect(heldMinor + ended.operation.heldMinor!).toBe(0n)
      expect(remainingOf(ended.hold)).toBe(0n)
    }),
  )
})

test('an extension never shortens a hold, and ends 30 days after it was made at the latest', () => {
  expect(extendHold(open, at, 60)).toBe(open)
  expect(extendHold(open, after(30), 60).expiresAt).toEqual(after(90))
  expect(extendHold(open, after(30), maxHoldSeconds).expiresAt).toEqual(after(maxHoldSeconds))
})
