/** Tries at an operator's password or code, counted in the database before they are judged: one count for all processes. */
import { upsertLimit } from '../../store/limits.ts'
import type { Service } from '../service.ts'
import { hashSecret } from '../tokens.ts'

const windowMs = 15 * 60_000

/** How long to wait, and whether this is the first try that has to. */
export type TooMany = { readonly seconds: number; readonly isFirst: boolean }

/** Undefined when the try may be judged. Tries that are refused count too, but the window does not move. */
export async function countTry(
  service: Service,
  keys: readonly (readonly [key: Buffer, limit: number])[],
): Promise<TooMany | undefined> {
  let refusal: TooMany | undefined
  for (const [key, limit] of keys) {
    const { count, secondsLeft } = await upsertLimit(service.db.pool, key, windowMs)
    if (count > limit) refusal ??= { seconds: secondsLeft, isFirst: count === limit + 1 }
  }
  return refusal
}

/** Hashed, because people type passwords into the field for emails. */
export function keyOf(kind: string, ...parts: string[]): Buffer {
  return hashSecret(['operator', kind, ...parts].join('\0'))
}
