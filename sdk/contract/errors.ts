/** Every error code of the service, and the body of an error. */
import type { Hold, MismatchField, Scope } from './wire.ts'

export const ERROR_CODES = [
  'INVALID_CLIENT',
  'INSUFFICIENT_SCOPE',
  'INVALID_REQUEST',
  'INVALID_AMOUNT',
  'USER_NOT_FOUND',
  'ACCOUNT_NOT_LINKED',
  'INSUFFICIENT_BALANCE',
  'BALANCE_LIMIT',
  'WALLET_INACTIVE',
  'REFERENCE_CONFLICT',
  'HOLD_NOT_FOUND',
  'HOLD_CLOSED',
  'HOLD_EXPIRED',
  'HOLD_EXCEEDED',
  'HOLD_UNCOVERED',
  'HOLD_LIMIT',
  'EVENTS_OFF',
  'EVENTS_GONE',
  'ENDPOINT_NOT_FOUND',
  'ORIGIN_NOT_ALLOWED',
  'SESSION_EXPIRED',
  'INVALID_SESSION',
  'PERSON_REQUIRED',
  'PRESENCE_REQUIRED',
  'CARD_DECLINED',
  'PAYMENT_INTENT_NOT_FOUND',
  'BROWSER_CALL_REFUSED',
  'CROSS_SITE_REFUSED',
  'INVALID_LINK_CODE',
  'INVALID_CREDENTIALS',
  'INVALID_CODE',
  'WEAK_PASSWORD',
  'ACCOUNT_NOT_DELETABLE',
  'RATE_LIMITED',
  'PAYLOAD_TOO_LARGE',
  'REQUEST_TIMEOUT',
  'UNSUPPORTED_MEDIA_TYPE',
  'METHOD_NOT_ALLOWED',
  'NOT_FOUND',
  'PROCESSOR_UNAVAILABLE',
  'UNAVAILABLE',
  'INTERNAL',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

export const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>> = {
  INVALID_CLIENT: 'The client credentials are missing, wrong, or belong to an inactive app.',
  INSUFFICIENT_SCOPE: 'The client app does not have the scope this call needs.',
  INVALID_REQUEST: 'The request is malformed; `fields` names what is wrong.',
  INVALID_AMOUNT: 'The amount is the only wrong field; `error` and `fields` name the one cause.',
  USER_NOT_FOUND: 'The user does not exist in the service and has to authenticate in the widget.',
  ACCOUNT_NOT_LINKED: 'The user of the client app has not linked a wallet; the client side decides this.',
  INSUFFICIENT_BALANCE: 'What is available does not cover the debit or hold; a new attempt uses a new referenceId.',
  BALANCE_LIMIT: 'The credit would raise the balance above the highest one the service keeps.',
  WALLET_INACTIVE: 'The wallet is frozen: it takes credits, but no debits and no new top-ups.',
  REFERENCE_CONFLICT: 'The reference was already used for a different operation, and the app has strictReferences on.',
  HOLD_NOT_FOUND: 'There is no such hold of this app.',
  HOLD_CLOSED: 'The hold was captured or voided before; `hold` says which.',
  HOLD_EXPIRED:
    'The hold has expired: its money is available to the user again, and a new attempt needs a new hold or debit.',
  HOLD_EXCEEDED: 'The capture asks for more than remains of the hold, without `allowExtra`.',
  HOLD_UNCOVERED: 'A charge-back took the money that was held: the balance does not cover the capture.',
  HOLD_LIMIT: 'The app has 100 open holds on this wallet.',
  EVENTS_OFF: 'Events are off for the app: an operator switches them on.',
  EVENTS_GONE: 'The events after this number are no longer kept; `oldest` is the lowest number that is.',
  ENDPOINT_NOT_FOUND: 'There is no such endpoint of this app.',
  ORIGIN_NOT_ALLOWED: 'The origin is not listed in the app as one that may embed the widget.',
  SESSION_EXPIRED: 'The widget session has expired; the backend creates a new one.',
  INVALID_SESSION: 'The widget session is missing, malformed, unknown or revoked.',
  PERSON_REQUIRED: 'The user has to sign in inside the widget on this device; a session alone does not prove the user.',
  PRESENCE_REQUIRED: 'The user has to enter the password on this device; it counts for ten minutes.',
  CARD_DECLINED: 'The card was declined; `declineCode` says why.',
  PAYMENT_INTENT_NOT_FOUND: 'There is no such payment intent for this user.',
  BROWSER_CALL_REFUSED: 'A client secret arrived from a browser; it has to stay in the backend.',
  CROSS_SITE_REFUSED: 'Another site called a route that only the hosted pages may call.',
  INVALID_LINK_CODE: 'The link code is unknown, used or expired, or belongs to another app.',
  INVALID_CREDENTIALS: 'The email address and password do not match.',
  INVALID_CODE: 'The mailed code is wrong, used or expired.',
  WEAK_PASSWORD: 'The password is too short, too long, or too common.',
  ACCOUNT_NOT_DELETABLE:
    'The account cannot be deleted while it holds money or debt, is frozen, or a hold, a top-up or a dispute is open; `reason` says which.',
  RATE_LIMITED: 'Too many requests; Retry-After says when to try again.',
  PAYLOAD_TOO_LARGE: 'The body of the request is too large.',
  REQUEST_TIMEOUT: 'The body of the request did not arrive within ten seconds; nothing was done.',
  UNSUPPORTED_MEDIA_TYPE: 'The body of the request is not JSON.',
  METHOD_NOT_ALLOWED: 'The path exists, but not with this method.',
  NOT_FOUND: 'There is nothing at this path.',
  PROCESSOR_UNAVAILABLE: 'The card processor does not answer; the rest of the wallet works.',
  UNAVAILABLE: 'The service cannot answer now; repeating the same request is safe.',
  INTERNAL: 'Something unexpected happened; `requestId` finds it in the log of the service.',
}

/** A newer service may send codes that this version does not know; they pass through as text. */
export type AnyErrorCode = ErrorCode | (string & {})

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_MEANINGS, value)
}

/** Why a widget session ended before it expired. The app stays linked, except after `disconnected` and `deleted`. */
export const SESSION_END_REASONS = [
  'signed-out',
  'signed-out-everywhere',
  'password-changed',
  'disconnected',
  'app-off',
  'deleted',
] as const

export type SessionEndReason = (typeof SESSION_END_REASONS)[number]

export type ErrorBody = {
  error: string
  code: ErrorCode
  /** Present when the user must authenticate: show the widget without a session. */
  requiresAuth?: boolean
  requestId: string
  /** INVALID_REQUEST, INVALID_AMOUNT: what is wrong, by field name. */
  fields?: Record<string, string>
  /** INSUFFICIENT_SCOPE: the scope that the call needs. */
  requiredScope?: Scope
  /** INSUFFICIENT_BALANCE: the balance, what of it is available and held, the amount of the debit or hold, and the missing amount. */
  balance?: number
  available?: number
  held?: number
  requiredAmount?: number
  shortfall?: number
  /** HOLD_CLOSED, HOLD_EXPIRED, HOLD_EXCEEDED, HOLD_UNCOVERED: the hold as it is, and what remains of it. */
  hold?: Hold
  remaining?: number
  /** EVENTS_GONE: the lowest number that is kept. */
  oldest?: number
  /** CARD_DECLINED: the processor's reason. */
  declineCode?: string
  /**
   * ACCOUNT_NOT_DELETABLE: why the account cannot be deleted. RATE_LIMITED: `busy` when all sign-ins together are too many.
   * INVALID_SESSION: why the session ended, if the token was a session.
   */
  reason?: 'balance' | 'debt' | 'frozen' | 'hold' | 'topup' | 'dispute' | 'busy' | SessionEndReason
  /** A recorded refusal, replayed because its reference was used again. */
  replayed?: true
  mismatch?: MismatchField[]
}
