/** One round of a batch: read, plan, write; and who has an answer after it. */
import { plan, type Pending } from '../ledger/plan.ts'
import { readBatch, writeBatch, type BatchState, type PostRequest } from './batch.ts'
import type { Queryable } from './database.ts'
import type { Outcome } from './outcomes.ts'

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

type Ready = Waiting & Pending

/** Gives a result to as many of the batch as it can, and returns those that another round must look at again. */
export async function settleRound(db: Queryable, batch: readonly Waiting[], writer: number): Promise<Waiting[]> {
  const state = await readBatch(db, batch)
  const ready: Ready[] = []
  for (const request of batch) {
    const wallet = findWallet(state, request)
    const outcome = state.outcomes.get(request.referenceKey)
    if (outcome) request.settle(asReplay(outcome, request, wallet?.walletId))
    else if (!wallet?.isReachable) request.settle({ kind: 'unknown-user' })
    else ready.push({ ...request, walletId: wallet.walletId })
  }
  return ready.length === 0 ? [] : await postAll(db, ready, state, writer)
}

async function postAll(db: Queryable, ready: readonly Ready[], state: BatchState, writer: number): Promise<Waiting[]> {
  const wallets = new Map([...state.byLink.values(), ...state.byId.values()].map((wallet) => [wallet.walletId, wallet]))
  const planned = plan(ready, wallets)
  const moved = await writeBatch(db, planned, writer)
  const again: Waiting[] = [...planned.repeats]
  for (const { operation, refusal, balanceOffsetMinor } of planned.operations) {
    const before = moved.get(operation.walletId)
    if (!before) again.push(operation)
    else if (refusal === 'WALLET_INACTIVE') operation.settle({ kind: 'inactive' })
    else {
      const { referenceKey, walletId, amountMinor } = operation
      const balanceMinor = before.balanceMinor + balanceOffsetMinor
      const outcome = { referenceKey, walletId, amountMinor, balanceMinor, at: before.at, refusal }
      operation.settle({ kind: 'recorded', outcome })
    }
  }
  return again
}

function findWallet(state: BatchState, { by }: PostRequest) {
  if ('walletId' in by) {
    const wallet = state.byId.get(by.walletId)
    return wallet && { walletId: wallet.walletId, isReachable: true }
  }
  const wallet = state.byLink.get(by.serviceUserId)
  return wallet && { walletId: wallet.walletId, isReachable: wallet.clientId === by.clientId }
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
