/** A batch's two steps: read it and make a plan; write the plan. Each gives a result to those whose result it settles. */
import { plan, type Plan, type WalletBatch } from '../../ledger/plan.ts'
import { readBatch, writeBatch, type PostRequest } from './careful-statement.ts'
import type { Queryable } from '../database.ts'
import type { Outcome } from '../outcomes.ts'

/** What a repeat asked that differs from the first use of its reference. */
export type Mismatch = 'amount' | 'user' | 'direction'

export type PostResult =
  | { readonly kind: 'recorded'; readonly outcome: Outcome; readonly replay?: Replay }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'unknown-user' }

/** The reference was used before: this request moved nothing. */
export type Replay = {
  /** The wallet it asked for this time, when there is one. */
  readonly walletId: string | undefined
  readonly amountMinor: bigint
  readonly mismatch: readonly Mismatch[]
}

/** A request that waits for its result. */
export type Waiting = PostRequest & { readonly settle: (result: PostResult) => void }

/** Repeats and strangers have their result after this; the plan is for the rest, once for each reference. */
export async function planBatch(db: Queryable, batch: readonly Waiting[]): Promise<Plan<Waiting>> {
  const { wallets, outcomes } = await readBatch(db, batch)
  const byWallet = new Map<string, WalletBatch<Waiting>>()
  const references = new Set<string>()
  batch.forEach((request, i) => {
    const found = wallets[i]
    const outcome = outcomes.get(request.referenceKey)
    if (outcome) return request.settle(asReplay(outcome, request, found?.walletId))
    if (!found?.isReachable) return request.settle({ kind: 'unknown-user' })
    // The second of two in one batch gets the first one's outcome, when there is one.
    if (references.has(request.referenceKey)) return undefined
    references.add(request.referenceKey)
    const group = byWallet.get(found.walletId)
    if (group) group.operations.push(request)
    else byWallet.set(found.walletId, { ...found, operations: [request] })
  })
  return plan([...byWallet.values()])
}

/** Those whose wallet has changed in a way that the plan did not allow for are left without a result. */
export async function writePlan(db: Queryable, planned: Plan<Waiting>, writer: number): Promise<void> {
  if (planned.operations.length === 0) return
  const balancesBefore = await writeBatch(db, planned, writer)
  for (const { operation, changeIndex, refusal, balanceOffsetMinor } of planned.operations) {
    const before = balancesBefore[changeIndex]
    if (before === undefined) continue
    if (refusal === 'WALLET_INACTIVE') operation.settle({ kind: 'inactive' })
    else {
      const { referenceKey, amountMinor } = operation
      const walletId = planned.walletIds[changeIndex]!
      const balanceMinor = before + balanceOffsetMinor
      operation.settle({ kind: 'recorded', outcome: { referenceKey, walletId, amountMinor, balanceMinor, refusal } })
    }
  }
}

function asReplay(outcome: Outcome, request: PostRequest, walletId: string | undefined): PostResult {
  const mismatch: Mismatch[] = []
  if (absolute(outcome.amountMinor) !== absolute(request.amountMinor)) mismatch.push('amount')
  if (outcome.walletId !== walletId) mismatch.push('user')
  if (outcome.amountMinor < 0n !== request.amountMinor < 0n) mismatch.push('direction')
  return { kind: 'recorded', outcome, replay: { walletId, amountMinor: request.amountMinor, mismatch } }
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value
}
