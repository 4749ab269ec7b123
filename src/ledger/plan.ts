/** Several operations of one wallet: what they come to if all of them post, and what each comes to in its turn. */
import { decide, type Operation, type Refusal, type Wallet } from './decide.ts'
import { maxBalanceMinor } from './money.ts'

/** The operations of one wallet, added up without knowing its balance. */
export type Sum = {
  readonly netMinor: bigint
  /** The lowest and the highest point on the way, counted from the balance before: never above zero, never below it. */
  readonly lowestMinor: bigint
  readonly highestMinor: bigint
  /** The balance after each operation, counted from the balance before. */
  readonly offsetsMinor: readonly bigint[]
}

export function sumUp(operations: readonly Operation[]): Sum {
  let netMinor = 0n
  let lowestMinor = 0n
  let highestMinor = 0n
  const offsetsMinor: bigint[] = []
  for (const { amountMinor } of operations) {
    netMinor += amountMinor
    if (netMinor < lowestMinor) lowestMinor = netMinor
    if (netMinor > highestMinor) highestMinor = netMinor
    offsetsMinor.push(netMinor)
  }
  return { netMinor, lowestMinor, highestMinor, offsetsMinor }
}

/**
 * Whether `decide` lets every one of them post, in their order, without being asked for each: the guard that the fast
 * statement has as a condition in SQL. Reversals make and repay debts, which no sum can tell; they are decided in turn.
 */
export function allPost({ balanceMinor, frozenFor }: Wallet, { lowestMinor, highestMinor }: Sum): boolean {
  return frozenFor === null && balanceMinor + lowestMinor >= 0n && balanceMinor + highestMinor <= maxBalanceMinor
}

/** What one operation comes to: the wallet's state after it, which a refusal leaves as it was. */
export type Step = { readonly wallet: Wallet; readonly refusal: Refusal | null }

/** Each operation decided on what the one before it left. */
export function decideInTurn(before: Wallet, operations: readonly Operation[]): Step[] {
  let wallet = before
  return operations.map((operation) => {
    const decision = decide(wallet, operation)
    if (decision.refusal !== undefined) return { wallet, refusal: decision.refusal }
    wallet = decision.wallet
    return { wallet, refusal: null }
  })
}
