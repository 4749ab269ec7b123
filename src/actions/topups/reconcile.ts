/**
 * Compares the card processor's bookings in our account with the ledger's entries of the same payments, one day at a time and in
 * the background. No transaction is open during a call to the processor.
 */
import { Gauge, type Registry } from 'prom-client'
import type { Report } from '../../cards/stripe/report-file.ts'
import {
  compareDay,
  finishDay,
  finishDayByFile,
  getReadableDays,
  getReconciliationState,
  insertDueDays,
  listOpenDifferences,
  listUnfinishedDays,
  lockReconciliation,
  resetDay,
  updateDayCursor,
  updateDayProblem,
  updateDifferenceResolved,
  type OpenDifference,
  type ReadableDays,
  type ReconciliationDay,
  type ReconciliationState,
} from '../../store/books/reconciliation.ts'
import {
  countContradictions,
  dropUnconfirmedLines,
  insertFileLines,
  updateContradictionResolved,
  upsertLines,
  type Contradiction,
} from '../../store/books/processor-lines.ts'
import { transact } from '../../store/connection/database.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service } from '../service.ts'

const dayMs = 86_400_000
/** Includes the first hour of the next day, because the two clocks may differ. */
const graceMs = 3_600_000

/** A periodic job: adds the days that have ended to the queue. */
export async function planDays(service: Service): Promise<void> {
  if (service.cards) await insertDueDays(service.db.pool, service.config.processorLinesDays)
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
    await transact(db, async (tx) => {
      await lockReconciliation(tx)
      await upsertLines(tx, cards!.page.kind, lines)
    })
    await updateDayCursor(db.pool, day, next ?? null)
    after = next
  } while (after !== undefined)
  return true
}

async function finishAndReport(service: Service, day: string, source: 'processor' | 'file'): Promise<void> {
  const before = new Set((await listOpenDifferences(service.db.pool, 10_000)).map(nameOf))
  const found = await transact(service.db, async (tx) => {
    await lockReconciliation(tx)
    if (source === 'file') await finishDayByFile(tx, day)
    else {
      await finishDay(tx, day)
      const dropped = await dropUnconfirmedLines(tx, day)
      if (dropped > 0) service.log.error('the processor has not booked lines of a file', { day, lines: dropped })
    }
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
  await insertDueDays(service.db.pool, service.config.processorLinesDays)
  const wanted = days ?? (await listUnfinishedDays(service.db.pool)).map(({ day }) => day)
  for (const day of wanted) {
    signal.throwIfAborted()
    await readDay(service, day, null, Infinity)
    await finishAndReport(service, day, 'processor')
  }
  return [...wanted]
}

export function readableDays(service: Service): Promise<ReadableDays> {
  return getReadableDays(service.db.pool, service.config.processorLinesDays)
}

/** Adds a day to the queue, to be read again. Undefined when it is, otherwise the days that can be read. */
export async function orderDay(service: Service, actor: Actor, day: string): Promise<ReadableDays | undefined> {
  const days = await readableDays(service)
  if (day < days.first || day > days.lastOver) return days
  await transact(service.db, async (tx) => {
    await recordAudit(tx, actor, 'reconciliation.ordered', `reconciliation:${day}`, {})
    await resetDay(tx, day)
  })
  return undefined
}

const linesPerStep = 1_000
/** More than this is a file of another account. */
const maxContradictions = 100

export type FileReading = { readonly days: readonly string[]; readonly contradictions: number } | 'another-account'

/**
 * Stores the lines of the file that the processor's API does not contradict, and compares its days that are over. Each
 * contradiction is a difference with the operator's name. The same file again, or at the same time, changes nothing.
 */
export async function reconcileFile(service: Service, actor: Actor, { lines, days }: Report): Promise<FileReading> {
  const { db, log } = service
  const steps = Array.from({ length: Math.ceil(lines.length / linesPerStep) }, (_, i) =>
    lines.slice(i * linesPerStep, (i + 1) * linesPerStep),
  )
  let expected = 0
  for (const step of steps) expected += await countContradictions(db.pool, step)
  if (expected > maxContradictions) return 'another-account'
  const detail = { lines: lines.length, days, contradictions: expected }
  await recordAudit(db.pool, actor, 'reconciliation.file-read', 'reconciliation', detail)
  const file = { processor: service.cards?.page.kind ?? 'stripe', by: actor.name }
  let contradictions = 0
  for (const step of steps)
    contradictions += await transact(db, async (tx) => {
      await lockReconciliation(tx)
      return await insertFileLines(tx, file, step)
    })
  if (contradictions > 0) log.error('a file contradicts the card processor', { by: actor.name, lines: contradictions })
  const { lastOver } = await readableDays(service)
  const over = days.filter((day) => day <= lastOver)
  for (const day of over) await finishAndReport(service, day, 'file')
  await showState(service)
  return { days: over, contradictions: expected }
}

/** False when another operator resolved it first. */
export async function resolveContradiction(
  service: Service,
  actor: Actor,
  { id, lineId, day }: Contradiction,
  reason: string,
): Promise<boolean> {
  return await transact(service.db, async (tx) => {
    if (!(await updateContradictionResolved(tx, id, { by: actor.name, reason }))) return false
    await recordAudit(tx, actor, 'reconciliation.contradiction-resolved', `reconciliation:${day}`, { lineId, reason })
    return true
  })
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
