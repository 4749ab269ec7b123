/** Recognizes the log's own checkpoints. */
import { isEqual } from '../../../sdk/verify/tree.ts'
import { findSigners, parseCheckpoint, parseNote, parseSignerKey } from '../../../sdk/verify/note.ts'
import type { LogState, StoredCheckpoint } from '../../store/proofs/proof-log.ts'
import { findNote } from '../../store/proofs/publications.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { readPublicKey, type Sealing } from './checkpoint.ts'

export type OwnCheckpoint = StoredCheckpoint & { readonly root: Uint8Array }

/** The checkpoint in this text if the log signed it under its present name. */
export async function readOwnCheckpoint(
  sealing: Pick<Sealing, 'config' | 'secrets'>,
  log: LogState,
  text: string,
): Promise<OwnCheckpoint | undefined> {
  const note = parseNote(text)
  const checkpoint = note && parseCheckpoint(note.text)
  const key = await parseSignerKey(await readPublicKey(sealing, log))
  if (!note || !checkpoint || !key || checkpoint.origin !== key.name) return undefined
  const signers = await findSigners(note, [key])
  return signers.length === 0 ? undefined : { ...checkpoint, note: text }
}

/** Whether the log has this state. Its time may be another: a signature that was published and then lost is made again. */
export async function hasCheckpoint(db: Queryable, { origin, size, root }: OwnCheckpoint): Promise<boolean> {
  const stored = parseNote((await findNote(db, { origin, size })) ?? '')
  const known = stored && parseCheckpoint(stored.text)
  return known !== null && isEqual(known.root, root)
}
