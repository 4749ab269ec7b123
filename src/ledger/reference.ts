/** (app, referenceType, referenceId): the idempotency key of a debit or credit. */

export type Reference = {
  /** `app:<clientId>`, or the service's own namespace, which no app can reach. */
  readonly namespace: string
  readonly type: string
  readonly id: string
}

export const serviceNamespace = 'service'

/** The referenceType of a correction; its referenceId is the id of its row. */
export const correctionType = 'CORRECTION'

/** In code points, as PostgreSQL and JSON Schema count characters. An emoji is one code point and two units of a JavaScript string. */
export const maxReferenceTypeLength = 100
export const maxReferenceIdLength = 255
export const maxDescriptionLength = 500

export function isLongerThan(text: string, maxLength: number): boolean {
  // A code point takes one or two units of a string, so most texts need no counting.
  if (text.length <= maxLength) return false
  return text.length > 2 * maxLength || Array.from(text).length > maxLength
}

/** Control characters and lone surrogates are refused; PostgreSQL cannot store some of them. */
export function isLabel(text: string, maxLength: number): boolean {
  if (text.length === 0 || isLongerThan(text, maxLength)) return false
  // Nearly every label is printable ASCII, which needs no further check.
  return /^[ -~]*$/.test(text) || (text.isWellFormed() && !/\p{Cc}/u.test(text))
}

export function isDescription(text: string): boolean {
  return !isLongerThan(text, maxDescriptionLength) && text.isWellFormed() && !text.includes('\0')
}

/** One text per reference and one reference per text: no part can contain the separator. */
export function referenceText({ namespace, type, id }: Reference): string {
  return `${namespace}\u0000${type}\u0000${id}`
}

export function counterAccountOfApp(clientId: string): string {
  return `app:${clientId}`
}

/** The fields in which a repeat differs from the first use of its reference. */
export type Mismatch = 'amount' | 'user' | 'direction'

type Use = { readonly walletId: string | undefined; readonly amountMinor: bigint }

export function findMismatch(first: Use, later: Use): Mismatch[] {
  const mismatch: Mismatch[] = []
  if (magnitude(first.amountMinor) !== magnitude(later.amountMinor)) mismatch.push('amount')
  if (first.walletId !== later.walletId) mismatch.push('user')
  if (first.amountMinor < 0n !== later.amountMinor < 0n) mismatch.push('direction')
  return mismatch
}

export function magnitude(minor: bigint): bigint {
  return minor < 0n ? -minor : minor
}
