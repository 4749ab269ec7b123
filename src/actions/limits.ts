/**
 * How often something may be tried, by end users and operators alike. What is counted for an email is counted whether
 * or not it is anybody's, so that a refusal tells nothing; a try that one limit refuses counts for no other; and a
 * stranger can never use up the tries of someone at an address from which they signed in before.
 */
import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { deleteLimit, findLimit, updateLimitRefunded, upsertLimit } from '../store/limits.ts'
import type { Service } from './service.ts'

export type Limited = { readonly kind: 'limited'; readonly retryAfterSeconds: number }

/** Of all tries beyond a limit only the first is put on record: a flood of them must not fill the audit log. */
export type TooMany = Limited & { readonly isFirst: boolean }

type Rule = { readonly name: string; readonly limit: number; readonly windowMs: number }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Something secret that strangers may guess at, and how often. */
export type Door = {
  /** For one address, whomever it tries. */
  readonly address?: Rule
  /** The same, but counted when a guess was wrong: many people behind one address may sign in at the same moment. */
  readonly wrongOfAddress?: Rule
  /** For a person and one address: the person, or someone who sits beside them. */
  readonly here: Rule
  /** For a person and all addresses from which they never signed in, together: a guess spread over many machines. */
  readonly anywhere: Rule
  /** For a person and all addresses from which they did, together: with `anywhere` all tries that there are. */
  readonly known?: Rule
}

const door = (name: string, limits: Partial<Record<keyof Door, number>> & { here: number; anywhere: number }): Door => {
  const rule = (part: string, limit: number): Rule => ({ name: `${name}-${part}`, limit, windowMs: 15 * minuteMs })
  return {
    ...(limits.address !== undefined && { address: rule('address', limits.address) }),
    ...(limits.wrongOfAddress !== undefined && { wrongOfAddress: rule('address', limits.wrongOfAddress) }),
    here: rule('here', limits.here),
    anywhere: rule('anywhere', limits.anywhere),
    ...(limits.known !== undefined && { known: rule('known', limits.known) }),
  }
}

export const userPasswords = door('password', { wrongOfAddress: 100, here: 10, anywhere: 100 })
/** No more than 200 wrong ones for an operator, of which strangers never use up the 50. */
export const operatorPasswords = door('operator-password', { address: 50, here: 5, anywhere: 150, known: 50 })
/**
 * Tried by whoever has the password already, so few: eight for an operator, half of them from all addresses that the
 * operator signed in from together, the other half from everywhere else.
 */
export const operatorCodes: Rule = { name: 'operator-code', limit: 4, windowMs: 15 * minuteMs }
/** Whoever took over an operator's session must not be able to find the password with it. */
export const ownPasswords: Rule = { name: 'operator-own-password', limit: 10, windowMs: 15 * minuteMs }
export const mailsHere: Rule = { name: 'mail-here', limit: 4, windowMs: 15 * minuteMs }
export const mailsAnywhere: Rule = { name: 'mail-anywhere', limit: 10, windowMs: hourMs }
/** With five tries a code this leaves 150 guesses a day at a million codes. */
export const mailsADay: Rule = { name: 'mail-a-day', limit: 30, windowMs: 24 * hourMs }

/** Receipts and statements: each may read a month of entries. */
export const papers: Rule = { name: 'paper', limit: 60, windowMs: 15 * minuteMs }

/** Counts an attempt before it is made, or many at once would all be the last one allowed. */
export async function takeLimit(service: Service, rule: Rule, ...parts: string[]): Promise<TooMany | undefined> {
  const { count, secondsLeft } = await upsertLimit(service.db.pool, keyOf(rule, parts), rule.windowMs)
  if (count <= rule.limit) return undefined
  return { kind: 'limited', retryAfterSeconds: Math.max(1, secondsLeft), isFirst: count === rule.limit + 1 }
}

type Limit = readonly [rule: Rule, ...parts: string[]]

/**
 * All of them or none. In the order given, so that those which only one address can use up come first: what they
 * refuse never reaches the rows that everybody shares.
 */
export async function takeLimits(service: Service, limits: readonly Limit[]): Promise<TooMany | undefined> {
  for (const [index, limit] of limits.entries()) {
    const refused = await takeLimit(service, ...limit)
    if (!refused) continue
    for (const taken of limits.slice(0, index)) await giveBackLimit(service, ...taken)
    return refused
  }
  return undefined
}

type Guess = {
  /** Whose secret it is: an email, or an operator's id. */
  readonly whose: string
  readonly address: string
  /** They signed in from this address before. */
  readonly isKnownAddress: boolean
}

export async function takeGuess(service: Service, door: Door, guess: Guess): Promise<TooMany | undefined> {
  const { byAddress, here, together } = limitsOf(door, guess)
  if (door.wrongOfAddress) {
    const { count, secondsLeft } = await findLimit(
      service.db.pool,
      keyOf(door.wrongOfAddress, [addressKey(guess.address)]),
    )
    if (count >= door.wrongOfAddress.limit)
      return { kind: 'limited', retryAfterSeconds: Math.max(1, secondsLeft), isFirst: false }
  }
  return await takeLimits(service, [...byAddress, here, ...together])
}

export async function countWrongGuess(service: Service, door: Door, { address }: Guess): Promise<void> {
  if (door.wrongOfAddress) await takeLimit(service, door.wrongOfAddress, addressKey(address))
}

/** Someone who got in has no failures behind them here, and this try was none anywhere else. */
export async function forgiveRightGuess(service: Service, door: Door, guess: Guess): Promise<void> {
  const { byAddress, here, together } = limitsOf(door, guess)
  await clearLimit(service, ...here)
  for (const limit of [...byAddress, ...together]) await giveBackLimit(service, ...limit)
}

function limitsOf(door: Door, { whose, address, isKnownAddress }: Guess) {
  const where = addressKey(address)
  const byAddress: Limit[] = door.address ? [[door.address, where]] : []
  const here: Limit = [door.here, whose, where]
  // From where the person signed in before, the guesses of strangers elsewhere change nothing.
  const shared = isKnownAddress ? door.known : door.anywhere
  const together: Limit[] = shared ? [[shared, whose]] : []
  return { byAddress, here, together }
}

/** Takes back one attempt that was counted before it was known to be right. */
export async function giveBackLimit(service: Service, rule: Rule, ...parts: string[]): Promise<void> {
  await updateLimitRefunded(service.db.pool, keyOf(rule, parts))
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
