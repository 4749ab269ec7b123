/** Passwords: argon2id, a few at a time, so that a rush of logins never slows the money down. */
import type { Service } from '../service.ts'

/** What argon2id takes: memory in KiB, and how often it passes over it. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number }

export const passwordCost: PasswordCost = { memoryCost: 19_456, timeCost: 2 }

type Costs = Pick<Service, 'passwordCost'>

const maxAtOnce = 2
const maxWaiting = 500
let running = 0
let started = 0
const waiting: (() => void)[] = []

/** Too many passwords are being checked; the caller should be told to come back. */
export class PasswordsBusy extends Error {}

export async function hashPassword({ passwordCost }: Costs, password: string): Promise<string> {
  return await inTurn(() => Bun.password.hash(stable(password), { algorithm: 'argon2id', ...passwordCost }))
}

/** Against no hash at all it takes just as long, so that an unknown email cannot be told from a wrong password. */
export async function isPassword(
  { passwordCost }: Costs,
  password: string,
  hash: string | null | undefined,
): Promise<boolean> {
  const isEqual = await inTurn(() => Bun.password.verify(stable(password), hash ?? unmatched(passwordCost)))
  return isEqual && hash !== null && hash !== undefined
}

/** The hash of a random text that nobody kept. */
function unmatched({ memoryCost, timeCost }: PasswordCost): string {
  const saltAndHash = 'pP1xZ1mSyuZ6BqBYbMHaZl7C2t9cyqPnGCs6S9tZGVM$F2CnyIyxZ7wrCI0ZD5oIjZHKTBgxXPSf3S2zIgcSyx4'
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$${saltAndHash}`
}

/** How many were begun since the process started, and how many wait now. */
export function passwordCounts(): { started: number; waiting: number } {
  return { started, waiting: waiting.length }
}

/**
 * NFKC, as NIST SP 800-63B advises: keyboards and systems write the same password in different code points (é as one or
 * two, full-width letters), and a person must get in from all of them. What that merges no one remembers apart.
 */
function stable(password: string): string {
  return password.normalize('NFKC')
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= maxAtOnce) {
    if (waiting.length >= maxWaiting) throw new PasswordsBusy()
    // Whoever ends hands over its place, so nobody slips in between and no more than maxAtOnce ever run.
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
