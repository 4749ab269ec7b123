/** A statement of the contract, how it is tried, and the possible verdicts. */
import type { Reply, Subject } from './subject.ts'

export type Statement = {
  readonly section: string
  readonly says: string
  /** Returns if the statement holds; throws Broken or NotTried otherwise. */
  readonly attempt: (subject: Subject) => Promise<void>
}

export type Verdict = {
  readonly section: string
  readonly says: string
  readonly verdict: 'pass' | 'fail' | 'not tried'
  /** The observation that contradicts the statement, or why it was not tried. */
  readonly why?: string
  /** What it takes to try it: a flag of the command, or a browser. */
  readonly needs?: Need
}

export type Need =
  | '--patient'
  | '--parent-origin'
  | '--other-client-id'
  | 'events that are on'
  | (typeof unreachable)[number]

/** What no flag of the command can provide. */
export const unreachable = ['a browser', 'a feed of events', 'events that are gone', 'holds'] as const

class Broken extends Error {}

export class NotTried extends Error {
  readonly needs: Need | undefined
  constructor(why: string, needs?: Need) {
    super(why)
    this.needs = needs
  }
}

export async function tryStatement({ section, says, attempt }: Statement, subject: Subject): Promise<Verdict> {
  try {
    await attempt(subject)
    return { section, says, verdict: 'pass' }
  } catch (error) {
    const { message: why, needs } = error as NotTried
    if (error instanceof NotTried) return { section, says, verdict: 'not tried', why, ...(needs && { needs }) }
    if (error instanceof Broken) return { section, says, verdict: 'fail', why }
    // The message of a failed request may contain its URL, and with it the secret.
    const name = error instanceof Error ? error.name : 'no error'
    return { section, says, verdict: 'fail', why: `no answer (${name})` }
  }
}

export function demand(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Broken(otherwise)
}

export function demandSuccess(reply: Reply, what: string): Readonly<Record<string, unknown>> {
  allowLimits(reply)
  demand(reply.status >= 200 && reply.status < 300, `${what} answered ${shown(reply)}`)
  demand(reply.body !== undefined, `${what} answered no JSON object`)
  return reply.body
}

/** Checks status and code only where the contract names them. */
export function demandRefusal(reply: Reply, what: string, expected: { status?: number; code?: string } = {}): void {
  allowLimits(reply)
  const { status, code } = expected
  const isRefusal = reply.status >= 400 && reply.status < 500
  demand(
    status === undefined ? isRefusal : reply.status === status,
    `${what} answered ${shown(reply)}, not ${status ?? '4xx'}`,
  )
  demand(
    code === undefined || reply.body?.['code'] === code,
    `${what} has the code ${String(reply.body?.['code'])}, not ${code}`,
  )
}

/** The contract leaves rate limits open, so a 429 breaks no statement. */
function allowLimits({ status }: Reply): void {
  if (status === 429) throw new NotTried('the service limits the rate of requests')
}

export function demandNumber(value: unknown, what: string): number {
  demand(typeof value === 'number' && Number.isFinite(value), `${what} is ${shownValue(value)}, not a number`)
  return value
}

/** Amounts are decimal, and arithmetic on JSON numbers is not exact. */
function isSameMoney(a: number, b: number): boolean {
  return Math.abs(a - b) < 0.000_5
}

export function demandMoney(value: unknown, expected: number, what: string): void {
  const number = demandNumber(value, what)
  demand(isSameMoney(number, expected), `${what} is ${number}, not ${expected}`)
}

export async function balanceOf(subject: Subject): Promise<number> {
  return demandNumber(demandSuccess(await subject.wallet(), 'GET /api/server/wallet')['balance'], 'the balance')
}

/** Compares the balance of the wallet before and after, because the answer to a posting may be wrong. */
export async function demandMoved(
  subject: Subject,
  by: number,
  what: string,
  act: () => Promise<unknown>,
): Promise<void> {
  const before = await balanceOf(subject)
  await act()
  const moved = Number(((await balanceOf(subject)) - before).toFixed(3))
  demandMoney(moved, by, `what moved by ${what}`)
}

export function shownValue(value: unknown): string {
  return (JSON.stringify(value) ?? 'absent').slice(0, 80)
}

function shown({ status, body }: Reply): string {
  return typeof body?.['code'] === 'string' ? `${status} ${body['code'].slice(0, 60)}` : String(status)
}
