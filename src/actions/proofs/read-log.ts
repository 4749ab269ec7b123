/** What of the log is public: its newest signed state, its key and its hashes. */
import { findLog, findNewestCheckpoint, readHashes } from '../../store/proofs/proof-log.ts'
import type { Service } from '../service.ts'
import { canSign, logOrigin, readPublicKey } from './checkpoint.ts'

type Reading = Pick<Service, 'db' | 'config' | 'secrets'>

/** Undefined before the first. */
export async function readNewestNote(reading: Reading): Promise<string | undefined> {
  const log = await findLog(reading.db.pool)
  return log && (await findNewestCheckpoint(reading.db.pool, logOrigin(reading, log)))?.note
}

/** Undefined before the first state, and in a process without the key. */
export async function readLogKey(reading: Reading): Promise<string | undefined> {
  const log = await findLog(reading.db.pool)
  return log && (await canSign(reading, log)) ? await readPublicKey(reading, log) : undefined
}

/** Of every eighth level of the tree: 256 hashes, or the first `width` of them. */
export type WantedTile = { readonly level: number; readonly number: number; readonly width: number }

/** Undefined if the newest signed state does not have all of it. */
export async function readTile(
  reading: Reading,
  { level, number, width }: WantedTile,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { pool } = reading.db
  const log = await findLog(pool)
  const checkpoint = log && (await findNewestCheckpoint(pool, logOrigin(reading, log)))
  if (!checkpoint) return undefined
  const first = number * 256
  if (first + width > Math.floor(checkpoint.size / 256 ** level)) return undefined
  return new Uint8Array(Buffer.concat(await readHashes(pool, { level: level * 8, first, count: width })))
}
