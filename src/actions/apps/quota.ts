/** How much an app may have under way in this process at the same time. Beyond it, its calls are refused; those of other apps are not. */
import type { App } from '../../store/apps.ts'

export type Kind = 'operations' | 'reads'

export type Quota = {
  /**
   * Counts work as under way until `leave` is called, which may be done once. Refused, it returns the time to wait. An app that
   * has nothing under way is never refused, so that no request is too large for its bound.
   */
  readonly enter: (app: App, kind: Kind, count: number, timeLeftMs: number) => Entry
  readonly underWay: (clientId: string, kind: Kind) => number
}

export type Entry =
  | { readonly leave: () => void; readonly retryAfterSeconds?: never }
  | { readonly leave?: never; readonly retryAfterSeconds: number }

export type QuotaOptions = {
  /** The bound on operations of an app that has no bound set by an operator. The bound on reads is a quarter of it. */
  readonly maxOperations: number
  /** The expected time until the last of that many further operations of the app is answered. */
  readonly estimateMs: (clientId: string, count: number) => number
  readonly onRefused: (app: App, kind: Kind) => void
}

const maxRetryAfterSeconds = 5

export function openQuota({ maxOperations, estimateMs, onRefused }: QuotaOptions): Quota {
  // One entry for each app that has called: callers without valid credentials never get here.
  const underWay = new Map<string, Record<Kind, number>>()

  return {
    underWay: (clientId, kind) => underWay.get(clientId)?.[kind] ?? 0,
    enter: (app, kind, count, timeLeftMs) => {
      let mine = underWay.get(app.clientId)
      if (!mine) underWay.set(app.clientId, (mine = { operations: 0, reads: 0 }))
      const bound = (app.maxOperations ?? maxOperations) / (kind === 'reads' ? 4 : 1)
      if (mine[kind] > 0) {
        // Work that would expire in the queue is refused before it takes a place there.
        const waitMs = kind === 'operations' ? estimateMs(app.clientId, count) : 0
        if (mine[kind] + count > bound || waitMs > timeLeftMs) {
          onRefused(app, kind)
          return { retryAfterSeconds: Math.min(maxRetryAfterSeconds, Math.max(1, Math.ceil(waitMs / 1_000))) }
        }
      }
      mine[kind] += count
      let isUnderWay = true
      return {
        leave: () => {
          if (isUnderWay) mine[kind] -= count
          isUnderWay = false
        },
      }
    },
  }
}
