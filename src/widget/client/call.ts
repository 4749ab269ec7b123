/** Calls of the hosted pages to the widget API. */
import type { AnyErrorCode, Transaction, WidgetWalletResponse } from '../../../sdk/contract.ts'

export type WalletApp = {
  readonly clientId: string
  readonly name: string
  readonly logo: string | null
  /** White text on it is legible in both themes. */
  readonly color: string
}

/** What this browser has proved: that an app opened the wallet; that the user signed in here; that the user just gave the password. */
export type Proof = 'session' | 'person' | 'presence'

/** At the proof `session`, an entry of another app is private: it has no app, no description and no reference. */
export type WidgetTransaction = Transaction & {
  readonly isPrivate?: boolean
  /** The app that debited or credited the wallet; null for the service itself. */
  readonly app: WalletApp | null
  readonly receiptCode: string
  /** The state of the card payment behind the transaction. */
  readonly card?: {
    readonly refunded: number
    readonly disputed: number
    readonly dispute: 'none' | 'open' | 'won' | 'lost'
  }
}

export type WaitingTopup = { readonly amount: number; readonly createdAt: string }

/** An open hold. At the proof `session`, one of another app is private: it has no app, no description and no reference. */
export type WidgetHold = {
  readonly id: string
  readonly isPrivate?: boolean
  readonly amount: number
  readonly captured: number
  readonly remaining: number
  readonly app: WalletApp | null
  readonly description: string | null
  readonly referenceId: string
  readonly createdAt: string
  readonly expiresAt: string
}

/** A payment that was begun in this app and may still be paid. */
export type OpenTopup = WaitingTopup & { readonly paymentIntentId: string }

/** A card payment of the last week that took no money. */
export type FailedTopup = WaitingTopup & {
  readonly reason: 'declined' | 'authentication' | 'unconfirmed' | 'cancelled' | 'failed'
}

export type WidgetWallet = Omit<WidgetWalletResponse, 'transactions'> & {
  readonly transactions: readonly WidgetTransaction[]
  /** Older ones are in the archive. */
  readonly hasArchived?: true
  readonly waiting: readonly WaitingTopup[]
  readonly openTopups?: readonly OpenTopup[]
  readonly failedTopups?: readonly FailedTopup[]
  readonly available: number
  readonly held: number
  /** The newest open holds. */
  readonly holds?: readonly WidgetHold[]
  readonly user: { readonly language: string | null }
  readonly currency: string
  /** Identifies the user of this app: the same in all sessions of one serviceUserId. */
  readonly linkKey: string
  readonly frozenReason?: 'operator' | 'debt'
  readonly expiresAt: string
  readonly serverTime: string
  readonly proof: Proof
  /** The end of the proof `presence`. */
  readonly presenceUntil?: string
}

/** The debt of a wallet that is frozen for its debt; 0 for every other wallet. What is on hold cannot pay it. */
export function owedIn({ frozenReason, available }: WidgetWallet): number {
  return frozenReason === 'debt' ? Math.max(0, -available) : 0
}

export type LinkedApp = {
  readonly clientId: string
  readonly appName: string
  readonly color: string
  readonly connectedAt: string
  readonly isThisApp: boolean
  readonly scopes: readonly string[]
  /** What the app debited and credited this month; `isCut` means that the sums may be higher. */
  readonly month: { readonly debited: number; readonly credited: number; readonly isCut: boolean }
  /** What its open holds reserve. */
  readonly held: number
}

/** `code` is NO_NETWORK, which only this script uses, for a call without an answer. */
export type Failure = {
  readonly code: AnyErrorCode
  readonly fields: Readonly<Record<string, string>>
  readonly retryAfterSeconds: number
  /** CARD_DECLINED only: the processor's reason. */
  readonly declineCode?: string
  /** ACCOUNT_NOT_DELETABLE: why the account cannot be deleted. RATE_LIMITED: `busy` if not this user tried too often. */
  readonly reason?: string
}

export type Reply<T> = { readonly body: T; readonly failure?: never } | { readonly failure: Failure }

type ErrorBody = { code?: unknown; fields?: Record<string, string>; declineCode?: string; reason?: string }

const timeoutMs = 15_000

/**
 * The token of a device whose browser keeps no cookie of this frame. Only this page has it, in memory: a reload needs the password
 * again.
 */
let heldDevice: string | null = null

export function holdDevice(token: string | null): void {
  heldDevice = token
}

export type NeededProof = Exclude<Proof, 'session'>

/** Asks the user for a proof. Resolves to the session to repeat the call with, or to null if the user declines. */
type AskForProof = (needed: NeededProof) => Promise<string | null>

let askForProof: AskForProof | undefined

export function onProofNeeded(ask: AskForProof | undefined): void {
  askForProof = ask
}

export function proofNeededFor(failure: Failure | undefined): NeededProof | undefined {
  if (failure?.code === 'PERSON_REQUIRED') return 'person'
  return failure?.code === 'PRESENCE_REQUIRED' ? 'presence' : undefined
}

type Call = typeof send

/** Sends a request. If it lacks a proof, asks the user for it and sends the request once more. */
export const call: Call = async (path, session, body, query) => {
  const reply = await send<never>(path, session, body, query)
  const needed = proofNeededFor(reply.failure)
  const newSession = needed && askForProof ? await askForProof(needed) : null
  return newSession === null ? reply : await send(path, newSession, body, query)
}

/** Sends a POST if there is a body, else a GET. `query` holds parameters besides the session. */
export async function send<T>(
  path: string,
  session: string | null,
  body?: object,
  query: Readonly<Record<string, string>> = {},
): Promise<Reply<T>> {
  const parameters = new URLSearchParams({ ...(session !== null && { session }), ...query })
  try {
    const response = await fetch(`/api/widget/${path}?${parameters}`, {
      // With the cookie of this device.
      credentials: 'same-origin',
      cache: 'no-store',
      signal: AbortSignal.timeout(timeoutMs),
      // The page's language may differ from the browser's; mails that this call triggers are written in it.
      headers: {
        'accept-language': document.documentElement.lang,
        ...(heldDevice !== null && { 'billfold-device': heldDevice }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as T & ErrorBody
    if (response.ok) return { body: answer }
    return {
      failure: {
        code: typeof answer.code === 'string' ? answer.code : 'INTERNAL',
        fields: answer.fields ?? {},
        retryAfterSeconds: Number(response.headers.get('retry-after')) || 0,
        ...(answer.declineCode !== undefined && { declineCode: answer.declineCode }),
        ...(answer.reason !== undefined && { reason: answer.reason }),
      },
    }
  } catch {
    return { failure: { code: 'NO_NETWORK', fields: {}, retryAfterSeconds: 0 } }
  }
}
