/** Ids, tokens and secrets. */
import { hash, randomBytes, randomInt, randomUUID } from 'node:crypto'

/** The millisecond of the newest id, and the number of earlier ids in it. */
const newest = { ms: 0, count: 0 }

/**
 * A version 7 UUID: time first, so that new rows land at the end of an index, then a count, so that ids of one millisecond
 * sort in the order of their creation, as audit records of one transaction must.
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

/** Lower case only, as all ids are. */
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

/** 128 random bits, so that one app's id of a user is useless to another app. */
export function newServiceUserId(): string {
  return `su_${randomBytes(16).toString('hex')}`
}

export function newSessionToken(): string {
  return `ws_${randomUUID()}`
}

/** Shows the widget whether two sessions belong to the same link. The serviceUserId itself is kept out of browsers where possible. */
export function linkKeyOf(serviceUserId: string): string {
  return hash('sha256', `link-key ${serviceUserId}`, 'hex').slice(0, 32)
}

/** 256 random bits. */
export function newDeviceToken(): string {
  return `wd_${randomBytes(32).toString('base64url')}`
}

export function isDeviceToken(text: string): boolean {
  return /^wd_[\w-]{43}$/.test(text)
}

/** 192 random bits, valid for two minutes. */
export function newLinkCode(): string {
  return `lc_${randomBytes(24).toString('base64url')}`
}

/** 192 random bits, valid once. */
export function newPaperToken(): string {
  return randomBytes(24).toString('base64url')
}

/** 192 random bits, held by the browser that asked for a mailed code. */
export function newCodeHandle(): string {
  return `ch_${randomBytes(24).toString('base64url')}`
}

/** Six digits, for people to copy from a mail. */
export function newMailedCode(): string {
  return String(randomInt(1_000_000)).padStart(6, '0')
}

/** The last four characters of a secret's hash: distinguishes secrets and reveals nothing about them. */
export function fingerprintOf(hash: Buffer): string {
  return hash.toString('hex').slice(-4)
}

/** One round of SHA-256 is enough, because these secrets are long and random. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
