/** Several operations of one wallet: their sum if all of them post, and the decision on each in turn. */
import { decide, type Operation, type Refusal, type Wallet } from './decide.ts'
import { maxBalanceMinor } from './money.ts'

/** The operations of one wallet, added up without its balance. */
export type Sum = {
  readonly netMinor: bigint
  readonly netHeldMinor: bigint
  /** How many of them reserve for a hold; the others make an entry each. */
  readonly holds: number
  /** The lowest point of what is available on the way (at most zero), and the highest of the balance (at least zero), relative to before. */
  readonly lowestMinor: bigint
  readonly highestMinor: bigint
  /** The balance after each operation, and what is held, relative to before. */
  readonly offsetsMinor: readonly bigint[]
  readonly heldOffsetsMinor: readonly bigint[]
}

export function sumUp(operations: readonly Operation[]): Sum {
  let netMinor = 0n
  let netHeldMinor = 0n
  let holds = 0
  let lowestMinor = 0n
  let highestMinor = 0n
  const offsetsMinor: bigint[] = []
  const heldOffsetsMinor: bigint[] = []
  for (const { amountMinor, heldMinor } of operations) {
    netMinor += amountMinor
    if (heldMinor !== undefined) {
      netHeldMinor += heldMinor
      holds++
    }
    const availableMinor = netMinor - netHeldMinor
    if (availableMinor < lowestMinor) lowestMinor = availableMinor
    if (netMinor > highestMinor) highestMinor = netMinor
    offsetsMinor.push(netMinor)
    heldOffsetsMinor.push(netHeldMinor)
  }
  return { netMinor, netHeldMinor, holds, lowestMinor, highestMinor, offsetsMinor, heldOffsetsMinor }
}

/**
 * True when `decide` would let every operation post, in order. The fast statement has this guard as a condition in SQL; the
 * tests compare the two. Not valid for reversals, which make and repay debts that a sum does not show, nor for operations on holds other than new ones.
 */
export function allPost({ balanceMinor, heldMinor, frozenFor }: Wallet, { lowestMinor, highestMinor }: Sum): boolean {
  const availableMinor = balanceMinor - heldMinor
  return frozenFor === null && availableMinor + lowestMinor >= 0n && balanceMinor + highestMinor <= maxBalanceMinor
}

/** The wallet's state after one operation. A refusal leaves it unchanged. */
export type Step = { readonly wallet: Wallet; readonly refusal: Refusal | null }

/** Decides each operation on the state that the previous one left. */
export function decideInTurn(before: Wallet, operations: readonly Operation[]): Step[] {
  let wallet = before
  return operations.map((operation) => {
    const decision = decide(wallet, operation)
    if (decision.refusal !== undefined) return { wallet, refusal: decision.refusal }
    wallet = decision.wallet
    return { wallet, refusal: null }
  })
}
