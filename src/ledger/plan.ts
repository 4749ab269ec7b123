/** A batch of operations, planned: what each comes to, and what each wallet must still look like for that to hold. */
import { decide, type Operation, type Refusal, type Wallet } from './decide.ts'

/** An operation whose wallet is known and whose reference has no outcome yet. */
export type Pending = Operation & { readonly walletId: string; readonly referenceKey: string }

/** The change of one wallet by all its operations in the batch. */
export type WalletChange = {
  readonly walletId: string
  readonly netMinor: bigint
  /** How many transfers it gains. */
  readonly count: number
  /** The lowest point on the way, counted from the balance before; null without a debit. */
  readonly lowestMinor: bigint | null
  /** The highest point on the way, counted from the balance before. */
  readonly highestMinor: bigint
  /**
   * Set when the plan holds only for the very state it was made from: something was refused, or a debt is made or
   * repaid. Otherwise it holds for every balance that stays within its limits on the way, so that other processes
   * may move the same wallet in between.
   */
  readonly onlyFromSequence: number | null
  readonly frozenForBefore: Wallet['frozenFor']
  readonly frozenForAfter: Wallet['frozenFor']
}

/** What an operation comes to, relative to its wallet's state before the batch. */
export type PlannedOperation<P extends Pending> = {
  readonly operation: P
  readonly change: WalletChange
  readonly refusal: Refusal | null
  /** Added to the sequence before the batch: this transfer's own (or, for a refusal, the one it follows). */
  readonly sequenceOffset: number
  /** Added to the balance before the batch: the balance after this operation. */
  readonly balanceOffsetMinor: bigint
}

export type Plan<P extends Pending> = {
  /** In the order of the wallets' ids, which is the order rows are locked in. */
  readonly changes: readonly WalletChange[]
  readonly operations: readonly PlannedOperation<P>[]
  /** Operations whose reference stands earlier in this batch: they get that one's outcome. */
  readonly repeats: readonly P[]
}

export function plan<P extends Pending>(pending: readonly P[], wallets: ReadonlyMap<string, Wallet>): Plan<P> {
  const seen = new Set<string>()
  const repeats: P[] = []
  const byWallet = new Map<string, P[]>()
  for (const operation of pending) {
    if (seen.has(operation.referenceKey)) {
      repeats.push(operation)
      continue
    }
    seen.add(operation.referenceKey)
    const group = byWallet.get(operation.walletId)
    if (group) group.push(operation)
    else byWallet.set(operation.walletId, [operation])
  }
  const changes: WalletChange[] = []
  const operations: PlannedOperation<P>[] = []
  for (const walletId of [...byWallet.keys()].sort()) {
    const planned = planWallet(walletId, wallets.get(walletId)!, byWallet.get(walletId)!)
    changes.push(planned.change)
    operations.push(...planned.operations)
  }
  return { changes, operations, repeats }
}

function planWallet<P extends Pending>(walletId: string, before: Wallet, group: readonly P[]) {
  let wallet = before
  let lowestMinor: bigint | null = null
  let highestMinor = 0n
  let isExact = before.frozenFor === 'debt'
  const results = group.map((operation) => {
    const decision = decide(wallet, operation)
    if (decision.refusal !== undefined || operation.isReversal) isExact = true
    if (decision.refusal === undefined) wallet = decision.wallet
    const balanceOffsetMinor = wallet.balanceMinor - before.balanceMinor
    if (operation.amountMinor > 0n) highestMinor = balanceOffsetMinor > highestMinor ? balanceOffsetMinor : highestMinor
    else if (lowestMinor === null || balanceOffsetMinor < lowestMinor) lowestMinor = balanceOffsetMinor
    const sequenceOffset = wallet.sequence - before.sequence
    return { operation, refusal: decision.refusal ?? null, sequenceOffset, balanceOffsetMinor }
  })
  const change: WalletChange = {
    walletId,
    netMinor: wallet.balanceMinor - before.balanceMinor,
    count: wallet.sequence - before.sequence,
    lowestMinor,
    highestMinor,
    onlyFromSequence: isExact ? before.sequence : null,
    frozenForBefore: before.frozenFor,
    frozenForAfter: wallet.frozenFor,
  }
  return { change, operations: results.map((result) => ({ ...result, change })) }
}
