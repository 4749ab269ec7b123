/** A hold: money of a wallet that is promised to an app until it is captured, voided or expires. */
import type { Operation } from './decide.ts'

export type Hold = {
  readonly walletId: string
  /** The key of its reference. */
  readonly id: string
  readonly clientId: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
  readonly amountMinor: bigint
  /** Of the amount: what captures took, and what was given back. */
  readonly capturedMinor: bigint
  readonly releasedMinor: bigint
  /** What captures took beyond the amount. */
  readonly extraMinor: bigint
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly closedAt: Date | null
  readonly endedBy: 'capture' | 'void' | 'expiry' | null
  readonly steps: number
  /** When it expired before its first extension; null when it was never extended. */
  readonly initialExpiresAt: Date | null
  /** When its app gets `hold.expiring`; null when it gets none, or has it. */
  readonly noticeAt: Date | null
}

export type HoldStatus = 'OPEN' | 'CAPTURED' | 'VOIDED' | 'EXPIRED'
export const holdStatuses: readonly HoldStatus[] = ['OPEN', 'CAPTURED', 'VOIDED', 'EXPIRED']

export const minHoldSeconds = 60
export const maxHoldSeconds = 30 * 24 * 60 * 60
export const usualHoldSeconds = 7 * 24 * 60 * 60
/** How long before its end a hold that lasts longer is reported as expiring. */
export const noticeSeconds = 24 * 60 * 60
/** Open holds of one app on one wallet. */
export const maxOpenHolds = 100

/** What is asked for, as the writer has it: the amount below zero. */
type AskedHold = Pick<Hold, 'referenceType' | 'referenceId' | 'description' | 'amountMinor'> & {
  readonly referenceKey: string
  readonly hasEvents?: boolean
}

type Placement = Pick<Hold, 'walletId' | 'clientId'> & { readonly seconds: number }

export function newHold(asked: AskedHold, { walletId, clientId, seconds }: Placement, at: Date): HoldView {
  const expiresAt = new Date(at.getTime() + seconds * 1_000)
  return {
    walletId,
    id: asked.referenceKey,
    clientId,
    status: 'OPEN',
    referenceType: asked.referenceType,
    referenceId: asked.referenceId,
    description: asked.description,
    amountMinor: -asked.amountMinor,
    capturedMinor: 0n,
    releasedMinor: 0n,
    extraMinor: 0n,
    createdAt: at,
    expiresAt,
    closedAt: null,
    endedBy: null,
    steps: 0,
    initialExpiresAt: null,
    noticeAt: asked.hasEvents ? noticeTimeOf(expiresAt, at) : null,
  }
}

const statusOfEnd = { capture: 'CAPTURED', void: 'VOIDED', expiry: 'EXPIRED' } as const

/** A hold expires at its instant, also while nothing has closed it yet. */
export function holdStatusAt(hold: Hold, at: Date): HoldStatus {
  if (hold.endedBy) return statusOfEnd[hold.endedBy]
  return isExpiredAt(hold, at) ? 'EXPIRED' : 'OPEN'
}

export function isExpiredAt({ closedAt, expiresAt }: Hold, at: Date): boolean {
  return closedAt === null && expiresAt.getTime() <= at.getTime()
}

export function remainingOf({ amountMinor, capturedMinor, releasedMinor }: Hold): bigint {
  return amountMinor - capturedMinor - releasedMinor
}

export type HoldRefusal = 'HOLD_CLOSED' | 'HOLD_EXPIRED' | 'HOLD_EXCEEDED' | 'HOLD_LIMIT'

/** Why the hold cannot be changed any more; undefined while it is open. */
export function refuseEnded(hold: Hold, at: Date): HoldRefusal | undefined {
  const status = holdStatusAt(hold, at)
  if (status === 'EXPIRED') return 'HOLD_EXPIRED'
  return status === 'OPEN' ? undefined : 'HOLD_CLOSED'
}

/** What an operation does to a hold: the operation on the wallet, and the hold after it. */
export type HoldChange = { readonly operation: Operation; readonly hold: Hold }

export type Capture = {
  /** Undefined: all that remains. */
  readonly amountMinor: bigint | undefined
  /** Releases what remains after it. */
  readonly isFinal: boolean
  /** May take more than remains, from what is available. */
  readonly allowsExtra: boolean
}

export function planCapture(hold: Hold, at: Date, capture: Capture): HoldChange | { readonly refusal: HoldRefusal } {
  const ended = refuseEnded(hold, at)
  if (ended) return { refusal: ended }
  const remainingMinor = remainingOf(hold)
  const amountMinor = capture.amountMinor ?? remainingMinor
  if (amountMinor > remainingMinor && !capture.allowsExtra) return { refusal: 'HOLD_EXCEEDED' }

  const promisedMinor = amountMinor < remainingMinor ? amountMinor : remainingMinor
  const releasedMinor = capture.isFinal ? remainingMinor - promisedMinor : 0n
  const isClosed = promisedMinor + releasedMinor === remainingMinor
  return {
    operation: {
      amountMinor: -amountMinor,
      heldMinor: -promisedMinor - releasedMinor,
      isReversal: false,
      isPromised: true,
    },
    hold: {
      ...hold,
      capturedMinor: hold.capturedMinor + promisedMinor,
      releasedMinor: hold.releasedMinor + releasedMinor,
      extraMinor: hold.extraMinor + amountMinor - promisedMinor,
      ...(isClosed ? { closedAt: at, endedBy: 'capture' } : {}),
      steps: hold.steps + 1,
    },
  }
}

/** Gives back what remains. An expired hold ended at its instant, whenever this runs. */
export function planRelease(hold: Hold, at: Date, endedBy: 'void' | 'expiry'): HoldChange {
  const remainingMinor = remainingOf(hold)
  return {
    operation: { amountMinor: 0n, heldMinor: -remainingMinor, isReversal: false },
    hold: {
      ...hold,
      releasedMinor: hold.releasedMinor + remainingMinor,
      closedAt: endedBy === 'expiry' ? hold.expiresAt : at,
      endedBy,
      steps: hold.steps + 1,
    },
  }
}

/** Never earlier than it was, and never past the longest life of a hold. The hold itself when nothing changes. */
export function extendHold(hold: Hold, at: Date, seconds: number): Hold {
  const latestMs = hold.createdAt.getTime() + maxHoldSeconds * 1_000
  const expiresMs = Math.min(latestMs, at.getTime() + seconds * 1_000)
  if (expiresMs <= hold.expiresAt.getTime()) return hold
  const initialExpiresAt = hold.initialExpiresAt ?? hold.expiresAt
  return { ...hold, expiresAt: new Date(expiresMs), initialExpiresAt, steps: hold.steps + 1 }
}

/** For a hold made or extended at that time; null when it ends too soon for a notice. */
export function noticeTimeOf(expiresAt: Date, at: Date): Date | null {
  const noticeAtMs = expiresAt.getTime() - noticeSeconds * 1_000
  return noticeAtMs > at.getTime() ? new Date(noticeAtMs) : null
}

/** The hold after its notice; undefined while none is due. */
export function planNotice(hold: Hold, at: Date): Hold | undefined {
  const { noticeAt, closedAt } = hold
  if (noticeAt === null || closedAt !== null || noticeAt.getTime() > at.getTime()) return undefined
  return { ...hold, noticeAt: null, steps: hold.steps + 1 }
}

export type HoldView = Hold & { readonly status: HoldStatus }

/** The hold as it is at that time: one that expired has nothing left, also before it is closed. */
export function viewHold(hold: Hold, at: Date): HoldView {
  const now = isExpiredAt(hold, at) ? planRelease(hold, at, 'expiry').hold : hold
  return { ...now, status: holdStatusAt(now, at) }
}
