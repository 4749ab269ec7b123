/**
 * Compares the card processor's bookings in our account with the ledger's entries of the same payments, one day at a time and in
 * the background. No transaction is open during a call to the processor.
 */
import { Gauge, type Registry } from 'prom-client'
import type { AccountLine } from '../../cards/processor.ts'
import {
  compareDay,
  finishDay,
  getReconciliationState,
  insertDueDays,
  isDayOver,
  listOpenDifferences,
  listUnfinishedDays,
  resetDay,
  updateDayCursor,
  updateDayProblem,
  updateDifferenceResolved,
  upsertLines,
  type OpenDifference,
  type ReconciliationDay,
  type ReconciliationState,
} from '../../store/books/reconciliation.ts'
import { transact } from '../../store/connection/database.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'

const dayMs = 86_400_000
/** Includes the first hour of the next day, because the two clocks may differ. */
const graceMs = 3_600_000

/** A periodic job: adds the days that have ended to the queue. */
export async function planDays(service: Service): Promise<void> {
  if (service.cards) await insertDueDays(service.db.pool)
  await showState(service)
}

/** False when the time was up before the whole day was read; the next attempt continues. */
export async function reconcileDay(
  service: Service,
  { day, cursor }: ReconciliationDay,
  forMs: number,
): Promise<boolean> {
  const isRead = await readDay(service, day, cursor, performance.now() + forMs)
  if (isRead) await finishAndReport(service, day, 'processor')
  else await updateDayProblem(service.db.pool, day, null)
  await showState(service)
  return isRead
}

/** Stores each page before it asks for the next. False when the time was up before the last page. */
async function readDay(service: Service, day: string, cursor: string | null, untilMs: number): Promise<boolean> {
  const { cards, db, config } = service
  const from = new Date(`${day}T00:00:00Z`)
  const span = { from, until: new Date(from.getTime() + dayMs + graceMs), currency: config.currency.code }
  let after = cursor ?? undefined
  do {
    if (performance.now() > untilMs) return false
    const { lines, next } = await cards!.listLines({ ...span, after })
    await upsertLines(db.pool, cards!.page.kind, lines)
    await updateDayCursor(db.pool, day, next ?? null)
    after = next
  } while (after !== undefined)
  return true
}

async function finishAndReport(service: Service, day: string, source: 'processor' | 'file'): Promise<void> {
  const before = new Set((await listOpenDifferences(service.db.pool, 10_000)).map(nameOf))
  const found = await transact(service.db, async (tx) => {
    await finishDay(tx, day, source)
    const processor = service.cards?.page.kind ?? 'stripe'
    return await compareDay(tx, day, { processor, linesDays: service.config.processorLinesDays })
  })
  for (const difference of found) {
    const { paymentIntentId, kind, processorMinor, ledgerMinor } = difference
    if (before.has(nameOf(difference))) continue
    const amounts = { processorMinor: String(processorMinor), ledgerMinor: String(ledgerMinor) }
    service.log.error('the processor and the ledger differ', { day, paymentIntentId, kind, ...amounts })
  }
}

function nameOf({ paymentIntentId, kind }: Pick<OpenDifference, 'paymentIntentId' | 'kind'>): string {
  return `${paymentIntentId} ${kind}`
}

/** Runs while an operator waits. Reads these days, or all unfinished ones, from their start. */
export async function reconcileNow(
  service: Service,
  actor: Actor,
  days: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  await recordAudit(service.db.pool, actor, 'reconciliation.ordered', 'reconciliation', {
    days: days ?? 'all that wait',
  })
  await insertDueDays(service.db.pool)
  const wanted = days ?? (await listUnfinishedDays(service.db.pool)).map(({ day }) => day)
  for (const day of wanted) {
    signal.throwIfAborted()
    await readDay(service, day, null, Infinity)
    await finishAndReport(service, day, 'processor')
  }
  return [...wanted]
}

/** Adds a day to the queue, to be read again. False when the day is not over. */
export async function orderDay(service: Service, actor: Actor, day: string): Promise<boolean> {
  if (!(await isDayOver(service.db.pool, day))) return false
  await transact(service.db, async (tx) => {
    await recordAudit(tx, actor, 'reconciliation.ordered', `reconciliation:${day}`, {})
    await resetDay(tx, day)
  })
  return true
}

/** Stores all lines of the file, compares its days that are over, and returns those days. */
export async function reconcileFile(service: Service, actor: Actor, lines: readonly AccountLine[]): Promise<string[]> {
  const days = [...new Set(lines.map(({ createdAt }) => createdAt.toISOString().slice(0, 10)))].sort()
  await recordAudit(service.db.pool, actor, 'reconciliation.file-read', 'reconciliation', { lines: lines.length, days })
  for (let i = 0; i < lines.length; i += 1_000)
    await upsertLines(service.db.pool, service.cards?.page.kind ?? 'stripe', lines.slice(i, i + 1_000))
  const over: string[] = []
  for (const day of days) if (await isDayOver(service.db.pool, day)) over.push(day)
  for (const day of over) await finishAndReport(service, day, 'file')
  return over
}

/** False when the difference is no longer open, or has changed. */
export async function resolveDifference(
  service: Service,
  actor: Actor,
  difference: OpenDifference,
  reason: string,
): Promise<boolean> {
  const { paymentIntentId, kind, day, processorMinor, ledgerMinor } = difference
  return await transact(service.db, async (tx) => {
    if (!(await updateDifferenceResolved(tx, difference, { by: actor.name, reason }))) return false
    const amounts = { processorMinor: String(processorMinor), ledgerMinor: String(ledgerMinor) }
    const detail = { paymentIntentId, kind, ...amounts, reason }
    await recordAudit(tx, actor, 'reconciliation.difference-settled', `reconciliation:${day}`, detail)
    return true
  })
}

const shown = new WeakMap<Registry, (state: ReconciliationState) => void>()

async function showState({ db, metrics: { registry } }: Service): Promise<void> {
  const state = await getReconciliationState(db.pool)
  const show = shown.get(registry) ?? openMetrics(registry)
  shown.set(registry, show)
  show(state)
}

/** Every process reports the same state: the largest value is right, the sum is not. */
function openMetrics(registry: Registry): (state: ReconciliationState) => void {
  const registers = [registry]
  const differences = new Gauge({
    name: 'billfold_reconciliation_differences',
    help: 'Payments of which the card processor and the ledger say otherwise; anything but 0 needs a person.',
    aggregator: 'max',
    registers,
  })
  const age = new Gauge({
    name: 'billfold_reconciliation_age_seconds',
    help: 'How long ago a day was last held against the card processor.',
    aggregator: 'max',
    registers,
  })
  age.reset()
  return ({ openDifferences, lastFinishedAt, now }) => {
    differences.set(openDifferences)
    if (lastFinishedAt) age.set((now.getTime() - lastFinishedAt.getTime()) / 1_000)
  }
}
