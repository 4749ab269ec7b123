/** Debit and credit, for an app and for the service itself. */
import { counterAccountOfApp, serviceNamespace } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { referenceKeyOf } from '../../store/outcomes.ts'
import type { Posting, PostingResult } from '../../store/writer/posting.ts'
import type { Service } from '../service.ts'

/** What an app's backend asks for. */
export type AppPosting = {
  readonly direction: 'debit' | 'credit'
  readonly serviceUserId: string
  readonly amountMinor: bigint
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
  /** When the request came, by performance.now(); now, when absent. */
  readonly arrivedAt?: number
}

export async function postForApp(service: Service, app: App, posting: AppPosting): Promise<PostingResult> {
  const asked = toPosting(app, posting)
  const result = await service.writer.post(asked, posting.arrivedAt)
  note(service, result, asked.counterAccount, posting.referenceType)
  return result
}

/** Each as if it were posted alone, and those of one user in the order of the list. An answer may be that nobody knows yet. */
export async function postAllForApp(
  service: Service,
  app: App,
  postings: readonly AppPosting[],
  arrivedAt: number,
): Promise<PromiseSettledResult<PostingResult>[]> {
  const asked = postings.map((posting) => toPosting(app, posting))
  const results = await Promise.allSettled(service.writer.postAll(asked, arrivedAt))
  for (const [i, result] of results.entries())
    if (result.status === 'fulfilled')
      note(service, result.value, counterAccountOfApp(app.clientId), postings[i]!.referenceType)
  return results
}

function toPosting({ clientId }: App, posting: AppPosting): Posting {
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
  }
}

/** The service's own movements have a namespace no app can reach, so none can be pre-empted. */
export type ServicePosting = {
  readonly walletId: string
  readonly counterAccount: 'cards' | 'bonus'
  /** Above zero into the wallet, below zero out of it. */
  readonly amountMinor: bigint
  /** Posts whatever the balance, and freezes a wallet that falls into debt. */
  readonly isReversal?: boolean
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

export async function postForService(service: Service, posting: ServicePosting): Promise<PostingResult> {
  const { walletId, counterAccount, amountMinor, isReversal = false, referenceType, referenceId, description } = posting
  const result = await service.writer.post({
    by: { walletId },
    amountMinor,
    isReversal,
    referenceKey: referenceKeyOf({ namespace: serviceNamespace, type: referenceType, id: referenceId }),
    counterAccount,
    referenceType,
    referenceId,
    description,
  })
  note(service, result, serviceNamespace, referenceType)
  return result
}

function note(service: Service, result: PostingResult, namespace: string, referenceType: string): void {
  service.metrics.posted(result)
  if (result.kind === 'outcome' && !result.replay) {
    service.live.poke(result.outcome.walletId)
    service.referenceTypes.note(namespace, referenceType)
  }
  if (result.kind !== 'outcome' || !result.replay?.walletId) return
  const { walletId, amountMinor } = result.replay
  service.repeats.note({ referenceKey: result.outcome.referenceKey, walletId, amountMinor })
}
