/** Signed states of the log. */
import { rootOf } from '../../proof/merkle.ts'
import { checkpointText, signNote } from '../../proof/sign-note.ts'
import { insertCheckpoint, type LogState } from '../../store/proofs/proof-log.ts'
import type { Service } from '../service.ts'

export type Sealing = Pick<Service, 'db' | 'config' | 'secrets' | 'log'>

/** The place of a log's key among the sealed texts. */
export const logKeyContext = (id: string) => ({ purpose: 'log-key', id })

/** Names the log. It has the incarnation: the log of a restored copy goes on under another name. */
export function logOrigin({ config }: Pick<Sealing, 'config'>, { id }: Pick<LogState, 'id'>): string {
  return `${new URL(config.publicUrl).host}/books/${id}`
}

/** The seed of the log's key. The database alone does not reveal it. */
export async function readLogSeed(
  { secrets }: Pick<Sealing, 'secrets'>,
  { id, sealedKey }: LogState,
): Promise<Uint8Array> {
  if (sealedKey === null) throw new Error('The log has no key.')
  return new Uint8Array(Buffer.from(await secrets.unseal(sealedKey, logKeyContext(id)), 'base64'))
}

/** The caller has committed the leaves, so a synchronous standby has them. */
export async function signCheckpoint(sealing: Sealing, log: LogState): Promise<void> {
  const origin = logOrigin(sealing, log)
  const { size } = log.peaks
  if (size === 0) return
  const note = await signNote(checkpointText(origin, size, rootOf(log.peaks)), origin, await readLogSeed(sealing, log))
  await insertCheckpoint(sealing.db.pool, { origin, size, note })
}
