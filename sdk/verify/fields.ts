/** Reads the fields of a proof, none of which can be trusted. */
import { fromBase64, isWellFormed } from './note.ts'

const maxHashes = 64

export function parseHashes(lines: unknown): readonly Uint8Array[] | null {
  if (!Array.isArray(lines) || lines.length > maxHashes) return null
  const hashes = lines.map(parseHash)
  return hashes.every((hash) => hash !== null) ? hashes : null
}

export function parseHash(text: unknown): Uint8Array | null {
  const bytes = typeof text === 'string' ? fromBase64(text) : null
  return bytes?.length === 32 ? bytes : null
}

/** An empty object where it is none. */
export function parseFields(encoded: string): Record<string, unknown> {
  const bytes = fromBase64(encoded)
  if (bytes === null) return {}
  try {
    const fields: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(fields) ? fields : {}
  } catch {
    return {}
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
export const isText = (value: unknown): value is string => typeof value === 'string' && isWellFormed(value)
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1
export const isCurrency = (value: unknown): value is string => typeof value === 'string' && /^[A-Z]{3}$/.test(value)
/** Of at most 18 digits. */
export const isWhole = (value: unknown): value is string =>
  typeof value === 'string' && /^-?(0|[1-9][0-9]{0,17})$/.test(value)
/** Of at most 40 digits, and not negative. */
export const isSum = (value: unknown): value is string =>
  typeof value === 'string' && /^(0|[1-9][0-9]{0,39})$/.test(value)
