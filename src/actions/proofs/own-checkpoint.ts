/** Recognizes the log's own checkpoints. */
import { findSigners, parseCheckpoint, parseNote, parseSignerKey } from '../../../sdk/verify/note.ts'
import type { LogState, StoredCheckpoint } from '../../store/proofs/proof-log.ts'
import { readPublicKey, type Sealing } from './checkpoint.ts'

/** The checkpoint in this text if the log signed it under its present name. */
export async function readOwnCheckpoint(
  sealing: Pick<Sealing, 'config' | 'secrets'>,
  log: LogState,
  text: string,
): Promise<(StoredCheckpoint & { readonly root: Uint8Array }) | undefined> {
  const note = parseNote(text)
  const checkpoint = note && parseCheckpoint(note.text)
  const key = await parseSignerKey(await readPublicKey(sealing, log))
  if (!note || !checkpoint || !key || checkpoint.origin !== key.name) return undefined
  const signers = await findSigners(note, [key])
  return signers.length === 0 ? undefined : { ...checkpoint, note: text }
}
