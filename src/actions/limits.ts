/**
 * How often something may be tried. What is counted for an email is counted whether or not it is anybody's, so that a
 * refusal tells nothing; and a stranger can never use up the tries of someone who has been here before.
 */
import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { deleteLimit, updateLimitBack, upsertLimit } from '../store/limits.ts'
import type { Service } from './service.ts'

export type Limited = { readonly kind: 'limited'; readonly retryAfterSeconds: number }

type Rule = { readonly name: string; readonly limit: number; readonly windowMs: number }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** For an email and one address: the person, or someone who sits beside them. */
export const wrongPasswordsHere: Rule = { name: 'password-here', limit: 10, windowMs: 15 * minuteMs }
/** For an email and all addresses that never signed in with it, together: a guess spread over many machines. */
export const wrongPasswordsAnywhere: Rule = { name: 'password-anywhere', limit: 100, windowMs: 15 * minuteMs }
export const mailsHere: Rule = { name: 'mail-here', limit: 4, windowMs: 15 * minuteMs }
export const mailsAnywhere: Rule = { name: 'mail-anywhere', limit: 10, windowMs: hourMs }
/** With five tries a code this leaves 150 guesses a day at a million codes. */
export const mailsADay: Rule = { name: 'mail-a-day', limit: 30, windowMs: 24 * hourMs }

/** Counts an attempt before it is made, or many at once would all be the last one allowed. */
export async function takeLimit(service: Service, rule: Rule, ...parts: string[]): Promise<Limited | undefined> {
  const { count, secondsLeft } = await upsertLimit(service.db.pool, keyOf(rule, parts), rule.windowMs)
  if (count <= rule.limit) return undefined
  return { kind: 'limited', retryAfterSeconds: Math.max(1, secondsLeft) }
}

/** Takes back one attempt that was counted before it was known to be right. */
export async function giveBackLimit(service: Service, rule: Rule, ...parts: string[]): Promise<void> {
  await updateLimitBack(service.db.pool, keyOf(rule, parts))
}

export async function clearLimit(service: Service, rule: Rule, ...parts: string[]): Promise<void> {
  await deleteLimit(service.db.pool, keyOf(rule, parts))
}

function keyOf({ name }: Rule, parts: readonly string[]): Buffer {
  return createHash('sha256')
    .update([name, ...parts].join('\0'))
    .digest()
}

/** Whoever has one IPv6 address has 2^64 of them: the network is what counts. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped) return mapped[1]!
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const full = tail === undefined ? groups : [...groups, ...Array(8 - groups.length - after.length).fill('0'), ...after]
  return full
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/** Addresses of people are kept hashed: they are compared, and never read. */
export function addressHash(address: string): Buffer {
  return createHash('sha256').update(addressKey(address)).digest()
}
