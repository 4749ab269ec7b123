/** Holds: an app reserves money of a wallet, and captures it or lets it go. */
import { viewHold, type Capture, type HoldStatus, type HoldView } from '../../ledger/hold.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { listHolds } from '../../store/writer/stored-holds.ts'
import { findLink } from '../../store/links.ts'
import { referenceKeyOf } from '../../store/outcomes.ts'
import type { HoldPosting, HoldRequest, HoldResult } from '../../store/writer/posting.ts'
import type { Service, WithDb } from '../service.ts'
import { countFailed, recordResult } from './post.ts'

type Reference = { readonly referenceType: string; readonly referenceId: string }

export type NewHold = Reference & {
  readonly serviceUserId: string
  readonly amountMinor: bigint
  readonly description: string | null
  readonly seconds: number
  /** When the request arrived, by performance.now(). */
  readonly arrivedAt: number
}

/** The references of holds are apart from those of debits, so that an order has the same pair for its hold and for its capture or debit. */
export function holdNamespace(clientId: string): string {
  return `hold:${clientId}`
}

export async function placeHold(service: Service, { clientId, hasEvents }: App, asked: NewHold): Promise<HoldResult> {
  const { serviceUserId, amountMinor, referenceType, referenceId, description, seconds, arrivedAt } = asked
  const posting: HoldPosting = {
    by: { clientId, serviceUserId },
    amountMinor: -amountMinor,
    isReversal: false,
    referenceKey: referenceKeyOf({ namespace: holdNamespace(clientId), type: referenceType, id: referenceId }),
    counterAccount: counterAccountOfApp(clientId),
    referenceType,
    referenceId,
    description,
    hasEvents,
    hold: { kind: 'reserve', seconds },
  }
  return await postAndRecord(service, posting, arrivedAt)
}

export type AskedCapture = Capture & {
  readonly holdId: string
  /** Undefined: that of the hold. */
  readonly reference: Reference | undefined
  /** Undefined: that of the hold. */
  readonly description: string | null | undefined
  readonly arrivedAt: number
}

/** The entry has a reference as every debit has: by default the pair of the hold, so an order is charged once by either way. */
export async function captureHold(service: Service, app: App, asked: AskedCapture): Promise<HoldResult> {
  const { holdId, amountMinor, isFinal, allowsExtra, reference, arrivedAt } = asked
  const hold = await findOwn(service, app, holdId)
  if (!hold) return notFound
  const { referenceType, referenceId } = reference ?? hold
  const counterAccount = counterAccountOfApp(app.clientId)
  const posting: HoldPosting = {
    by: { walletId: hold.walletId, clientId: app.clientId },
    amountMinor: amountMinor === undefined ? 0n : -amountMinor,
    isReversal: false,
    referenceKey: referenceKeyOf({ namespace: counterAccount, type: referenceType, id: referenceId }),
    counterAccount,
    referenceType,
    referenceId,
    description: asked.description === undefined ? hold.description : asked.description,
    hasEvents: app.hasEvents,
    hold: { kind: 'capture', holdId, amountMinor, isFinal, allowsExtra, seen: hold },
  }
  return await postAndRecord(service, posting, arrivedAt)
}

export async function voidHold(service: Service, app: App, holdId: string, arrivedAt: number): Promise<HoldResult> {
  const actor = counterAccountOfApp(app.clientId)
  return await changeHold(service, app, { kind: 'void', holdId, actor, reason: null }, arrivedAt)
}

export async function extendHold(
  service: Service,
  app: App,
  { holdId, seconds }: { readonly holdId: string; readonly seconds: number },
  arrivedAt: number,
): Promise<HoldResult> {
  const actor = counterAccountOfApp(app.clientId)
  return await changeHold(service, app, { kind: 'extend', holdId, seconds, actor }, arrivedAt)
}

async function changeHold(
  service: Service,
  app: App,
  request: Extract<HoldRequest, { kind: 'void' | 'extend' }>,
  arrivedAt: number,
): Promise<HoldResult> {
  const hold = await findOwn(service, app, request.holdId)
  if (!hold) return notFound
  const { walletId, id, referenceType, referenceId } = hold
  const by = { walletId, clientId: app.clientId }
  const counterAccount = counterAccountOfApp(app.clientId)
  const posting = {
    by,
    amountMinor: 0n,
    isReversal: false,
    referenceKey: id,
    counterAccount,
    referenceType,
    referenceId,
    hasEvents: app.hasEvents,
  }
  const result = await service.writer.postHold({ ...posting, description: null, hold: request }, arrivedAt)
  if (result.kind === 'hold' && !result.isRepeat) {
    service.live.poke(walletId)
    if (app.hasEvents) service.eventWaits.written()
  }
  return result
}

const notFound: HoldResult = { kind: 'hold-refused', refusal: 'HOLD_NOT_FOUND' }

/** A hold of another app is as unknown as one that does not exist. */
async function findOwn(
  { holdReader }: Pick<Service, 'holdReader'>,
  { clientId }: App,
  holdId: string,
): Promise<HoldView | undefined> {
  const seen = await holdReader.find(clientId, holdId)
  return seen && viewHold(seen.hold, seen.at)
}

export { findOwn as readHold }

async function postAndRecord(service: Service, posting: HoldPosting, arrivedAt: number): Promise<HoldResult> {
  try {
    const result = await service.writer.postHold(posting, arrivedAt)
    if (result.kind === 'outcome') recordResult(service, posting, result)
    return result
  } catch (error) {
    countFailed(service, posting, error)
    throw error
  }
}

export type HoldList = { readonly holds: readonly HoldView[]; readonly nextBefore: string | undefined }

/** Undefined when the app has no such user. */
export async function readHolds(
  service: WithDb,
  app: App,
  serviceUserId: string,
  filter: { readonly status: HoldStatus | undefined; readonly before: string | undefined; readonly limit: number },
): Promise<HoldList | undefined> {
  const link = await findLink(service.db.pool, app.clientId, serviceUserId)
  if (!link) return undefined
  const { clientId } = app
  const { holds, next } = await listHolds(service.db.pool, { walletId: link.userId, clientId, ...filter })
  return { holds: holds.map(({ hold, at }) => viewHold(hold, at)), nextBefore: next }
}

/** Closes the expired holds of a wallet, and gives the notices that are due. */
export async function expireHolds(service: Service, walletId: string): Promise<void> {
  await service.writer.postHold({
    by: { walletId },
    amountMinor: 0n,
    isReversal: false,
    referenceKey: '',
    counterAccount: '',
    referenceType: '',
    referenceId: '',
    description: null,
    hold: { kind: 'expire' },
  })
  service.live.poke(walletId)
}
