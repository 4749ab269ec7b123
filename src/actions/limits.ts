/**
 * Rate limits of attempts by users and operators. An email is counted whether or not it has an account, so a refusal reveals
 * nothing. An attempt that one limit refuses does not count for the others. Attempts from unknown addresses never use up
 * those of a person at an address from which they signed in before.
 */
import { hash } from 'node:crypto'
import { deleteLimit, findLimit, updateLimitRefunded, upsertLimit } from '../store/limits.ts'
import { networkOf } from '../platform/address.ts'
import type { KeyedHashes } from './secrets/open-secrets.ts'
import type { Service } from './service.ts'

export type Limited = { readonly kind: 'limited'; readonly retryAfterSeconds: number }

/** Only the first attempt beyond a limit is recorded, so that a flood does not fill the audit log. */
export type TooMany = Limited & { readonly isFirst: boolean }

type WithSecrets = Pick<Service, 'db' | 'secrets'>

type Rule = { readonly name: string; readonly limit: number; readonly windowMs: number }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The limits of guesses at one kind of secret. */
export type Door = {
  /** Per address, for all accounts together. */
  readonly address?: Rule
  /** Per address, but counts only wrong guesses: many people behind one address may sign in at once. */
  readonly wrongOfAddress?: Rule
  /** Per account and address. */
  readonly here: Rule
  /** Per account, for all unknown addresses together: limits guesses from many machines. */
  readonly anywhere: Rule
  /** Per account, for all known addresses together: with `anywhere` this bounds all attempts. */
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
/** At most 200 wrong guesses per operator; 50 of them are reserved for known addresses. */
export const operatorPasswords = door('operator-password', { address: 50, here: 5, anywhere: 150, known: 50 })
/**
 * An attempt at the code needs the password first, so few are allowed: eight per operator, four from known addresses and four
 * from all others.
 */
export const operatorCodes: Rule = { name: 'operator-code', limit: 4, windowMs: 15 * minuteMs }
/**
 * Guesses at a user's password through the sessions of one app. The app's backend creates them alone, from any number of addresses:
 * it must not use up the guesses that the user has elsewhere.
 */
export const proofsOfApp: Rule = { name: 'password-app', limit: 20, windowMs: 15 * minuteMs }
/** A stolen operator session must not help to guess the password. */
export const ownPasswords: Rule = { name: 'operator-own-password', limit: 10, windowMs: 15 * minuteMs }
/** Each start asks the identity provider. */
export const oidcStarts: Rule = { name: 'oidc-start', limit: 30, windowMs: 15 * minuteMs }
export const mailsHere: Rule = { name: 'mail-here', limit: 4, windowMs: 15 * minuteMs }
export const mailsAnywhere: Rule = { name: 'mail-anywhere', limit: 10, windowMs: hourMs }
/** With five attempts per code this allows 150 guesses a day at a million codes. */
export const mailsADay: Rule = { name: 'mail-a-day', limit: 30, windowMs: 24 * hourMs }

/** Exports and deletions of users by one operator: each mails the user, and an export gives data away. */
export const personRequests: Rule = { name: 'person-requests', limit: 20, windowMs: hourMs }

/** Receipts and statements: one may read a month of entries. */
export const papers: Rule = { name: 'paper', limit: 60, windowMs: 15 * minuteMs }

/** Checks of receipts by their public addresses, per network: one reads up to some hundred entries of a wallet. */
export const receiptChecks: Rule = { name: 'receipt-check', limit: 60, windowMs: 15 * minuteMs }

/** Replays that an app asks for: each writes an audit record. */
export const replaysOfApp: Rule = { name: 'replay-app', limit: 60, windowMs: hourMs }

/** Counts an attempt before it is made: otherwise many concurrent attempts would all pass as the last one allowed. */
export async function takeLimit(service: WithSecrets, rule: Rule, ...parts: string[]): Promise<TooMany | undefined> {
  const { count, secondsLeft } = await upsertLimit(service.db.pool, await keyOf(service, rule, parts), rule.windowMs)
  if (count <= rule.limit) return undefined
  return { kind: 'limited', retryAfterSeconds: Math.max(1, secondsLeft), isFirst: count === rule.limit + 1 }
}

type Limit = readonly [rule: Rule, ...parts: string[]]

/**
 * Takes all limits or none, in the given order. List limits of one address first: an attempt they refuse does not touch
 * the rows that all callers share.
 */
export async function takeLimits(service: WithSecrets, limits: readonly Limit[]): Promise<TooMany | undefined> {
  for (const [index, limit] of limits.entries()) {
    const refused = await takeLimit(service, ...limit)
    if (!refused) continue
    for (const taken of limits.slice(0, index)) await giveBackLimit(service, ...taken)
    return refused
  }
  return undefined
}

type Guess = {
  /** The account of the secret: an email, or an operator's id. */
  readonly whose: string
  readonly address: string
  /** The person signed in from this address before. */
  readonly isKnownAddress: boolean
}

export async function takeGuess(service: WithSecrets, door: Door, guess: Guess): Promise<TooMany | undefined> {
  const { byAddress, here, together } = limitsOf(door, guess)
  if (door.wrongOfAddress) {
    const { count, secondsLeft } = await findLimit(
      service.db.pool,
      await keyOf(service, door.wrongOfAddress, [networkOf(guess.address)]),
    )
    if (count >= door.wrongOfAddress.limit)
      return { kind: 'limited', retryAfterSeconds: Math.max(1, secondsLeft), isFirst: false }
  }
  return await takeLimits(service, [...byAddress, here, ...together])
}

export async function countWrongGuess(service: WithSecrets, door: Door, { address }: Guess): Promise<void> {
  if (door.wrongOfAddress) await takeLimit(service, door.wrongOfAddress, networkOf(address))
}

/** After a right guess: clears the failures at this address, and gives back this attempt elsewhere. */
export async function forgiveRightGuess(service: WithSecrets, door: Door, guess: Guess): Promise<void> {
  const { byAddress, here, together } = limitsOf(door, guess)
  await clearLimit(service, ...here)
  for (const limit of [...byAddress, ...together]) await giveBackLimit(service, ...limit)
}

function limitsOf(door: Door, { whose, address, isKnownAddress }: Guess) {
  const where = networkOf(address)
  const byAddress: Limit[] = door.address ? [[door.address, where]] : []
  const here: Limit = [door.here, whose, where]
  // Guesses from unknown addresses must not block a known one.
  const shared = isKnownAddress ? door.known : door.anywhere
  const together: Limit[] = shared ? [[shared, whose]] : []
  return { byAddress, here, together }
}

/** Takes back an attempt that turned out to be right. */
export async function giveBackLimit(service: WithSecrets, rule: Rule, ...parts: string[]): Promise<void> {
  await updateLimitRefunded(service.db.pool, await keyOf(service, rule, parts))
}

export async function clearLimit(service: WithSecrets, rule: Rule, ...parts: string[]): Promise<void> {
  await deleteLimit(service.db.pool, await keyOf(service, rule, parts))
}

/** The parts are emails and addresses, which a plain hash in a copy of the database would not hide. */
async function keyOf({ secrets }: WithSecrets, { name }: Rule, parts: readonly string[]): Promise<Buffer> {
  const [key] = await secrets.hashes('limit', [name, ...parts].join('\0'))
  return key
}

/**
 * Addresses are stored as keyed hashes: they are compared, and never read. The key is applied to the plain hash, which older
 * releases stored, so that `keyPlainAddresses` can convert their rows.
 */
export async function addressHashes({ secrets }: Pick<Service, 'secrets'>, address: string): Promise<KeyedHashes> {
  return await secrets.hashes('address', hash('sha256', networkOf(address), 'buffer'))
}
