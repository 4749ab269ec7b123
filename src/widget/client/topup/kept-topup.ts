/**
 * The payment and the need of the top-up page in the browser's history entry, beside the session: a reload and Back find them there,
 * and no address carries them.
 */
import type { PageData, TopupOffer } from '../../page-data.ts'
import { writeEntry } from '../history-entry.ts'
import type { Need } from './window.ts'

export type KeptPayment = {
  readonly paymentIntentId: string
  readonly amount: number
  /** The parent page already knows that it was paid. */
  readonly isReported?: boolean
}

type Kept = { payment?: Partial<Record<keyof KeptPayment, unknown>>; need?: Partial<Record<keyof Need, unknown>> }

const kept = () => (history.state ?? {}) as Kept

/** A new entry for a new step, so that Back returns to the step before. */
export function pushStep(): void {
  const { payment: _, ...rest } = kept()
  writeEntry('pushState', rest)
}

export function keepPayment(payment: KeptPayment): void {
  writeEntry('replaceState', { ...kept(), payment })
}

export function keptPayment(): KeptPayment | undefined {
  const { paymentIntentId, amount, isReported } = kept().payment ?? {}
  if (typeof paymentIntentId !== 'string' || typeof amount !== 'number') return undefined
  return { paymentIntentId, amount, isReported: isReported === true }
}

/** What the app says is missing, for the entry of the history when it leaves the address. */
export function needToKeep({ topup: { need, reason } }: PageData): { readonly need: Need } | undefined {
  return need === null ? undefined : { need: { amount: need, reason } }
}

export function keptNeed(): Pick<TopupOffer, 'need' | 'reason'> | undefined {
  const { amount, reason } = kept().need ?? {}
  if (typeof amount !== 'number') return undefined
  return { need: amount, reason: typeof reason === 'string' ? reason : null }
}

/** Another user's page begins without the first one's payment and need. */
export function dropKept(): void {
  const { payment: _, need: __, ...rest } = kept()
  writeEntry('replaceState', rest)
}

/** What is still missing of a need: less what became available since, and less what the bank is still processing. Null if nothing is. */
export function needLeft(
  need: { readonly amount: number; readonly available: number },
  now: { readonly available: number; readonly waiting: readonly { readonly amount: number }[] },
  decimals: number,
): number | null {
  const minor = (amount: number) => Math.round(amount * 10 ** decimals)
  const waiting = now.waiting.reduce((sum, { amount }) => sum + minor(amount), 0)
  const left = minor(need.amount) - (minor(now.available) - minor(need.available)) - waiting
  return left > 0 ? left / 10 ** decimals : null
}
