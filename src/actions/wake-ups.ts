/** Starts work that was just added in this process, without waiting for the next poll of the queue. */
import type { WorkKind } from '../store/work/work.ts'

export type WakeUps = {
  /** Call it after the commit. Without a runner in this process another one finds the work. */
  readonly wake: (kind: WorkKind) => void
  readonly onWake: (kind: WorkKind, start: () => void) => void
}

export function openWakeUps(): WakeUps {
  const starts = new Map<WorkKind, () => void>()
  return {
    wake: (kind) => starts.get(kind)?.(),
    onWake: (kind, start) => void starts.set(kind, start),
  }
}
