/** The errors of a widget, as the embedding page sees them. */
import type { AnyErrorCode } from '../contract/errors.ts'

export type WalletErrorCode =
  /** The frame could not load: blocked by this page's content security policy, an extension or the network. */
  | 'BLOCKED'
  /** The frame did not load in time. */
  | 'TIMED_OUT'
  /** The service does not allow this page to embed the wallet. Add its origin to allowedIframeParents of the client app. */
  | 'NOT_ALLOWED'
  /** `fetchSession` failed or returned no valid session. The message says what the backend answered. */
  | 'SESSION_FAILED'
  /** `onLinked` or `onUnlinked` failed, or the link was not stored. The message says what the backend answered. */
  | 'LINK_FAILED'
  /** The widget reported an error of the service; `serviceCode` holds its code. */
  | 'SERVICE_ERROR'

export class WalletError extends Error {
  readonly code: WalletErrorCode
  readonly serviceCode: AnyErrorCode | undefined
  /** The status and the start of the answer of your backend, if it answered with an error. */
  readonly status: number | undefined
  readonly answer: string | undefined

  constructor(code: WalletErrorCode, details: { cause?: unknown; serviceCode?: AnyErrorCode } = {}) {
    const { message, status, answer } = (details.cause ?? {}) as Partial<Error & Pick<WalletError, 'status' | 'answer'>>
    super(`Wallet: ${details.serviceCode ?? code}${message ? `: ${message}` : ''}`, { cause: details.cause })
    this.name = 'WalletError'
    this.code = code
    this.serviceCode = details.serviceCode
    this.status = status
    this.answer = answer
  }
}
