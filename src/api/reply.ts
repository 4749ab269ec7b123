/** The one table from error code to status and message, and the shape of every JSON answer. */
import type { ErrorCode } from '../../sdk/contract.ts'

type Row = readonly [status: number, error: string]

/** The service never sends ACCOUNT_NOT_LINKED: the client side decides it, because without a link it has nothing to ask for. */
export type RefusalCode = Exclude<ErrorCode, 'ACCOUNT_NOT_LINKED'>

const refusals: Record<RefusalCode, Row> = {
  INVALID_CLIENT: [401, 'The client credentials are missing or not valid.'],
  INSUFFICIENT_SCOPE: [403, 'The client app does not have the scope that this call needs.'],
  INVALID_REQUEST: [400, 'The request is not valid; `fields` names what is wrong.'],
  INVALID_AMOUNT: [400, 'The amount is not valid; `fields` says why.'],
  USER_NOT_FOUND: [404, 'There is no such user for this app; the user must sign in through the widget.'],
  INSUFFICIENT_BALANCE: [400, 'The balance is not sufficient. A new attempt uses a new referenceId.'],
  BALANCE_LIMIT: [
    400,
    'The balance would exceed the highest one the service keeps. A new attempt uses a new referenceId.',
  ],
  WALLET_INACTIVE: [403, 'The wallet is not active: it takes credits only.'],
  REFERENCE_CONFLICT: [409, 'The reference was used before for a different operation.'],
  HOLD_NOT_FOUND: [404, 'There is no such hold of this app.'],
  HOLD_CLOSED: [409, 'The hold was captured or voided before; `hold` says which.'],
  HOLD_EXPIRED: [409, 'The hold has expired, and its money is available to the user again.'],
  HOLD_EXCEEDED: [400, 'The amount is more than remains of the hold; `remaining` says how much that is.'],
  HOLD_UNCOVERED: [409, 'A charge-back took the money that was held: the balance does not cover the capture.'],
  HOLD_LIMIT: [409, 'The app has 100 open holds on this wallet; capture or void one first.'],
  EVENTS_OFF: [403, 'Events are off for this app; an operator switches them on.'],
  EVENTS_GONE: [410, 'The events after this number are no longer kept; `oldest` is the lowest number that is.'],
  ENDPOINT_NOT_FOUND: [404, 'There is no such endpoint of this app.'],
  ORIGIN_NOT_ALLOWED: [403, 'The origin is not one of the app’s allowedIframeParents.'],
  SESSION_EXPIRED: [401, 'The widget session has expired; the backend must create a new one.'],
  INVALID_SESSION: [401, 'The widget session is not valid.'],
  PERSON_REQUIRED: [403, 'Sign in on this device to see this.'],
  PRESENCE_REQUIRED: [403, 'Enter your password to continue.'],
  CARD_DECLINED: [402, 'The card was declined.'],
  PAYMENT_INTENT_NOT_FOUND: [404, 'There is no such payment intent.'],
  BROWSER_CALL_REFUSED: [
    403,
    'A client secret must never be sent from a browser. Rotate it, and call from the backend.',
  ],
  CROSS_SITE_REFUSED: [403, 'Only the hosted pages may make this call.'],
  INVALID_LINK_CODE: [400, 'The link code is unknown, used or expired.'],
  INVALID_CREDENTIALS: [401, 'The email and password do not match.'],
  INVALID_CODE: [400, 'The code is wrong, used or expired.'],
  ACCOUNT_NOT_DELETABLE: [409, 'The account cannot be deleted yet; `reason` says why.'],
  WEAK_PASSWORD: [400, 'The password is too short, too long or too common.'],
  RATE_LIMITED: [429, 'Too many requests; wait for the time in Retry-After.'],
  PAYLOAD_TOO_LARGE: [413, 'The body is larger than 64 KiB.'],
  REQUEST_TIMEOUT: [408, 'The body did not arrive in time; nothing was done, and sending the request again is safe.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body must be application/json in UTF-8.'],
  METHOD_NOT_ALLOWED: [405, 'The path does not support this method; Allow lists those it supports.'],
  NOT_FOUND: [404, 'There is nothing at this path.'],
  PROCESSOR_UNAVAILABLE: [503, 'The card processor does not answer; the rest of the wallet works.'],
  UNAVAILABLE: [503, 'The service cannot answer now. Sending the same request again is safe.'],
  INTERNAL: [500, 'Something unexpected happened; the log has the details under this requestId.'],
}

export type Answer = {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

export function answer(body: Readonly<Record<string, unknown>>): Answer {
  return { status: 200, body }
}

export type Extras = Readonly<Record<string, unknown>> & {
  readonly error?: string
  readonly fields?: Readonly<Record<string, string>>
}

export function refuse(code: RefusalCode, extras: Extras = {}, headers: Readonly<Record<string, string>> = {}): Answer {
  const [status, error] = refusals[code]
  return { status, body: { error, code, ...extras }, headers }
}

/** The contract answers an unknown user with 401 on a read and with 404 on a change. */
export function statusOf(code: RefusalCode, method: 'GET' | 'POST'): number {
  return code === 'USER_NOT_FOUND' && method === 'GET' ? 401 : refusals[code][0]
}

/** The contract requires requiresAuth wherever the user has to sign in. */
export function refuseUnknownUser(method: 'GET' | 'POST'): Answer {
  return { ...refuse('USER_NOT_FOUND', { requiresAuth: true }), status: statusOf('USER_NOT_FOUND', method) }
}

export function refuseFor(retryAfterSeconds: number, code: 'RATE_LIMITED' | 'UNAVAILABLE' = 'RATE_LIMITED'): Answer {
  return refuse(code, {}, { 'retry-after': String(retryAfterSeconds) })
}
