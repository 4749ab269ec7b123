import { ProcessorUnavailable, type Refusal } from '../src/cards/processor.ts'
import { nextDueAt, type DeliveryMode } from './events.ts'
import {
  advance,
  decodePayment,
  encodePayment,
  type ChangeContext,
  type SandboxPayment,
  type Transition,
} from './payment.ts'
import { settingsId } from './settings.ts'
import type { SandboxRow, SandboxStore } from './payment-store.ts'

export type SandboxDeps = {
  readonly store: SandboxStore
  /** A function, because the port may be known only once the service listens. */
  readonly webhookUrl: () => string
  readonly webhookSecret: string
  readonly now: () => Date
  /** Unguessable, letters and digits only: client secrets contain it. */
  readonly newId: () => string
  /** Where the sandbox's pages are mounted, `/sandbox`. */
  readonly basePath: string
  readonly processingMs?: number
  readonly disputeAfterMs?: number
  readonly lateMs?: number
}

export async function findPayment(store: SandboxStore, id: string): Promise<SandboxPayment | undefined> {
  const row = await findRow(store, id)
  return row && decodePayment(row.document)
}

/** An id comes from a URL, which a caller may forge. PostgreSQL text cannot hold a NUL. */
async function findRow(store: SandboxStore, id: string): Promise<SandboxRow | undefined> {
  return /^\w{1,100}$/.test(id) && id !== settingsId ? await store.find(id) : undefined
}

export async function listPayments(store: SandboxStore, limit: number): Promise<SandboxPayment[]> {
  const rows = await store.listNewest(limit)
  return rows.filter((row) => row.id !== settingsId).map((row) => decodePayment(row.document))
}

/** False when a payment with this id exists. */
export async function insertPayment(store: SandboxStore, payment: SandboxPayment): Promise<boolean> {
  return store.put(rowOf(payment, 1))
}

/**
 * Reads the payment, applies what is due and then the change, and writes with compare-and-set. Starts again when another writer
 * was first: of two concurrent refunds, the second sees the first. Undefined when there is no such payment.
 */
export async function changePayment(
  deps: SandboxDeps,
  mode: DeliveryMode,
  id: string,
  change: Transition,
): Promise<SandboxPayment | Refusal | undefined> {
  for (let tries = 0; tries < 100; tries += 1) {
    const row = await findRow(deps.store, id)
    if (!row) return undefined
    const stored = decodePayment(row.document)
    const context = contextOf(deps, mode)
    const changed = change(advance(stored, context), context)
    if ('refused' in changed || changed === stored) return changed
    if (await deps.store.put(rowOf(changed, row.version + 1))) return changed
  }
  throw new ProcessorUnavailable('busy', 'the payment is being changed by too many at once')
}

function contextOf(deps: SandboxDeps, mode: DeliveryMode): ChangeContext {
  const { newId, processingMs = 5_000, disputeAfterMs = 5_000, lateMs = 20_000 } = deps
  return { now: deps.now().getTime(), newId, mode, processingMs, disputeAfterMs, lateMs }
}

function rowOf(payment: SandboxPayment, version: number): SandboxRow & { readonly dueAt: Date | undefined } {
  const dueAt = nextDueAt(payment)
  return {
    id: payment.id,
    version,
    document: encodePayment(payment),
    createdAt: new Date(payment.createdAt),
    dueAt: dueAt === undefined ? undefined : new Date(dueAt),
  }
}
