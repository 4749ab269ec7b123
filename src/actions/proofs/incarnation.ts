/**
 * A database that was restored, copied or failed over may have lost what was signed. Its log goes on under another name, and its next
 * leaf says so: the old name, the reason, and the last checkpoint that is known of it. A reader of both then sees a fork that was
 * announced, and two versions of the books under one name stay what they are: proof of a rewrite.
 */
import { randomBytes } from 'node:crypto'
import { parseCheckpoint, parseNote } from '../../../sdk/verify/note.ts'
import { incarnationLeaf } from '../../proof/incarnation-leaf.ts'
import { hashLeaf } from '../../proof/merkle.ts'
import { newKeySeed } from '../../proof/sign-note.ts'
import type { Transaction } from '../../store/connection/database.ts'
import { insertIncarnation, readHome, updateHome, type Incarnation } from '../../store/proofs/incarnations.ts'
import { appendLeaves, findNewestCheckpoint, type LogState } from '../../store/proofs/proof-log.ts'
import { recordAudit } from '../audit.ts'
import { logOrigin, readLogSeed, sealLogSeed, type Sealing } from './checkpoint.ts'
import { hasCheckpoint, type OwnCheckpoint } from './own-checkpoint.ts'
import { knownOutside } from './outside.ts'

const system = { name: 'system', address: null }

export const newIncarnationId = () => randomBytes(8).toString('hex')

/**
 * The caller has locked the log, after reading what is known of it outside. Returns the log under the name that it has from now on.
 */
export async function enterIncarnation(tx: Transaction, sealing: Sealing, log: LogState): Promise<LogState> {
  const outside = knownOutside(sealing, log)
  const home = await readHome(tx)
  if (log.home === null) await updateHome(tx, home)
  const reason = await reasonFor(tx, sealing, log, { home, outside })
  return reason ? await beginIncarnation(tx, sealing, { ...log, home }, reason, outside) : { ...log, home }
}

async function reasonFor(
  tx: Transaction,
  sealing: Sealing,
  log: LogState,
  { home, outside }: { home: string; outside: OwnCheckpoint | undefined },
): Promise<Incarnation['reason'] | undefined> {
  if (log.sealedKey === null) return 'key-lost'
  if (log.home !== null && log.home !== home) return 'moved'
  if (outside?.origin !== logOrigin(sealing, log)) return undefined
  return (await hasCheckpoint(tx, outside)) ? undefined : 'behind'
}

async function beginIncarnation(
  tx: Transaction,
  sealing: Sealing,
  log: LogState & { readonly home: string },
  reason: Incarnation['reason'],
  outside: OwnCheckpoint | undefined,
): Promise<LogState> {
  const own = await findNewestCheckpoint(tx, logOrigin(sealing, log))
  const last = outside && outside.size >= (own?.size ?? 0) ? outside : own
  const checkpoint = last ? parseCheckpoint(parseNote(last.note)?.text ?? '') : null
  const id = newIncarnationId()
  const start = { id, previous: log.id, reason }
  const hash = hashLeaf(incarnationLeaf({ ...start, last: checkpoint }))
  const seed = log.sealedKey === null ? newKeySeed() : await readLogSeed(sealing, log)
  const sealedKey = await sealLogSeed(sealing, id, seed)
  const leaf = { kind: 'incarnation', subject: null, size: null, hash } as const
  const { first: number, peaks } = await appendLeaves(tx, log.peaks, [leaf])
  await insertIncarnation(tx, { ...start, number, note: last?.note ?? null }, { home: log.home, sealedKey })
  const facts = { ...start, size: log.peaks.size, lastSignedSize: checkpoint?.size ?? null }
  await recordAudit(tx, system, 'log.incarnation-began', 'log', facts)
  sealing.log.warn('the log of the books goes on under another name', facts)
  return { ...log, id, sealedKey, peaks }
}
