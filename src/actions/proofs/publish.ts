/**
 * Publishes the newest checkpoint to the targets of CHECKPOINTS. Each target is a separate piece of work: one that fails is tried
 * again with a growing wait, and keeps no other one waiting. One that comes back gets the newest checkpoint.
 */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { inTime } from '../../platform/in-time.ts'
import type { CheckpointTarget } from '../../platform/checkpoint-targets.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { findLog, findNewestCheckpoint, type LogState, type StoredCheckpoint } from '../../store/proofs/proof-log.ts'
import { findPublication } from '../../store/proofs/publications.ts'
import { upsertPublished, upsertUnpublished } from '../../store/proofs/publications.ts'
import { listIncarnations } from '../../store/proofs/incarnations.ts'
import { fetchPublic } from '../public-fetch.ts'
import { allowedBy, describeAnswer, describeFault } from '../webhooks/post-event.ts'
import { maskError } from '../webhooks/describe-endpoint.ts'
import { describeFileFault, readNewestFile, writeCheckpointFile } from './checkpoint-files.ts'
import { logOrigin, type Sealing } from './checkpoint.ts'
import { hasCheckpoint, readOwnCheckpoint } from './own-checkpoint.ts'

export type PublishResult =
  /** The target has the newest checkpoint. */
  | { readonly kind: 'published'; readonly size: number }
  | { readonly kind: 'nothing-signed' }
  /** The last attempt is not over, or the last checkpoint is too young for the next. */
  | { readonly kind: 'wait'; readonly afterMs: number }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'contradiction'; readonly error: string }

const withinMs = 20_000
const maxAnswerBytes = 16 * 1024
/** Proofs on request sign checkpoints too; a target gets at most one a minute. */
const betweenMs = 60_000

/** Writes to a mount that hangs cannot be cancelled. They are not repeated while one of them is under way. */
const underWay = new Set<string>()

/** With `isForced`, a target gets the checkpoint however young its last one is. */
export async function publishTo(
  sealing: Sealing,
  target: CheckpointTarget,
  { isForced = false } = {},
): Promise<PublishResult> {
  const { pool } = sealing.db
  const log = await findLog(pool)
  const newest = log && (await findNewestCheckpoint(pool, logOrigin(sealing, log)))
  if (!log || !newest) return { kind: 'nothing-signed' }
  const before = await findPublication(pool, target.id)
  if (before?.origin === newest.origin && before.size === newest.size && before.error === null)
    return { kind: 'published', size: newest.size }
  if (!isForced && before?.ageMs != null && before.error === null && before.ageMs < betweenMs)
    return { kind: 'wait', afterMs: betweenMs - before.ageMs }
  const result = await attempt(sealing, target, log, newest)
  await record(sealing, target, newest, result)
  return result
}

/** At once, for the command line. */
export async function publishEverywhere(
  sealing: Sealing,
): Promise<readonly (readonly [CheckpointTarget, PublishResult])[]> {
  const { checkpointTargets } = sealing.config
  return await Promise.all(
    checkpointTargets.map(async (target) => [target, await publishTo(sealing, target, { isForced: true })] as const),
  )
}

async function record(
  { db: { pool }, log }: Sealing,
  target: CheckpointTarget,
  newest: StoredCheckpoint,
  result: PublishResult,
) {
  if (result.kind === 'published') return await upsertPublished(pool, target.id, newest)
  if (result.kind !== 'failed' && result.kind !== 'contradiction') return
  const contradiction = result.kind === 'contradiction' ? result.error : null
  await upsertUnpublished(pool, target.id, { error: result.error, contradiction })
  if (contradiction !== null)
    log.error('a published checkpoint contradicts the books', { target: target.id, contradiction })
}

async function attempt(
  sealing: Sealing,
  target: CheckpointTarget,
  log: LogState,
  newest: StoredCheckpoint,
): Promise<PublishResult> {
  const key = `${target.id} ${newest.origin}`
  if (underWay.has(key))
    return { kind: 'failed', error: 'The last attempt has not ended: the disk or mount does not answer.' }
  underWay.add(key)
  const sending = target.kind === 'address' ? post(sealing, target, newest) : writeFile(sealing, target, log, newest)
  const ended = sending.finally(() => underWay.delete(key))
  return await inTime(ended, withinMs).catch(() => ({
    kind: 'failed',
    error: `It took longer than ${withinMs / 1_000} seconds.`,
  }))
}

async function post(
  { config }: Sealing,
  { place }: CheckpointTarget,
  { size, note }: StoredCheckpoint,
): Promise<PublishResult> {
  const url = new URL(place)
  const agent = new (url.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: false })
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'content-length': String(Buffer.byteLength(note)) }
  const bounds = { maxBytes: maxAnswerBytes, timeoutMs: withinMs - 1_000 }
  try {
    const answer = await fetchPublic(url, headers, bounds, { isAllowed: allowedBy(config) }, { body: note, agent })
    if (answer.status >= 200 && answer.status < 300) return { kind: 'published', size }
    return { kind: 'failed', error: maskError(describeAnswer(answer)) }
  } catch (error) {
    return { kind: 'failed', error: describeFault(error) }
  } finally {
    agent.destroy()
  }
}

async function writeFile(
  sealing: Sealing,
  target: CheckpointTarget,
  log: LogState,
  newest: StoredCheckpoint,
): Promise<PublishResult> {
  try {
    const there = await readNewestFile(target, log.id)
    const refusal = there === undefined ? undefined : await judge(sealing, log, newest, there)
    if (refusal) return refusal
    if (await writeCheckpointFile(target, log.id, newest)) return { kind: 'published', size: newest.size }
    return { kind: 'contradiction', error: differs(newest.size) }
  } catch (error) {
    return { kind: 'failed', error: describeFileFault(error) }
  }
}

const differs = (size: number) => `It has another checkpoint of ${size} leaves under the same name.`

/** Why the newest checkpoint must not take the place of what is there, or follow it. */
async function judge(
  sealing: Sealing,
  log: LogState,
  newest: StoredCheckpoint,
  there: string,
): Promise<PublishResult | undefined> {
  const { pool } = sealing.db
  const own = await readOwnCheckpoint(sealing, log, there)
  if (own === undefined)
    return (await isOfEarlierName(pool, there))
      ? undefined
      : { kind: 'failed', error: 'What is there is no checkpoint of this log, and it is not replaced.' }
  const isKnown = await hasCheckpoint(pool, own)
  if (!isKnown && own.size === newest.size) return { kind: 'contradiction', error: differs(own.size) }
  if (!isKnown)
    return {
      kind: 'contradiction',
      error: `It has a checkpoint of ${own.size} leaves that this log signed and does not have.`,
    }
  return own.size >= newest.size ? { kind: 'published', size: newest.size } : undefined
}

const incarnationsRead = 1_000

/** A file keeps the newest checkpoint, so one of an earlier name gives way. */
async function isOfEarlierName(db: Queryable, text: string): Promise<boolean> {
  const [origin = ''] = text.split('\n')
  const earlier = await listIncarnations(db, incarnationsRead)
  return earlier.some(({ previous }) => origin.endsWith(`/books/${previous}`))
}
