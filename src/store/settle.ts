/** One round of a batch: read, plan, write; and who has an answer after it. */
import { plan, type Pending } from '../ledger/plan.ts'
import { readBatch, writeBatch, type BatchState, type PostRequest } from './batch.ts'
import type { Wallet } from '../ledger/decide.ts'
import type { Queryable } from './database.ts'
import { promisingAmountMinor, promisingWallet, remember, type KnownLink, type KnownLinks } from './known-links.ts'
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

/** Gives a result to as many of the batch as it can; the others need another round. */
export async function settleRound(
  db: Queryable,
  batch: readonly Waiting[],
  writer: number,
  known: KnownLinks,
): Promise<void> {
  const unread = chooseUnread(batch, known)
  const toLookAt = batch.filter((request) => !unread.has(request))
  const state = await readBatch(db, batch, toLookAt)
  const ready: Ready[] = []
  const wallets = new Map<string, Wallet>()
  const unreadLinks = new Map<string, string>()
  for (const request of batch) {
    const link = unread.get(request)
    const wallet = link ? { ...link, isReachable: true } : findWallet(state, request)
    const outcome = state.outcomes.get(request.referenceKey)
    if (outcome) request.settle(asReplay(outcome, request, wallet?.walletId))
    else if (!wallet?.isReachable) request.settle({ kind: 'unknown-user' })
    else {
      ready.push({ ...request, walletId: wallet.walletId })
      if (link) {
        unreadLinks.set(link.walletId, (request.by as ByLink).serviceUserId)
        wallets.set(link.walletId, promisingWallet)
      }
    }
  }
  for (const found of [...state.byLink.values(), ...state.byId.values()]) wallets.set(found.walletId, found)
  rememberRead(state, known)
  if (ready.length > 0) await postAll(db, ready, { wallets, unreadLinks, writer, known })
}

type ByLink = Extract<PostRequest['by'], { serviceUserId: string }>

/** The requests of the batch that go without a look at their link and wallet first; one link for each wallet. */
function chooseUnread(batch: readonly Waiting[], known: KnownLinks): ReadonlyMap<Waiting, KnownLink> {
  const chosen = new Map<Waiting, KnownLink>()
  const linkOf = new Map<string, string>()
  for (const request of batch) {
    const { by, isReversal, amountMinor } = request
    if ('walletId' in by || isReversal || absolute(amountMinor) > promisingAmountMinor) continue
    const link = known.get(by.serviceUserId)
    if (!link || link.clientId !== by.clientId || !isPromising(link, amountMinor)) continue
    const first = linkOf.get(link.walletId) ?? by.serviceUserId
    if (first !== by.serviceUserId) continue
    linkOf.set(link.walletId, first)
    chosen.set(request, link)
  }
  return chosen
}

function isPromising({ lastBalanceMinor }: KnownLink, amountMinor: bigint): boolean {
  return lastBalanceMinor !== null && lastBalanceMinor + amountMinor >= 0n
}

type Batch = {
  readonly wallets: ReadonlyMap<string, Wallet>
  readonly unreadLinks: ReadonlyMap<string, string>
  readonly writer: number
  readonly known: KnownLinks
}

async function postAll(db: Queryable, ready: readonly Ready[], batch: Batch): Promise<void> {
  const planned = plan(ready, batch.wallets)
  const moved = await writeBatch(db, planned, batch.unreadLinks, batch.writer)
  for (const { operation, refusal, balanceOffsetMinor } of planned.operations) {
    const before = moved.get(operation.walletId)
    if (!before) noteBalance(batch.known, operation, null)
    else if (refusal === 'WALLET_INACTIVE') operation.settle({ kind: 'inactive' })
    else {
      const { referenceKey, walletId, amountMinor } = operation
      const balanceMinor = before.balanceMinor + balanceOffsetMinor
      const outcome = { referenceKey, walletId, amountMinor, balanceMinor, at: before.at, refusal }
      operation.settle({ kind: 'recorded', outcome })
      noteBalance(batch.known, operation, balanceMinor)
    }
  }
}

function noteBalance(known: KnownLinks, { by }: PostRequest, balanceMinor: bigint | null): void {
  const link = 'walletId' in by ? undefined : known.get(by.serviceUserId)
  if (link) link.lastBalanceMinor = balanceMinor
}

function rememberRead(state: BatchState, known: KnownLinks): void {
  for (const [serviceUserId, { walletId, clientId, balanceMinor, frozenFor }] of state.byLink) {
    if (clientId === null) known.delete(serviceUserId)
    else remember(known, serviceUserId, { walletId, clientId, lastBalanceMinor: frozenFor ? null : balanceMinor })
  }
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
