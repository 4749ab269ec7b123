/** Random batches of postings, and the check that their answers and rows are what `decideInTurn` decides. */
import { expect } from 'bun:test'
import * as fc from 'fast-check'
import type { Operation, Wallet } from '../src/ledger/decide.ts'
import { maxBalanceMinor } from '../src/ledger/money.ts'
import { decideInTurn, type Step } from '../src/ledger/plan.ts'
import type { Outcome } from '../src/store/outcomes.ts'
import type { PostingResult } from '../src/store/writer/posting.ts'

export const walletCount = 3

/** How a posting reaches its wallet. Links 0 and 1 are of two apps; `stolen` is link 0 used by the other app. */
const ways = ['link 0', 'link 1', 'service', 'stolen', 'missing'] as const

export type Ask = {
  readonly wallet: number
  readonly way: (typeof ways)[number]
  readonly amountMinor: bigint
  readonly isReversal: boolean
  readonly isByOperator: boolean
  /** It reserves the amount, which is below zero. */
  readonly isHold?: boolean
  readonly reference: number
  /** Its text is one that PostgreSQL cannot store, so every batch with it fails. */
  readonly isPoison: boolean
}

/** `heldMinor` is held for an app when the test begins. */
export type Start = {
  readonly balanceMinor: bigint
  readonly heldMinor?: bigint
  readonly frozenFor: Wallet['frozenFor']
}

const small = fc.integer({ min: 1, max: 12 }).map(BigInt)
const credits = fc.oneof({ weight: 8, arbitrary: small }, { weight: 1, arbitrary: fc.constant(maxBalanceMinor) })
const amounts = fc.oneof({ weight: 3, arbitrary: small.map((minor) => -minor) }, { weight: 2, arbitrary: credits })
const rarely = (weight: number) =>
  fc.oneof({ weight, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })

export const starts: fc.Arbitrary<Start> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ balanceMinor: fc.bigInt(0n, 20n), frozenFor: fc.constant(null) }),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({
        freeMinor: fc.bigInt(0n, 15n),
        heldMinor: fc.bigInt(1n, 12n),
        frozenFor: fc.constantFrom(null, null, 'operator'),
      })
      .map(({ freeMinor, heldMinor, frozenFor }) => ({ balanceMinor: freeMinor + heldMinor, heldMinor, frozenFor })),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      balanceMinor: fc.bigInt(maxBalanceMinor - 15n, maxBalanceMinor),
      frozenFor: fc.constant(null),
    }),
  },
  { weight: 1, arbitrary: fc.record({ balanceMinor: fc.bigInt(-9n, 20n), frozenFor: fc.constant('operator') }) },
  { weight: 1, arbitrary: fc.record({ balanceMinor: fc.bigInt(-9n, -1n), frozenFor: fc.constant('debt') }) },
  { weight: 1, arbitrary: fc.record({ balanceMinor: fc.bigInt(-9n, 0n), frozenFor: fc.constant('closed') }) },
)

/** The references of holds are apart from those of debits and credits. */
const firstHold = 100_000

/** Few references, so that most lists repeat one, with the same or with other content. */
export const asks: fc.Arbitrary<Ask> = fc
  .record({
    wallet: fc.nat(walletCount - 1),
    way: fc.oneof(
      { weight: 8, arbitrary: fc.constant('link 0' as const) },
      { weight: 3, arbitrary: fc.constant('link 1' as const) },
      { weight: 3, arbitrary: fc.constant('service' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...ways) },
    ),
    amountMinor: amounts,
    isReversal: fc.boolean(),
    isByOperator: rarely(3),
    isHold: rarely(2),
    reference: fc.oneof({ weight: 3, arbitrary: fc.nat(firstHold - 1) }, { weight: 1, arbitrary: fc.nat(5) }),
    isPoison: rarely(60),
  })
  .map((ask) => {
    const isHold = ask.isHold && ask.way !== 'service' && ask.amountMinor < 0n
    const of = { ...ask, isHold, reference: ask.reference + (isHold ? firstHold : 0) }
    return ask.way === 'service' ? of : { ...of, isReversal: false, isByOperator: false }
  })

/** What an ask asks of the wallet. */
export function operationOf(ask: Ask): Operation {
  return ask.isHold ? { amountMinor: 0n, heldMinor: -ask.amountMinor, isReversal: false } : ask
}

export type Answer = PostingResult | Error

export type TransferRow = {
  readonly reference: number
  readonly wallet: number
  readonly sequence: number
  readonly amountMinor: bigint
  readonly balanceMinor: bigint
  readonly account: string
}

export type OutcomeRow = Omit<Outcome, 'referenceKey' | 'walletId'> & {
  readonly reference: number
  readonly wallet: number
  readonly sequence: number | null
}

export type Rows = {
  readonly wallets: readonly Wallet[]
  readonly transfers: readonly TransferRow[]
  readonly outcomes: readonly OutcomeRow[]
  readonly holds: readonly Pick<OutcomeRow, 'reference' | 'wallet' | 'amountMinor'>[]
  readonly positions: Readonly<Record<string, readonly [debited: bigint, credited: bigint, transfers: number]>>
}

/** The state of one run by the rules: the recorded outcomes, and the current wallets. */
export type Model = {
  wallets: Wallet[]
  readonly recorded: Map<number, { readonly ask: Ask; readonly step: Step }>
}

type Posted = { readonly ask: Ask; readonly answer: Answer; readonly sequence: number | undefined }

const accountOf = ({ way }: Ask) => (way === 'service' ? 'cards' : way)

const isReachable = ({ way }: Ask) => way !== 'stolen' && way !== 'missing'
/** Postings of one lane key are decided in the order of the list; postings of different keys in any order. No list has holds. */
const keyOf = ({ wallet, way, isHold, reference }: Ask) => `${wallet} ${way}${isHold ? ` hold ${reference}` : ''}`
const isReplay = (answer: Answer) => 'kind' in answer && answer.kind === 'outcome' && answer.replay !== undefined

/** Checks one list of postings with its answers, and advances the model. */
export function checkList(model: Model, list: readonly Ask[], answers: readonly Answer[], rows: Rows): void {
  const sequences = new Map(rows.transfers.map(({ reference, sequence }) => [reference, sequence]))
  const posted = list.map((ask, i) => ({ ask, answer: answers[i]!, sequence: sequences.get(ask.reference) }))
  const replays = posted.filter(({ answer }) => isReplay(answer))
  const firsts = posted.filter(({ answer }) => !isReplay(answer))
  for (const { ask, answer } of firsts) {
    expect(model.recorded.has(ask.reference), `reference ${ask.reference} must be a replay`).toBeFalse()
    if (!isReachable(ask)) expect(answer).toEqual({ kind: 'unknown-user' })
  }
  model.wallets = model.wallets.map((before, wallet) => {
    const mine = firsts.filter(({ ask }) => ask.wallet === wallet && isReachable(ask))
    const lines = [...Map.groupBy(mine, ({ ask }) => keyOf(ask)).values()]
    const steps = findOrder(before, lines)
    if (!steps)
      throw new Error(`no order of decisions explains wallet ${wallet}: ${show({ before, lines: lines.map(inShort) })}`)
    for (const [{ ask }, step] of steps) if (isRecorded(step)) model.recorded.set(ask.reference, { ask, step })
    return steps.at(-1)?.[1].wallet ?? before
  })
  for (const { ask, answer } of replays) checkReplay(model, ask, answer)
  checkRepeatsInOrder(posted)
  checkRows(model, rows)
}

const isRecorded = ({ refusal }: Step) => refusal !== 'WALLET_INACTIVE' && refusal !== 'WALLET_CLOSED'

/** An order of the decisions that explains every answer and sequence and keeps each line's own order; undefined if there is none. */
function findOrder(before: Wallet, lines: readonly (readonly Posted[])[]): [Posted, Step][] | undefined {
  const tried = new Set<string>()
  const search = (wallet: Wallet, next: readonly number[]): [Posted, Step][] | undefined => {
    if (next.every((n, i) => n === lines[i]!.length)) return []
    // The wallet depends only on the postings before `next`: their answers say which of them posted.
    if (tried.has(next.join())) return undefined
    tried.add(next.join())
    for (const [i, line] of lines.entries()) {
      const each = line[next[i]!]
      const step = each && stepOf(wallet, each)
      const rest = step && search(step.wallet, next.toSpliced(i, 1, next[i]! + 1))
      if (rest) return [[each, step], ...rest]
    }
    return undefined
  }
  return search(
    before,
    lines.map(() => 0),
  )
}

/** The decision, if it agrees with the answer. A failed posting was not written: it changes nothing. */
function stepOf(wallet: Wallet, { ask, answer, sequence }: Posted): Step | undefined {
  const [step] = decideInTurn(wallet, [operationOf(ask)]) as [Step]
  if (answer instanceof Error)
    return ask.isPoison && isRecorded(step) ? { wallet, refusal: 'WALLET_INACTIVE' } : undefined
  if (ask.isPoison && isRecorded(step)) return undefined
  if (step.refusal === 'WALLET_INACTIVE') return answer.kind === 'inactive' ? step : undefined
  if (step.refusal === 'WALLET_CLOSED') return answer.kind === 'unknown-user' ? step : undefined
  if (answer.kind !== 'outcome') return undefined
  const { outcome } = answer
  const isSame =
    outcome.refusal === step.refusal &&
    outcome.balanceMinor === step.wallet.balanceMinor &&
    outcome.heldMinor === step.wallet.heldMinor &&
    outcome.amountMinor === ask.amountMinor &&
    sequence === (step.refusal || ask.isHold ? undefined : step.wallet.sequence) &&
    answer.hold?.amountMinor === (ask.isHold && !step.refusal ? -ask.amountMinor : undefined)
  return isSame ? step : undefined
}

const size = (minor: bigint) => (minor < 0n ? -minor : minor)

function checkReplay(model: Model, ask: Ask, answer: Answer): void {
  const first = model.recorded.get(ask.reference)
  if (!first || answer instanceof Error || answer.kind !== 'outcome')
    throw new Error(`a replay of nothing: ${show(ask)}`)
  const { step } = first
  const mismatch = [
    ...(size(first.ask.amountMinor) === size(ask.amountMinor) ? [] : ['amount']),
    ...(first.ask.wallet === ask.wallet && ask.way !== 'missing' ? [] : ['user']),
    ...(first.ask.amountMinor < 0n === ask.amountMinor < 0n ? [] : ['direction']),
  ]
  const { refusal, balanceMinor, heldMinor, amountMinor } = answer.outcome
  expect([refusal, balanceMinor, heldMinor, amountMinor]).toEqual([
    step.refusal as never,
    step.wallet.balanceMinor,
    step.wallet.heldMinor,
    first.ask.amountMinor,
  ])
  expect(answer.replay).toMatchObject({ amountMinor: ask.amountMinor, mismatch })
  expect(answer.hold?.amountMinor).toBe(ask.isHold && !step.refusal ? -first.ask.amountMinor : undefined)
}

/** In one line, every use of a reference after a recorded one is a replay. */
function checkRepeatsInOrder(posted: readonly Posted[]): void {
  for (const line of Map.groupBy(posted, ({ ask }) => keyOf(ask)).values()) {
    const recorded = new Set<number>()
    for (const { ask, answer } of line) {
      expect(recorded.has(ask.reference) && !isReplay(answer), `reference ${ask.reference} is used again`).toBeFalse()
      if ('kind' in answer && answer.kind === 'outcome') recorded.add(ask.reference)
    }
  }
}

function checkRows(model: Model, rows: Rows): void {
  expect(rows.wallets).toEqual(model.wallets)
  const recorded = [...model.recorded.values()].toSorted((a, b) => a.ask.reference - b.ask.reference)
  expect(rows.outcomes).toEqual(
    recorded.map(({ ask, step }) => ({
      reference: ask.reference,
      wallet: ask.wallet,
      amountMinor: ask.amountMinor,
      balanceMinor: step.wallet.balanceMinor,
      heldMinor: step.wallet.heldMinor,
      isHold: Boolean(ask.isHold && !step.refusal),
      sequence: step.refusal || ask.isHold ? null : step.wallet.sequence,
      refusal: step.refusal as never,
    })),
  )
  const [moved = [], reserved = []] = [false, true].map((isHold) =>
    recorded.filter(({ ask, step }) => step.refusal === null && Boolean(ask.isHold) === isHold),
  )
  expect(rows.holds).toEqual(
    reserved.map(({ ask: { reference, wallet, amountMinor } }) => ({ reference, wallet, amountMinor: -amountMinor })),
  )
  expect(rows.transfers).toEqual(
    moved.map(({ ask, step }) => ({
      reference: ask.reference,
      wallet: ask.wallet,
      sequence: step.wallet.sequence,
      amountMinor: ask.amountMinor,
      balanceMinor: step.wallet.balanceMinor,
      account: accountOf(ask),
    })),
  )
  const positions: Record<string, [bigint, bigint, number]> = {}
  for (const { ask } of moved) {
    const position = (positions[accountOf(ask)] ??= [0n, 0n, 0])
    if (ask.amountMinor < 0n) position[0] -= ask.amountMinor
    else position[1] += ask.amountMinor
    position[2]++
  }
  expect(rows.positions).toEqual(positions)
}

const inShort = (line: readonly Posted[]) =>
  line.map(({ ask, answer, sequence }) => ({
    ...ask,
    sequence,
    answer:
      answer instanceof Error
        ? String(answer)
        : answer.kind === 'outcome'
          ? [answer.outcome.refusal, answer.outcome.balanceMinor]
          : answer.kind,
  }))

function show(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : (each as unknown)), 1)
}
