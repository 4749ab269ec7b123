/** Calls to our own API, from our own pages. */
import type { AnyErrorCode, Transaction, WidgetWalletResponse } from '../../../sdk/contract.ts'

export type WalletApp = { readonly clientId: string; readonly name: string; readonly logo: string | null }

export type WidgetTransaction = Transaction & {
  /** The app that took or gave the money; null when it was the service itself. */
  readonly app: WalletApp | null
  readonly receiptCode: string
  /** What became of the card payment behind it. */
  readonly card?: {
    readonly refunded: number
    readonly disputed: number
    readonly dispute: 'none' | 'open' | 'won' | 'lost'
  }
}

export type WaitingTopup = { readonly amount: number; readonly createdAt: string }

export type WidgetWallet = Omit<WidgetWalletResponse, 'transactions'> & {
  readonly transactions: readonly WidgetTransaction[]
  readonly waiting: readonly WaitingTopup[]
  readonly user: { readonly language: string | null }
  readonly currency: string
  /** Whose session it is: the same for each of one person's in this app. */
  readonly linkKey: string
  readonly frozenReason?: 'operator' | 'debt'
  readonly expiresAt: string
  readonly serverTime: string
}

export type LinkedApp = {
  readonly clientId: string
  readonly appName: string
  readonly connectedAt: string
  readonly isThisApp: boolean
  readonly scopes: readonly string[]
  /** What it took and gave this month; `isCut` when it may be more. */
  readonly month: { readonly debited: number; readonly credited: number; readonly isCut: boolean }
}

/** NO_NETWORK is a code of this script's own, for a call that got no answer at all. */
export type Failure = {
  readonly code: AnyErrorCode
  readonly fields: Readonly<Record<string, string>>
  readonly retryAfterSeconds: number
  /** The processor's reason; of CARD_DECLINED alone. */
  readonly declineCode?: string
  /** What keeps the account; of ACCOUNT_NOT_DELETABLE alone. */
  readonly reason?: string
}

export type Reply<T> = { readonly body: T; readonly failure?: never } | { readonly failure: Failure }

type ErrorBody = { code?: unknown; fields?: Record<string, string>; declineCode?: string; reason?: string }

const timeoutMs = 15_000

/** A POST when there is a body; `query` is what stands beside the session. */
export async function call<T>(
  path: string,
  session: string | null,
  body?: object,
  query: Readonly<Record<string, string>> = {},
): Promise<Reply<T>> {
  const parameters = new URLSearchParams({ ...(session !== null && { session }), ...query })
  try {
    const response = await fetch(`/api/widget/${path}?${parameters}`, {
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(timeoutMs),
      // The page's language, which may be another than the browser's: a mail that this leads to is written in it.
      headers: {
        'accept-language': document.documentElement.lang,
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
