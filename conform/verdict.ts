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
}

class Broken extends Error {}

export class NotTried extends Error {}

export async function tryStatement({ section, says, attempt }: Statement, subject: Subject): Promise<Verdict> {
  try {
    await attempt(subject)
    return { section, says, verdict: 'pass' }
  } catch (error) {
    if (error instanceof NotTried) return { section, says, verdict: 'not tried', why: error.message }
    if (error instanceof Broken) return { section, says, verdict: 'fail', why: error.message }
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
export function isSameMoney(a: number, b: number): boolean {
  return Math.abs(a - b) < 0.000_5
}

export function demandMoney(value: unknown, expected: number, what: string): void {
  const number = demandNumber(value, what)
  demand(isSameMoney(number, expected), `${what} is ${number}, not ${expected}`)
}

export function shownValue(value: unknown): string {
  return (JSON.stringify(value) ?? 'absent').slice(0, 80)
}

function shown({ status, body }: Reply): string {
  return typeof body?.['code'] === 'string' ? `${status} ${body['code'].slice(0, 60)}` : String(status)
}
