/** Passwords: argon2id, a few at a time, so that many logins at once never slow down debits. */
import type { Service } from '../service.ts'

/** Parameters of argon2id: memory in KiB, and number of passes. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number }

export const passwordCost: PasswordCost = { memoryCost: 19_456, timeCost: 2 }

type Costs = Pick<Service, 'passwordCost'>

const maxAtOnce = 2
const maxWaiting = 500
let running = 0
let started = 0
const waiting: (() => void)[] = []

/** Too many password checks are waiting: the caller must retry later. */
export class PasswordsBusy extends Error {}

export async function hashPassword({ passwordCost }: Costs, password: string): Promise<string> {
  return await queued(() => Bun.password.hash(stable(password), { algorithm: 'argon2id', ...passwordCost }))
}

/** Takes the same time without a hash, so that the time does not reveal whether an email is known. */
export async function isPassword(
  { passwordCost }: Costs,
  password: string,
  hash: string | null | undefined,
): Promise<boolean> {
  const isEqual = await queued(() => Bun.password.verify(stable(password), hash ?? unmatched(passwordCost)))
  return isEqual && hash !== null && hash !== undefined
}

/** The hash of a random text that was never stored. */
function unmatched({ memoryCost, timeCost }: PasswordCost): string {
  const saltAndHash = 'pP1xZ1mSyuZ6BqBYbMHaZl7C2t9cyqPnGCs6S9tZGVM$F2CnyIyxZ7wrCI0ZD5oIjZHKTBgxXPSf3S2zIgcSyx4'
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$${saltAndHash}`
}

/** Checks and hashes started since the start of the process, and those that wait now. */
export function passwordCounts(): { started: number; waiting: number } {
  return { started, waiting: waiting.length }
}

/**
 * NFKC, as NIST SP 800-63B advises: keyboards and systems encode the same password in different code points (é as one or
 * two, full-width letters), and the user must be able to sign in from all of them.
 */
function stable(password: string): string {
  return password.normalize('NFKC')
}

async function queued<T>(work: () => Promise<T>): Promise<T> {
  if (running >= maxAtOnce) {
    if (waiting.length >= maxWaiting) throw new PasswordsBusy()
    // A finished check hands its slot to the next in line, so a newcomer cannot take it and at most maxAtOnce run.
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running++
  started++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}
