/** The one error that calls throw. It holds no query, no request and no error of the runtime, because these contain the secret. */
import type { AnyErrorCode, ErrorBody } from '../contract/errors.ts'
import type { Hold, MismatchField } from '../contract/wire.ts'
import type { Redact } from './redact.ts'

/** A failure of the connection or the answer, as opposed to a refusal of the service. */
export type FaultCode = 'NETWORK_ERROR' | 'TIMED_OUT' | 'BAD_RESPONSE' | 'ABORTED'

type Details = Partial<Omit<ErrorBody, 'error' | 'code' | 'requestId'>> & {
  status?: number
  url?: string
  requestId?: string | undefined
  retryAfterMs?: number | undefined
  isRetryable?: boolean
  cause?: Error | undefined
}

export class BillfoldError extends Error {
  readonly code: FaultCode | AnyErrorCode
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
  /** The address that was called, without its query; empty if nothing was sent. */
  readonly url: string
  /** Identifies this request in the log of the service. */
  readonly requestId: string | undefined
  /** The user has to authenticate: show the widget without a session. */
  readonly requiresAuth: boolean
  readonly fields: Record<string, string> | undefined
  readonly balance: number | undefined
  /** The balance without what is held. */
  readonly available: number | undefined
  readonly held: number | undefined
  readonly requiredAmount: number | undefined
  readonly shortfall: number | undefined
  /** The hold as it is, where it refused the call. */
  readonly hold: Hold | undefined
  readonly declineCode: string | undefined
  /** EVENTS_GONE: the lowest number that is kept. */
  readonly oldest: number | undefined
  /** The refusal was recorded earlier and is replayed because its reference was used again. */
  readonly replayed: boolean
  readonly mismatch: MismatchField[] | undefined
  /** How long the service asked to wait (Retry-After). */
  readonly retryAfterMs: number | undefined
  /**
   * The outcome is unknown, or the same call may succeed later: send it again. Its reference keeps money from moving twice.
   * False means that the service refused the call.
   */
  readonly isRetryable: boolean

  constructor(code: FaultCode | AnyErrorCode, message: string, details: Details = {}) {
    super(message, details.cause && { cause: details.cause })
    this.name = 'BillfoldError'
    this.code = code
    this.status = details.status ?? 0
    this.url = details.url ?? ''
    this.requestId = details.requestId
    this.requiresAuth = details.requiresAuth ?? false
    this.fields = details.fields
    this.balance = details.balance
    this.available = details.available
    this.held = details.held
    this.requiredAmount = details.requiredAmount
    this.shortfall = details.shortfall
    this.hold = details.hold
    this.declineCode = details.declineCode
    this.oldest = details.oldest
    this.replayed = details.replayed ?? false
    this.mismatch = details.mismatch
    this.retryAfterMs = details.retryAfterMs
    this.isRetryable = details.isRetryable ?? (isLostAnswer(code) || isRetryableStatus(this.status))
  }
}

function isLostAnswer(code: string): boolean {
  return code === 'NETWORK_ERROR' || code === 'TIMED_OUT' || code === 'ABORTED'
}

/** With any 5xx the request may have been carried out: a proxy answers so when the answer of the service is late or lost. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500
}

/** With 408 and 429 nothing was carried out. */
export function isOutcomeUnknown({ isRetryable, status }: BillfoldError): boolean {
  return isRetryable && status !== 408 && status !== 429
}

/** Refusals that the service gives after it looked for a recorded outcome of the reference. */
const refusalsOfReference = [
  'INSUFFICIENT_BALANCE',
  'BALANCE_LIMIT',
  'REFERENCE_CONFLICT',
  'USER_NOT_FOUND',
  'WALLET_INACTIVE',
  'HOLD_NOT_FOUND',
  'HOLD_CLOSED',
  'HOLD_EXPIRED',
  'HOLD_EXCEEDED',
  'HOLD_UNCOVERED',
  'HOLD_LIMIT',
]

/**
 * Adds the earlier attempt of the same call whose outcome is unknown. A refusal such as 401 says nothing about that attempt,
 * which may have moved the money.
 */
export function addEarlier(error: BillfoldError, earlier: BillfoldError, hasReference: boolean): BillfoldError {
  const isOpen = hasReference && !refusalsOfReference.includes(error.code)
  return Object.assign(error, { cause: earlier, isRetryable: error.isRetryable || isOpen })
}

/** Converts an error answer. A proxy in between may echo the request, so every text is redacted. */
export function errorOfAnswer(
  body: Record<string, unknown>,
  answer: {
    call: string
    url: string
    status: number
    requestId: string | undefined
    retryAfterMs: number | undefined
  },
  redact: Redact,
): BillfoldError {
  const code = textOf(body.code, redact)
  const isCode = code !== undefined && /^[A-Z][A-Z0-9_]{0,63}$/.test(code)
  const message = textOf(body.error, redact) ?? `${answer.call} answered ${answer.status} without saying why.`
  return new BillfoldError(isCode ? code : 'BAD_RESPONSE', message, {
    status: answer.status,
    url: answer.url,
    requestId: textOf(body.requestId, redact) ?? answer.requestId,
    retryAfterMs: answer.retryAfterMs,
    ...definedOnly({
      requiresAuth: body.requiresAuth === true ? true : undefined,
      fields: fieldsOf(body.fields, redact),
      balance: numberOf(body.balance),
      available: numberOf(body.available),
      held: numberOf(body.held),
      requiredAmount: numberOf(body.requiredAmount),
      shortfall: numberOf(body.shortfall),
      hold: holdOf(body.hold),
      declineCode: textOf(body.declineCode, redact),
      oldest: numberOf(body.oldest),
      replayed: body.replayed === true ? (true as const) : undefined,
      mismatch: mismatchOf(body.mismatch),
    }),
  })
}

const mismatchFields: readonly MismatchField[] = ['amount', 'user', 'direction']

export function mismatchOf(value: unknown): MismatchField[] | undefined {
  if (!Array.isArray(value)) return undefined
  return mismatchFields.filter((field) => value.includes(field))
}

/** A proxy may answer anything under this name. */
function holdOf(value: unknown): Hold | undefined {
  return typeof value === 'object' && value !== null && 'id' in value && 'status' in value ? (value as Hold) : undefined
}

function textOf(value: unknown, redact: Redact): string | undefined {
  return typeof value === 'string' ? redact(value).slice(0, 500) : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function fieldsOf(value: unknown, redact: Redact): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const named = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(named.slice(0, 50).map(([name, text]) => [redact(name), redact(text).slice(0, 500)]))
}

function definedOnly<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as { [Key in keyof T]?: Exclude<T[Key], undefined> }
}
