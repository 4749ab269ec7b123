/** Debit and credit, for an app and for the service itself. */
import { counterAccountOfApp, serviceNamespace } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { referenceKeyOf } from '../../store/outcomes.ts'
import { isRetryable, type Posting, type PostingResult } from '../../store/writer/posting.ts'
import type { Service } from '../service.ts'

export type AppPosting = {
  readonly direction: 'debit' | 'credit'
  readonly serviceUserId: string
  readonly amountMinor: bigint
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
  /** When the request arrived, by performance.now(); the default is now. */
  readonly arrivedAt?: number
}

export function postForApp(service: Service, app: App, posting: AppPosting): Promise<PostingResult> {
  return postAndRecord(service, toPosting(app, posting), posting.arrivedAt)
}

/**
 * Returns a function that posts one operation of a list. Each gets the result it would get alone; those of one user keep their
 * order. A rejection, which means an unknown outcome, is settled: no caller has to wait for it at once.
 */
export function postListForApp(
  service: Service,
  app: App,
  arrivedAt: number,
): (posting: AppPosting) => Promise<PromiseSettledResult<PostingResult>> {
  const post = service.writer.openList(arrivedAt)
  return async (posting) => {
    const asked = toPosting(app, posting)
    try {
      const value = await post(asked)
      recordResult(service, asked, value)
      return { status: 'fulfilled', value }
    } catch (reason) {
      countFailed(service, asked, reason)
      return { status: 'rejected', reason }
    }
  }
}

function toPosting({ clientId, hasEvents }: App, posting: AppPosting): Posting {
  const { direction, serviceUserId, amountMinor, referenceType, referenceId, description } = posting
  const counterAccount = counterAccountOfApp(clientId)
  return {
    by: { clientId, serviceUserId },
    amountMinor: direction === 'debit' ? -amountMinor : amountMinor,
    isReversal: false,
    referenceKey: referenceKeyOf({ namespace: counterAccount, type: referenceType, id: referenceId }),
    counterAccount,
    referenceType,
    referenceId,
    description,
    hasEvents,
  }
}

/** The service's own movements have a namespace that no app can use, so no app can take their references first. */
export type ServicePosting = {
  readonly walletId: string
  readonly counterAccount: 'cards' | 'bonus' | 'adjustments' | `app:${string}`
  /** Positive into the wallet, negative out of it. */
  readonly amountMinor: bigint
  /** Posts at any balance, and freezes a wallet that goes below zero. */
  readonly isReversal?: boolean
  /** Posts on a wallet that an operator froze. */
  readonly isByOperator?: boolean
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

export async function postForService(service: Service, posting: ServicePosting): Promise<PostingResult> {
  const { walletId, counterAccount, amountMinor, referenceType, referenceId, description } = posting
  const { isReversal = false, isByOperator = false } = posting
  return await postAndRecord(service, {
    by: { walletId },
    amountMinor,
    isReversal,
    isByOperator,
    referenceKey: referenceKeyOf({ namespace: serviceNamespace, type: referenceType, id: referenceId }),
    counterAccount,
    referenceType,
    referenceId,
    description,
  })
}

async function postAndRecord(service: Service, asked: Posting, arrivedAt?: number): Promise<PostingResult> {
  try {
    const result = await service.writer.post(asked, arrivedAt)
    recordResult(service, asked, result)
    return result
  } catch (error) {
    countFailed(service, asked, error)
    throw error
  }
}

export function recordResult(service: Service, asked: Posting, result: PostingResult): void {
  // A new hold moves no money, and is no debit.
  if (asked.hold?.kind !== 'reserve') service.metrics.posted(appOf(asked), directionOf(asked), result)
  if (result.kind === 'outcome' && !result.replay) {
    service.live.poke(result.outcome.walletId)
    if (asked.hasEvents) service.eventWaits.written()
    const namespace = 'clientId' in asked.by ? asked.counterAccount : serviceNamespace
    service.referenceTypes.record(namespace, asked.referenceType)
  }
  if (result.kind !== 'outcome' || !result.replay?.walletId) return
  const { walletId, amountMinor } = result.replay
  service.repeats.record({ referenceKey: result.outcome.referenceKey, walletId, amountMinor })
}

export function countFailed(service: Service, asked: Posting, error: unknown): void {
  service.metrics.unposted(appOf(asked), directionOf(asked), isRetryable(error) ? 'UNAVAILABLE' : 'INTERNAL')
}

/** Undefined for the service itself. */
function appOf({ by }: Posting): string | undefined {
  return 'clientId' in by ? by.clientId : undefined
}

function directionOf({ amountMinor }: Posting): 'debit' | 'credit' {
  // A capture of all that remains names no amount.
  return amountMinor > 0n ? 'credit' : 'debit'
}
