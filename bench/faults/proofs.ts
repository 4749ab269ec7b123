/**
 * The log of the books during a fault run: passes are always due, every checkpoint that a service shows and many proofs are kept, and at
 * the end each of them must still be right. Anything that says otherwise is a false alarm, because no fault changes the books.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findSigners, parseCheckpoint, parseNote, parseSignerKey } from '../../sdk/verify/note.ts'
import { isEqual } from '../../sdk/verify/tree.ts'
import { verifyProof } from '../../sdk/verify.ts'
import { verifyLog } from '../../src/actions/proofs/verify-log.ts'
import { addLeaves, noPeaks, rootOf } from '../../src/proof/merkle.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { listLeafHashes } from '../../src/store/proofs/proof-log.ts'
import type { BenchDatabase } from '../cluster.ts'
import type { Asked, Target } from './load.ts'
import type { Node } from './node.ts'
import type { Random } from './random.ts'

export type ProofCount = {
  readonly passes: number
  readonly checkpoints: number
  readonly published: number
  readonly proofs: number
  readonly leaves: number
  /** Names of the log besides the first: one for each failover. */
  readonly incarnations: number
  readonly falseAlarms: readonly string[]
}

export type ProofRun = {
  /** What is not right of what was kept until now. */
  readonly check: () => Promise<string[]>
  /** The log must have this many further names. */
  readonly stop: (incarnations: number) => Promise<ProofCount>
}

const askWithinMs = 10_000

type Kept = { readonly file: string; readonly key: string }

export function startProofRun(
  database: BenchDatabase,
  nodes: readonly Node[],
  { clientId, clientSecret }: Target,
  newestAsked: () => Asked | undefined,
  { random, folder }: { readonly random: Random; readonly folder: string },
): ProofRun {
  const state = { isOn: true }
  const notes = new Set<string>()
  /** From the services and not only from proofs: a short or slow run may have no proof before the failover, which changes the key. */
  const keys = new Set<string>()
  const proofs: Kept[] = []
  const passes = new Set<string>()
  const falseAlarms: string[] = []

  const get = async (path: string) => {
    const url = random.pick(nodes).process()?.url
    return url === undefined ? undefined : await fetch(url + path, { signal: AbortSignal.timeout(askWithinMs) })
  }
  const repeat = async (everyMs: number, act: () => Promise<void>) => {
    while (state.isOn) {
      // A service or the database is away: that is what the run is for.
      await act().catch(() => {})
      await Bun.sleep(everyMs)
    }
  }
  const running = [
    repeat(500, async () => {
      await database.query('update books_check set next_pass_at = now()')
      const [row] = await database.query('update log_state set next_pass_at = now() returning sealed_up_to')
      if (row?.['sealed_up_to']) passes.add(row['sealed_up_to'])
    }),
    repeat(250, async () => {
      const key = await get('/api/log/key')
      if (key?.status === 200) keys.add((await key.text()).trim())
      const response = await get('/api/log/checkpoint')
      if (response?.status === 200) notes.add(await response.text())
    }),
    repeat(150, async () => {
      const item = newestAsked()
      if (item?.answer?.status !== 200) return
      const reference = { referenceType: 'ORDER', referenceId: item.reference }
      const response = await get(`/api/server/proof?${new URLSearchParams({ clientId, clientSecret, ...reference })}`)
      if (response?.status === 500) falseAlarms.push(`the proof of ${item.reference}: 500`)
      if (response?.status !== 200) return
      const { proof, key } = (await response.json()) as { proof: string; key: string }
      proofs.push({ file: proof, key })
      keys.add(key)
    }),
  ]
  const readPublished = async () => {
    const names = await readdir(folder)
    return await Promise.all(names.map(async (name) => await readFile(join(folder, name), 'utf8')))
  }
  const check = async () => {
    return [
      ...(await checkProofs(proofs)),
      ...(await checkNotes(database, [...notes, ...(await readPublished())], [...keys])),
      ...(await listAlarms(database)),
    ]
  }
  return {
    check,
    stop: async (incarnations) => {
      state.isOn = false
      await Promise.all(running)
      const published = await readPublished()
      const count = await countLog(database)
      falseAlarms.push(...(await check()))
      if (count.incarnations !== incarnations)
        falseAlarms.push(`${count.incarnations} incarnations, not ${incarnations}`)
      const kept = { checkpoints: notes.size, published: published.length, proofs: proofs.length }
      return { passes: passes.size, ...kept, ...count, falseAlarms }
    },
  }
}

async function countLog(database: BenchDatabase) {
  const [row] = await database.query('select size, (select count(*) from log_incarnations) as other from log_state')
  return { leaves: Number(row!['size']), incarnations: Number(row!['other']) }
}

async function checkProofs(proofs: readonly Kept[]): Promise<string[]> {
  const wrong: string[] = []
  for (const { file, key } of proofs) {
    const verdict = await verifyProof(file, { keys: [key] })
    if (!verdict.ok) wrong.push(`a proof: ${verdict.message}`)
  }
  return wrong
}

/** Each is signed by the log and is a beginning of it, and the books are what the largest says. */
async function checkNotes(
  database: BenchDatabase,
  notes: readonly string[],
  keys: readonly string[],
): Promise<string[]> {
  const known = (await Promise.all(keys.map(parseSignerKey))).filter((key) => key !== null)
  const wrong: string[] = []
  const signed = []
  for (const text of notes) {
    const note = parseNote(text)
    const checkpoint = note && parseCheckpoint(note.text)
    if (!note || !checkpoint || (await findSigners(note, known)).length === 0) wrong.push('a checkpoint is not signed')
    else signed.push(checkpoint)
  }
  signed.sort((a, b) => a.size - b.size)
  const { pool } = openDatabase(database.connection).longRunning
  try {
    let peaks = noPeaks
    for (const { size, root } of signed) {
      while (peaks.size < size) {
        const hashes = await listLeafHashes(pool, peaks.size, Math.min(10_000, size - peaks.size))
        if (hashes.length === 0) break
        peaks = addLeaves(peaks, hashes)
      }
      if (peaks.size !== size || !isEqual(rootOf(peaks), root)) wrong.push(`the checkpoint of ${size} leaves`)
    }
    const last = signed.at(-1)
    const faults = last ? await Array.fromAsync(verifyLog(pool, last, 'USD')) : []
    return [...wrong, ...faults.map((fault) => JSON.stringify(fault))]
  } finally {
    await pool.end()
  }
}

/** What the services themselves have noticed. */
async function listAlarms(database: BenchDatabase): Promise<string[]> {
  const [check] = await database.query('select problems::text as problems from books_check')
  const targets = await database.query('select contradiction from log_publications where contradiction is not null')
  const problems = check?.['problems'] ?? '[]'
  return [
    ...(problems === '[]' ? [] : [`the continuous check: ${problems}`]),
    ...targets.map((row) => row['contradiction']!),
  ]
}
