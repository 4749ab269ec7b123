/** A batch of operations, planned: what each comes to, and what each wallet must still look like for that to hold. */
import { decide, type Operation, type Refusal, type Wallet } from './decide.ts'

/** The operations of one wallet in a batch, in the order they came, and the wallet as it was read. */
export type WalletBatch<O extends Operation> = {
  readonly walletId: string
  readonly wallet: Wallet
  readonly operations: O[]
}

/** The change of one wallet by all its operations in the batch. */
export type WalletChange = {
  readonly netMinor: bigint
  /** How many transfers it gains. */
  readonly count: number
  /** The lowest point on the way, counted from the balance before; null without a debit. */
  readonly lowestMinor: bigint | null
  /** The highest point on the way, counted from the balance before. */
  readonly highestMinor: bigint
  /**
   * Set when the plan holds only for the very state it was made from: something was refused, or a debt is made or
   * repaid. Otherwise it holds for every balance that stays within its limits on the way, so that others may move the
   * same wallet in between.
   */
  readonly onlyFromSequence: number | null
  readonly frozenForBefore: Wallet['frozenFor']
  readonly frozenForAfter: Wallet['frozenFor']
}

/** What an operation comes to, relative to its wallet's state before the batch. */
export type PlannedOperation<O extends Operation> = {
  readonly operation: O
  /** Which of the plan's changes it belongs to. */
  readonly changeIndex: number
  readonly refusal: Refusal | null
  /** Added to the sequence before the batch: this transfer's own (or, for a refusal, the one it follows). */
  readonly sequenceOffset: number
  /** Added to the balance before the batch: the balance after this operation. */
  readonly balanceOffsetMinor: bigint
}

export type Plan<O extends Operation> = {
  /** In the order of the wallets' ids, which is the order rows are locked in. */
  readonly walletIds: readonly string[]
  /** Of those wallets, in the same order. */
  readonly changes: readonly WalletChange[]
  readonly operations: readonly PlannedOperation<O>[]
}

export function plan<O extends Operation>(batches: readonly WalletBatch<O>[]): Plan<O> {
  const walletIds: string[] = []
  const changes: WalletChange[] = []
  const operations: PlannedOperation<O>[] = []
  for (const batch of batches.toSorted((a, b) => (a.walletId < b.walletId ? -1 : 1))) {
    walletIds.push(batch.walletId)
    changes.push(planWallet(batch.wallet, batch.operations, changes.length, operations))
  }
  return { walletIds, changes, operations }
}

/** The change of one wallet; what each operation comes to is added to `planned`. */
export function planWallet<O extends Operation>(
  before: Wallet,
  operations: readonly O[],
  changeIndex: number,
  planned: PlannedOperation<O>[],
): WalletChange {
  let wallet = before
  let lowestMinor: bigint | null = null
  let highestMinor = 0n
  let isExact = before.frozenFor === 'debt'
  for (const operation of operations) {
    const decision = decide(wallet, operation)
    if (decision.refusal !== undefined || operation.isReversal) isExact = true
    if (decision.refusal === undefined) wallet = decision.wallet
    const balanceOffsetMinor = wallet.balanceMinor - before.balanceMinor
    if (operation.amountMinor > 0n) highestMinor = balanceOffsetMinor > highestMinor ? balanceOffsetMinor : highestMinor
    else if (lowestMinor === null || balanceOffsetMinor < lowestMinor) lowestMinor = balanceOffsetMinor
    const sequenceOffset = wallet.sequence - before.sequence
    planned.push({ operation, changeIndex, refusal: decision.refusal ?? null, sequenceOffset, balanceOffsetMinor })
  }
  return {
    netMinor: wallet.balanceMinor - before.balanceMinor,
    count: wallet.sequence - before.sequence,
    lowestMinor,
    highestMinor,
    onlyFromSequence: isExact ? before.sequence : null,
    frozenForBefore: before.frozenFor,
    frozenForAfter: wallet.frozenFor,
  }
}
