/**
 * What can happen to an order, one case a line: the clicks, the losses on the way, and the final state of the wallet and the order.
 * The guide's code and the example shop run every case.
 */
import type { Loss } from './lossy-way.ts'

export type Trial = {
  /** These never throw: a person who clicks sees a failure, and clicks again. */
  readonly pay: () => Promise<unknown>
  readonly refund: () => Promise<unknown>
  /** Pays twice: both requests reach the service before either is answered. */
  readonly payTwice: () => Promise<unknown>
  /** Applies to every request of the next call for this order, including its retries. */
  readonly lose: (loss: Loss) => void
  readonly deliverLate: () => Promise<unknown>
  readonly credit: () => Promise<unknown>
  readonly freeze: (isFrozen: boolean) => Promise<unknown>
  /** The person disconnects the shop in the wallet, and signs in again: the same wallet with another id. */
  readonly relink: () => Promise<unknown>
}

export type OrderCase = readonly [
  fact: string,
  /** `rich` can pay many times; `poor` holds nothing. */
  wallet: 'rich' | 'poor',
  act: (trial: Trial) => Promise<unknown>,
  /** The entries of the wallet, oldest first: `-1` is the payment of attempt 1, `+1` its refund. */
  entries: readonly string[],
  /** `unpaid` means any of the shop's own statuses for an unpaid order. */
  status: 'unpaid' | 'paying' | 'paid' | 'refunding' | 'refunded',
]

const inTurn =
  (...verbs: readonly ('pay' | 'refund')[]) =>
  async (trial: Trial) => {
    for (const verb of verbs) await trial[verb]()
  }
const atOnce = (trial: Trial, ...verbs: readonly ('pay' | 'refund')[]) =>
  Promise.all(verbs.map((verb) => trial[verb]()))
const losing =
  (loss: Loss, verb: 'pay' | 'refund', ...before: readonly ('pay' | 'refund')[]) =>
  async (trial: Trial) => {
    await inTurn(...before)(trial)
    trial.lose(loss)
    await trial[verb]()
  }
const then =
  (...acts: readonly ((trial: Trial) => Promise<unknown>)[]) =>
  async (trial: Trial) => {
    for (const act of acts) await act(trial)
  }
const deliverLate = (trial: Trial) => trial.deliverLate()

export const orderCases: readonly OrderCase[] = [
  ['a payment is taken once', 'rich', inTurn('pay'), ['-1'], 'paid'],
  ['a paid order is not charged again', 'rich', inTurn('pay', 'pay', 'pay'), ['-1'], 'paid'],
  ['paying twice at once takes the money once', 'rich', (trial) => atOnce(trial, 'pay', 'pay', 'pay'), ['-1'], 'paid'],
  [
    'a refunded order is paid again by a new attempt',
    'rich',
    inTurn('pay', 'refund', 'pay'),
    ['-1', '+1', '-2'],
    'paid',
  ],
  ['an unpaid order gives nothing back', 'rich', inTurn('refund', 'refund'), [], 'unpaid'],
  ['a refund comes once', 'rich', inTurn('pay', 'refund', 'refund'), ['-1', '+1'], 'refunded'],
  [
    'refunding twice at once gives the money back once',
    'rich',
    then(inTurn('pay'), (trial) => atOnce(trial, 'refund', 'refund', 'refund')),
    ['-1', '+1'],
    'refunded',
  ],
  [
    'a second payment has a refund of its own, which comes once',
    'rich',
    inTurn('pay', 'refund', 'pay', 'refund', 'refund'),
    ['-1', '+1', '-2', '+2'],
    'refunded',
  ],
  ['a wallet without the money pays nothing, however often', 'poor', inTurn('pay', 'pay'), [], 'unpaid'],
  [
    'two refusals at once leave an order that can be paid after a top-up',
    'poor',
    then(
      (trial) => trial.payTwice(),
      (trial) => trial.credit(),
      inTurn('pay'),
    ),
    ['-2'],
    'paid',
  ],
  ['a payment that never arrived leaves the order in question', 'rich', losing('request', 'pay'), [], 'paying'],
  [
    'a payment that never arrived is made by the next click',
    'rich',
    then(losing('request', 'pay'), inTurn('pay')),
    ['-1'],
    'paid',
  ],
  [
    'a payment that never arrived gives nothing back meanwhile',
    'rich',
    then(losing('request', 'pay'), inTurn('refund')),
    [],
    'paying',
  ],
  ['a payment whose answer was lost leaves the order in question', 'rich', losing('answer', 'pay'), ['-1'], 'paying'],
  [
    'a payment whose answer was lost is found by the next click',
    'rich',
    then(losing('answer', 'pay'), inTurn('pay', 'pay')),
    ['-1'],
    'paid',
  ],
  [
    'a payment answered by the page of a proxy leaves the order in question',
    'rich',
    losing('page', 'pay'),
    ['-1'],
    'paying',
  ],
  [
    'a payment answered by the page of a proxy is found by the next click',
    'rich',
    then(losing('page', 'pay'), inTurn('pay')),
    ['-1'],
    'paid',
  ],
  [
    'a refund answered by the page of a proxy is found by the next click',
    'rich',
    then(losing('page', 'refund', 'pay'), inTurn('refund')),
    ['-1', '+1'],
    'refunded',
  ],
  [
    'a payment whose answer was lost is found by two clicks at once',
    'rich',
    then(losing('answer', 'pay'), (trial) => atOnce(trial, 'pay', 'pay')),
    ['-1'],
    'paid',
  ],
  [
    'a payment whose answer was lost is found though the shop was disconnected and linked again',
    'rich',
    then(losing('answer', 'pay'), (trial) => trial.relink(), inTurn('pay', 'pay')),
    ['-1'],
    'paid',
  ],
  [
    'a payment that never arrived is made once after the shop was disconnected and linked again',
    'rich',
    then(losing('late', 'pay'), (trial) => trial.relink(), inTurn('pay', 'pay'), deliverLate),
    ['-2'],
    'paid',
  ],
  [
    'a payment that arrives after the next click moves nothing more',
    'rich',
    then(losing('late', 'pay'), inTurn('pay', 'refund'), deliverLate),
    ['-1', '+1'],
    'refunded',
  ],
  [
    'a payment that arrives after its refusal and a top-up stays refused',
    'poor',
    then(losing('late', 'pay'), inTurn('pay'), (trial) => trial.credit(), deliverLate, inTurn('pay')),
    ['-2'],
    'paid',
  ],
  [
    'a payment that arrives when a wallet is no longer frozen is the one that counts',
    'rich',
    then(
      losing('late', 'pay'),
      (trial) => trial.freeze(true),
      inTurn('pay'),
      (trial) => trial.freeze(false),
      deliverLate,
      inTurn('pay'),
    ),
    ['-1'],
    'paid',
  ],
  [
    'a refund that never arrived is made once by the next click',
    'rich',
    then(losing('request', 'refund', 'pay'), inTurn('pay', 'refund', 'refund')),
    ['-1', '+1'],
    'refunded',
  ],
  [
    'an order whose refund has no answer yet is not charged',
    'rich',
    then(losing('answer', 'refund', 'pay'), inTurn('pay')),
    ['-1', '+1'],
    'refunding',
  ],
  [
    'a refund whose answer was lost is found by the next click',
    'rich',
    then(losing('answer', 'refund', 'pay'), inTurn('refund', 'refund')),
    ['-1', '+1'],
    'refunded',
  ],
  [
    'a refund after the shop was disconnected and linked again comes once',
    'rich',
    then(inTurn('pay'), (trial) => trial.relink(), inTurn('refund', 'refund')),
    ['-1', '+1'],
    'refunded',
  ],
  [
    'a refund whose answer was lost is found after the shop was disconnected and linked again',
    'rich',
    then(losing('answer', 'refund', 'pay'), (trial) => trial.relink(), inTurn('refund', 'refund')),
    ['-1', '+1'],
    'refunded',
  ],
  [
    'a refund that arrives after a second payment moves nothing more',
    'rich',
    then(losing('late', 'refund', 'pay'), inTurn('refund', 'pay'), deliverLate),
    ['-1', '+1', '-2'],
    'paid',
  ],
]
