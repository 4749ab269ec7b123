/** Debit and credit, for an app and for the service itself. */
import { counterAccountOfApp, serviceNamespace } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { referenceKeyOf } from '../../store/outcomes.ts'
import type { PostResult } from '../../store/writer/settle.ts'
import type { Service } from '../service.ts'

export type Posting = {
  readonly direction: 'debit' | 'credit'
  readonly serviceUserId: string
  readonly amountMinor: bigint
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

export async function postForApp(service: Service, app: App, posting: Posting): Promise<PostResult> {
  const { direction, serviceUserId, amountMinor, referenceType, referenceId, description } = posting
  const counterAccount = counterAccountOfApp(app.clientId)
  const result = await service.writer.post({
    by: { clientId: app.clientId, serviceUserId },
    amountMinor: direction === 'debit' ? -amountMinor : amountMinor,
    isReversal: false,
    referenceKey: referenceKeyOf({ namespace: counterAccount, type: referenceType, id: referenceId }),
    counterAccount,
    referenceType,
    referenceId,
    description,
  })
  note(service, result)
  return result
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

export async function postForService(service: Service, posting: ServicePosting): Promise<PostResult> {
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
  note(service, result)
  return result
}

function note(service: Service, result: PostResult): void {
  service.metrics.posted(result)
  if (result.kind === 'recorded' && !result.replay) service.live.poke(result.outcome.walletId)
  if (result.kind !== 'recorded' || !result.replay?.walletId) return
  const { walletId, amountMinor } = result.replay
  service.repeats.note({ referenceKey: result.outcome.referenceKey, walletId, amountMinor })
}
