/** What a kind of work is: how much of it runs at once, how long a run may take, and what a run comes to. */
import type { Service } from '../actions/service.ts'
import type { Piece, WorkKind } from '../store/work/work.ts'

export type Ended =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'again'
      readonly afterMs: number
      /** Why it failed; absent when the run did what it could and there is more to do. */
      readonly error?: string
      /** False when the attempt does not lengthen the back-off. */
      readonly isCounted?: boolean
      /** What the work needs does not answer: no more of this kind starts until the next poll. */
      readonly isAway?: boolean
    }
  | { readonly kind: 'given-up'; readonly error: string }

export const done: Ended = { kind: 'done' }

export type Kind = {
  readonly name: WorkKind
  /** Runs at once in one process. Other kinds have their own. */
  readonly concurrency: number
  /** Pieces of one run; it returns an end for each. */
  readonly batch: number
  readonly pollMs: number
  /** A run that takes longer counts as failed, and is not waited for. The lease outlives it. */
  readonly withinMs: number
  readonly leaseMs: number
  /** Given up by the claim, so that a process that dies never makes it run twice. */
  readonly isAtMostOnce: boolean
  /** After a run that threw. */
  readonly retryAfterMs: (attempts: number) => number
  readonly run: (service: Service, pieces: readonly Piece[]) => Promise<readonly Ended[]>
}

/** A run of one piece at a time. */
export function single(run: (service: Service, piece: Piece) => Promise<Ended>): Pick<Kind, 'batch' | 'run'> {
  return { batch: 1, run: async (service, [piece]) => [await run(service, piece!)] }
}

export const usual = { pollMs: 5_000, withinMs: 60_000, leaseMs: 90_000, isAtMostOnce: false } as const
