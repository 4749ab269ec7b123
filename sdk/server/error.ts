/** The one error that calls throw. It never holds a URL, a request or a cause, because these contain the secret. */
import type { AnyErrorCode, ErrorBody } from '../contract/errors.ts'
import type { MismatchField } from '../contract/wire.ts'
import type { Redact } from './redact.ts'

/** A failure of the connection or the answer, as opposed to a refusal of the service. */
export type FaultCode = 'NETWORK_ERROR' | 'TIMED_OUT' | 'BAD_RESPONSE' | 'ABORTED'

type Details = Partial<Omit<ErrorBody, 'error' | 'code' | 'requestId'>> & {
  status?: number
  requestId?: string | undefined
  retryAfterMs?: number | undefined
}

export class BillfoldError extends Error {
  readonly code: FaultCode | AnyErrorCode
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
  /** Identifies this request in the log of the service. */
  readonly requestId: string | undefined
  /** The user has to authenticate: show the widget without a session. */
  readonly requiresAuth: boolean
  readonly fields: Record<string, string> | undefined
  readonly balance: number | undefined
  readonly requiredAmount: number | undefined
  readonly shortfall: number | undefined
  readonly declineCode: string | undefined
  /** The refusal was recorded earlier and is replayed because its reference was used again. */
  readonly replayed: boolean
  readonly mismatch: MismatchField[] | undefined
  /** How long the service asked to wait (Retry-After). */
  readonly retryAfterMs: number | undefined

  constructor(code: FaultCode | AnyErrorCode, message: string, details: Details = {}) {
    super(message)
    this.name = 'BillfoldError'
    this.code = code
    this.status = details.status ?? 0
    this.requestId = details.requestId
    this.requiresAuth = details.requiresAuth ?? false
    this.fields = details.fields
    this.balance = details.balance
    this.requiredAmount = details.requiredAmount
    this.shortfall = details.shortfall
    this.declineCode = details.declineCode
    this.replayed = details.replayed ?? false
    this.mismatch = details.mismatch
    this.retryAfterMs = details.retryAfterMs
  }

  /** Whether the same call may succeed later. Repeating it is safe: its reference keeps money from moving twice. */
  get isRetryable(): boolean {
    return this.code === 'NETWORK_ERROR' || this.code === 'TIMED_OUT' || isRetryableStatus(this.status)
  }
}

/** The service could not process the request, so the same request may succeed later. */
export function isRetryableStatus(status: number): boolean {
  return [408, 429, 503].includes(status)
}

/** Converts an error answer. A proxy in between may echo the request, so every text is redacted. */
export function errorOfAnswer(
  body: Record<string, unknown>,
  answer: { call: string; status: number; requestId: string | undefined; retryAfterMs: number | undefined },
  redact: Redact,
): BillfoldError {
  const code = textOf(body.code, redact)
  const isCode = code !== undefined && /^[A-Z][A-Z0-9_]{0,63}$/.test(code)
  const message = textOf(body.error, redact) ?? `${answer.call} answered ${answer.status} without saying why.`
  return new BillfoldError(isCode ? code : 'BAD_RESPONSE', message, {
    status: answer.status,
    requestId: textOf(body.requestId, redact) ?? answer.requestId,
    retryAfterMs: answer.retryAfterMs,
    ...definedOnly({
      requiresAuth: body.requiresAuth === true ? true : undefined,
      fields: fieldsOf(body.fields, redact),
      balance: numberOf(body.balance),
      requiredAmount: numberOf(body.requiredAmount),
      shortfall: numberOf(body.shortfall),
      declineCode: textOf(body.declineCode, redact),
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
