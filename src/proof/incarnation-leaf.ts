/** The leaf with which the log goes on under another name. */
import { toBase64 } from '../../sdk/verify/note.ts'

export type IncarnationStart = {
  readonly id: string
  readonly previous: string
  readonly reason: string
  /** The last state that is known to have been signed under the name before. */
  readonly last: { readonly size: number; readonly root: Uint8Array } | null
}

export function incarnationLeaf({ id, previous, reason, last }: IncarnationStart): Uint8Array {
  const known = last ? [last.size, toBase64(last.root)] : ['-', '-']
  return new TextEncoder().encode(['billfold-incarnation/v1', id, previous, reason, ...known].join('\n'))
}
