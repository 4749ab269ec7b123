/** Signed states of the log. */
import { parseCheckpoint, parseNote, type Checkpoint } from '../../../sdk/verify/note.ts'
import { isConsistent } from '../../../sdk/verify/tree.ts'
import { consistencyParts, rootOf } from '../../proof/merkle.ts'
import { checkpointText, publishedKey, signNote } from '../../proof/sign-note.ts'
import { getDatabaseTime, type Queryable } from '../../store/connection/database.ts'
import { findNewestCheckpoint, insertCheckpoint, readLogParts, type LogState } from '../../store/proofs/proof-log.ts'
import { confirmSql } from '../../store/writer/connection.ts'
import { keyIdOf } from '../secrets/seal.ts'
import type { Service } from '../service.ts'
import { requestPublications } from './request-publications.ts'

export type Sealing = Pick<Service, 'db' | 'config' | 'secrets' | 'log'>

/** The log no longer begins with what was signed: rows of it were changed or removed. Nothing more is signed. */
class LogRewritten extends Error {
  override name = 'LogRewritten'
}

/** The place of a log's key among the sealed texts. */
const logKeyContext = (id: string) => ({ purpose: 'log-key', id })

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

export async function sealLogSeed(
  { secrets }: Pick<Sealing, 'secrets'>,
  id: string,
  seed: Uint8Array,
): Promise<string> {
  return await secrets.seal(Buffer.from(seed).toString('base64'), logKeyContext(id))
}

/** Whether this process can sign; a lost key is replaced. Another one may have the key that seals the log's. */
export async function canSign({ secrets }: Pick<Sealing, 'secrets'>, { sealedKey }: LogState): Promise<boolean> {
  if (sealedKey === null) return true
  const keyId = keyIdOf(sealedKey)
  return (await secrets.knownKeys()).some(({ id }) => id === keyId)
}

/** The key that verifiers need, as one line. */
export async function readPublicKey(sealing: Pick<Sealing, 'config' | 'secrets'>, log: LogState): Promise<string> {
  return await publishedKey(logOrigin(sealing, log), await readLogSeed(sealing, log))
}

/** The caller has committed the leaves. */
export async function signCheckpoint(sealing: Sealing, log: LogState): Promise<void> {
  const { db } = sealing
  const origin = logOrigin(sealing, log)
  const { size } = log.peaks
  const newest = await findNewestCheckpoint(db.pool, origin)
  if (newest && newest.size >= size) return await requestPublications(sealing, newest)
  if (size === 0) return
  const signed = { size, root: rootOf(log.peaks) }
  if (newest && !(await continues(db.pool, parseSigned(newest.note), signed)))
    throw new LogRewritten(`The log of ${size} leaves does not continue the signed one of ${newest.size}.`)
  // A standby that takes over must have everything that was signed.
  await db.pool.query(confirmSql)
  const text = checkpointText({ origin, ...signed, signedAt: await getDatabaseTime(db.pool) })
  const note = await signNote(text, origin, await readLogSeed(sealing, log))
  // Of two processes, one signs this size: only what is stored is published.
  await insertCheckpoint(db.pool, { origin, size, note })
  await requestPublications(sealing, { origin, size })
}

/** Throws if the text is no note: those in the database were written by the service. */
export function parseSigned(note: string): Checkpoint {
  const parsed = parseNote(note)
  const signed = parsed && parseCheckpoint(parsed.text)
  if (!signed) throw new LogRewritten('A signed state of the log in the database is not one.')
  return signed
}

/** Whether the later log begins with the earlier one, by the stored hashes. */
async function continues(
  db: Queryable,
  earlier: Pick<Checkpoint, 'size' | 'root'>,
  later: Pick<Checkpoint, 'size' | 'root'>,
): Promise<boolean> {
  const path = await readLogParts(db, consistencyParts(earlier.size, later.size))
  return await isConsistent({ earlier, later, path })
}
