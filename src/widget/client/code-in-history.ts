/**
 * Keeps the step that waits for a mailed code in the browser's history entry, beside the session. After a reload the code in the
 * mail still works: it belongs to the handle that this browser holds.
 */
import { writeEntry } from './history-entry.ts'

export type CodeStep = {
  readonly step: 'confirm' | 'reset'
  readonly email: string
  readonly handle: string | undefined
}

/** The lifetime of a code. A tab that is restored later begins with the sign-in form. */
const keptMs = 15 * 60_000

export function storeCodeStep(code: CodeStep | null): void {
  const { code: _, ...rest } = (history.state ?? {}) as Record<string, unknown>
  writeEntry('replaceState', code ? { ...rest, code: { ...code, storedAt: Date.now() } } : rest)
}

export function storedCodeStep(): CodeStep | null {
  const { code } = (history.state ?? {}) as { code?: Partial<Record<keyof CodeStep | 'storedAt', unknown>> }
  const { step, email, handle, storedAt } = code ?? {}
  if ((step !== 'confirm' && step !== 'reset') || typeof email !== 'string' || typeof handle !== 'string') return null
  const isRecent = typeof storedAt === 'number' && Math.abs(Date.now() - storedAt) < keptMs
  return isRecent ? { step, email, handle } : null
}
