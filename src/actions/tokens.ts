/** Ids and secrets. Everything random in the service is made here. */
import { hash, randomBytes, randomInt, randomUUID } from 'node:crypto'

/** Of the newest id: its millisecond, and how many came before it in that one. */
const newest = { ms: 0, count: 0 }

/**
 * A version 7 UUID: time first, so that new rows land at the end of an index, and then a count, so that those of one
 * millisecond are in the order in which they were made: what one transaction puts into the audit log has one time.
 */
export function newId(now: Date = new Date()): string {
  const ms = now.getTime()
  Object.assign(newest, { ms, count: ms === newest.ms ? (newest.count + 1) % 0x1000 : 0 })
  const bytes = randomBytes(16)
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(0x7000 + newest.count, 6)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** In lower case, as ids are written everywhere. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
}

export function newClientId(): string {
  return `app_${randomBytes(10).toString('hex')}`
}

/** 256 random bits. */
export function newClientSecret(): string {
  return `bfs_${randomBytes(32).toString('base64url')}`
}

/** 128 random bits, so that one app's id of a user says nothing to another app. */
export function newServiceUserId(): string {
  return `su_${randomBytes(16).toString('hex')}`
}

export function newSessionToken(): string {
  return `ws_${randomUUID()}`
}

/**
 * Tells the widget whether two sessions are of the same person in the same app. A serviceUserId would do, but that one is kept out
 * of browsers' hands where it can be.
 */
export function linkKeyOf(serviceUserId: string): string {
  return hash('sha256', `link-key ${serviceUserId}`, 'hex').slice(0, 32)
}

/** 192 random bits, for two minutes. */
export function newLinkCode(): string {
  return `lc_${randomBytes(24).toString('base64url')}`
}

/** 192 random bits, for one look within two minutes. */
export function newPaperToken(): string {
  return randomBytes(24).toString('base64url')
}

/** Six digits, for people to copy from a mail. */
export function newMailedCode(): string {
  return String(randomInt(1_000_000)).padStart(6, '0')
}

/** Tells one secret from another, and nothing about either: the last four characters of its hash. */
export function fingerprintOf(hash: Buffer): string {
  return hash.toString('hex').slice(-4)
}

/** How a secret is stored: it is random and long, so one round of SHA-256 hides it. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
