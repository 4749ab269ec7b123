/**
 * Settlements: what the service owes an app is its position minus what was paid out. A period ends with a closed day and is marked
 * as paid out once, even if several operators try; a reversal is a separate entry.
 */
import { counterAccountOfApp } from '../../ledger/reference.ts'
import { getPositionBefore } from '../../store/books/books.ts'
import * as store from '../../store/books/settlements.ts'
import type { NewSettlement, Settlement } from '../../store/books/settlements.ts'
import { transact, type Queryable, type Transaction } from '../../store/connection/database.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { WithDb } from '../service.ts'

export type Owed = {
  /** The newest settlement. */
  readonly last: Settlement | undefined
  readonly settledMinor: bigint
  /** The last day of the period that can be paid out. */
  readonly throughDay: string
  readonly owedMinor: bigint
  /** Including the days since then. */
  readonly owedNowMinor: bigint
  readonly closedDay: string
}

/** `throughDay` defaults to the last closed day. */
export async function readOwed(db: Queryable, clientId: string, throughDay?: string): Promise<Owed> {
  const { closedDay, today } = await store.getClosedDay(db)
  const through = throughDay ?? closedDay
  const account = counterAccountOfApp(clientId)
  const position = (day: string) => getPositionBefore(db, account, dayAfter(day))
  const [last, settledMinor, positionMinor, positionNowMinor] = [
    await store.findLastSettlement(db, clientId),
    await store.sumSettled(db, clientId),
    await position(through),
    await position(today),
  ]
  return {
    last,
    settledMinor,
    throughDay: through,
    owedMinor: positionMinor - settledMinor,
    owedNowMinor: positionNowMinor - settledMinor,
    closedDay,
  }
}

export type SettleProblem = 'unknown-app' | 'not-closed' | 'settled' | 'nothing' | 'changed' | 'none' | 'reused'

export const settleProblems: Readonly<Record<SettleProblem, string>> = {
  'unknown-app': 'There is no such app.',
  'not-closed': 'That day is not over yet, in UTC.',
  settled: 'That day is paid out already.',
  nothing: 'Nothing is owed for that period.',
  changed: 'The amount has changed since the page was shown. Check it again.',
  none: 'There is no settlement to reverse, or a newer one exists.',
  reused: 'This form was already sent with other content. Nothing was done now: check the history of the app.',
}

export type Settled = Settlement | { readonly problem: SettleProblem }

type Order = {
  readonly id: string
  readonly clientId: string
  readonly throughDay: string
  readonly reference: string
  /** The amount that the operator confirmed; undefined settles any amount. */
  readonly amountMinor?: bigint | undefined
}

/** The id binds its content: a form sent twice gets the first settlement, and other content is refused. */
export async function settleApp(service: WithDb, actor: Actor, order: Order): Promise<Settled> {
  const { id, clientId, throughDay, reference, amountMinor } = order
  const isSame = (known: Settlement) =>
    known.reverses === null &&
    known.throughDay === throughDay &&
    known.reference === reference &&
    (amountMinor === undefined || known.amountMinor === amountMinor)
  return await changeSettlements(service, actor, { id, clientId, isSame }, 'settlement.made', async (tx) => {
    const { last, owedMinor, closedDay } = await readOwed(tx, clientId, throughDay)
    if (throughDay > closedDay) return 'not-closed'
    if (last && throughDay <= last.throughDay) return 'settled'
    if (owedMinor === 0n) return 'nothing'
    if (amountMinor !== undefined && amountMinor !== owedMinor) return 'changed'
    const fromDay = last ? dayAfter(last.throughDay) : null
    return { id, clientId, fromDay, throughDay, amountMinor: owedMinor, reference, reverses: null }
  })
}

type Reversal = Pick<Order, 'id' | 'clientId'> & { readonly reverses: string; readonly reason: string }

/** Reverses only the newest settlement, so that periods have no gaps. */
export async function reverseSettlement(service: WithDb, actor: Actor, order: Reversal): Promise<Settled> {
  const { id, clientId, reverses, reason: reference } = order
  const isSame = (known: Settlement) => known.reverses === reverses && known.reference === reference
  return await changeSettlements(service, actor, { id, clientId, isSame }, 'settlement.reversed', async (tx) => {
    const last = await store.findLastSettlement(tx, clientId)
    if (last?.id !== reverses) return 'none'
    const { fromDay, throughDay } = last
    return { id, clientId, fromDay, throughDay, amountMinor: -last.amountMinor, reference, reverses }
  })
}

/** Holds the app's lock: the second of two concurrent changes sees the first. */
async function changeSettlements(
  service: WithDb,
  actor: Actor,
  { id, clientId, isSame }: Pick<Order, 'id' | 'clientId'> & { isSame: (known: Settlement) => boolean },
  action: string,
  decide: (tx: Transaction) => Promise<Omit<NewSettlement, 'number' | 'madeBy'> | SettleProblem>,
): Promise<Settled> {
  return await transact(service.db, async (tx): Promise<Settled> => {
    if (!(await store.lockApp(tx, clientId))) return { problem: 'unknown-app' }
    const known = await store.findSettlement(tx, id)
    if (known) return known.clientId === clientId && isSame(known) ? known : { problem: 'reused' }
    const decided = await decide(tx)
    if (typeof decided === 'string') return { problem: decided }
    const number = (await store.countSettlements(tx, clientId)) + 1
    // The lock is on this app only: a form with the same id may settle another app at the same time.
    if (!(await store.insertSettlement(tx, { ...decided, number, madeBy: actor.name }))) return { problem: 'reused' }
    const { throughDay, amountMinor, reference } = decided
    const detail = { number, throughDay, amountMinor: String(amountMinor), reference }
    await recordAudit(tx, actor, action, `app:${clientId}`, detail)
    return (await store.findSettlement(tx, id))!
  })
}

export function isDay(text: string): boolean {
  return /^20\d\d-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text
}

function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
}
