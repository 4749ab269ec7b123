/**
 * The payment and the need of the top-up page in the browser's history entry, beside the session: a reload and Back find them there,
 * and no address carries them.
 */
import { writeEntry } from '../history-entry.ts'

export type KeptPayment = {
  readonly paymentIntentId: string
  readonly amount: number
  /** The parent page already knows that it was paid. */
  readonly isReported?: boolean
}

/** What the app said was missing, and the balance at that time. */
export type KeptNeed = { readonly amount: number; readonly reason: string | null; readonly balance: number }

type Kept = { payment?: Partial<Record<keyof KeptPayment, unknown>>; need?: Partial<Record<keyof KeptNeed, unknown>> }

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

export function keepNeed(need: KeptNeed): void {
  writeEntry('replaceState', { ...kept(), need })
}

export function keptNeed(): KeptNeed | undefined {
  const { amount, reason, balance } = kept().need ?? {}
  if (typeof amount !== 'number' || typeof balance !== 'number') return undefined
  return { amount, balance, reason: typeof reason === 'string' ? reason : null }
}

/** Another user's page begins without the first one's payment and need. */
export function dropKept(): void {
  const { payment: _, need: __, ...rest } = kept()
  writeEntry('replaceState', rest)
}

/** What is still missing of a need: less what came since, and less what the bank is still processing. Null if nothing is. */
export function needLeft(
  need: { readonly amount: number; readonly balance: number },
  now: { readonly balance: number; readonly waiting: readonly { readonly amount: number }[] },
  decimals: number,
): number | null {
  const minor = (amount: number) => Math.round(amount * 10 ** decimals)
  const waiting = now.waiting.reduce((sum, { amount }) => sum + minor(amount), 0)
  const left = minor(need.amount) - (minor(now.balance) - minor(need.balance)) - waiting
  return left > 0 ? left / 10 ** decimals : null
}
