/** A kind of work: how much of it runs concurrently, how long a run may take, and how a run can end. */
import type { Service } from '../actions/service.ts'
import type { Piece, WorkKind } from '../store/work/work.ts'

export type Ended =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'again'
      readonly afterMs: number
      /** Why the run failed; absent when it did not fail and has more to do. */
      readonly error?: string
      /** False when the attempt does not lengthen the back-off. */
      readonly isCounted?: boolean
      /** A dependency does not answer: no more work of this kind starts until the next poll or wake-up. */
      readonly isAway?: boolean
    }
  | { readonly kind: 'given-up'; readonly error: string }

export const done: Ended = { kind: 'done' }

export type Kind = {
  readonly name: WorkKind
  /** Concurrent runs in one process. */
  readonly concurrency: number
  /** Pieces per run. The run returns an end for each. */
  readonly batch: number
  readonly pollMs: number
  /** A run that takes longer counts as failed, and the lane does not wait for it. The lease is longer. */
  readonly withinMs: number
  readonly leaseMs: number
  /** The claim itself gives the piece up, so that it never runs twice, even when the process dies. */
  readonly isAtMostOnce: boolean
  /** Pieces whose key begins with one of these and a slash are not claimed now. */
  readonly exceptOf?: () => readonly string[]
  /** The back-off after a run that threw. */
  readonly retryAfterMs: (attempts: number) => number
  readonly run: (service: Service, pieces: readonly Piece[]) => Promise<readonly Ended[]>
}

/** A run of one piece at a time. */
export function single(run: (service: Service, piece: Piece) => Promise<Ended>): Pick<Kind, 'batch' | 'run'> {
  return { batch: 1, run: async (service, [piece]) => [await run(service, piece!)] }
}

export const usual = { pollMs: 5_000, withinMs: 60_000, leaseMs: 90_000, isAtMostOnce: false } as const
