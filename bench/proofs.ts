/**
 * `npm run bench -- proofs`: what sealing costs beside debits, how many bytes it keeps, how soon a proof is made, and how long its check
 * takes. Sealing works in the background every ten minutes, so its processor time for an entry is compared with that of a debit.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { verifyProof } from '../sdk/verify.ts'
import type { BenchDatabase } from './cluster.ts'
import { withCost } from './cost.ts'
import { checkExactness } from './exactness.ts'
import { figureTable, toFigure } from './figures.ts'
import { busyText } from './report.ts'
import { costsOf, median, type Round } from './rounds.ts'
import { onStage, resultsDir, runRound, type Site, type Stage } from './stage.ts'
import { serviceCpuSeconds } from './usage.ts'

/** True if the books are exact; the verdicts are for people. */
export async function measureProofs(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      users: { type: 'string', default: '20000' },
      transfers: { type: 'string', default: '9' },
      seconds: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '10' },
      asked: { type: 'string', default: '30' },
      'full-load-minutes': { type: 'string', default: '0' },
    },
  })
  return await onStage(async (stage) => {
    const site = await stage.openSite('proofs', {
      users: Number(values.users),
      transfersPerUser: Number(values.transfers),
    })
    await waitUntilSealed(site.database)
    const runRounds = async () => {
      const rounds: Round[] = []
      for (let i = 0; i < Number(values.rounds); i++) rounds.push(await debits(stage, site, Number(values.seconds)))
      return rounds
    }
    // The rounds before it and the first pass warm up: a process seals every ten minutes, and compiles its code once.
    await runRounds()
    const firstPass = await measureSealing(stage, site)
    const rounds = await runRounds()
    const debit = median(costsOf(rounds, 'debits'))
    const sealing = await measureSealing(stage, site)
    const stored = await measureStorage(site.database)
    const asked = await askForProofs(site, Number(values.asked))
    const minutes = Number(values['full-load-minutes'])
    const loaded = minutes > 0 ? await measureFullLoad(stage, site, minutes) : undefined
    const figures = [
      toFigure('processor time of a debit ÷ with its sealing', [debit / (debit + sealing.secondsEach)]),
      toFigure('bytes of an entry in the trees', [stored.bytesOfEntry]),
      toFigure('bytes of a wallet’s state in the log', [stored.bytesOfState]),
      toFigure('proof, bytes', asked.bytes),
      toFigure('new entry → proof', asked.madeMs),
      toFigure('offline check of a proof', asked.checkMs),
      ...(loaded
        ? [
            toFigure('sealed behind at full load, longest', [loaded.behindMs]),
            toFigure('new entry → proof, at full load', loaded.madeMs),
          ]
        : []),
    ]
    console.log(`\n${figureTable(figures)}\n`)
    console.log(
      `sealing ${sealing.entries} entries took ${micros(sealing.secondsEach)} each (${micros(firstPass.secondsEach)} in the first pass of the process), and a debit ${micros(debit)}`,
    )
    if (loaded) console.log(`at full load ${loaded.perSecond.toFixed(0)} debits a second for ${minutes} minutes`)
    for (const text of busyText(rounds)) console.log(text)
    const { faults } = await checkExactness(site.database, site.acknowledged, site.seededTransfers)
    for (const fault of faults) console.log(fault)
    await writeFile(
      join(resultsDir, 'proofs.json'),
      `${JSON.stringify({ figures, firstPass, sealing, stored, loaded, rounds, faults }, null, 2)}\n`,
    )
    return faults.length === 0
  })
}

const micros = (seconds: number) => `${(seconds * 1e6).toFixed(1)} µs`

async function debits(stage: Stage, { target, server, acknowledged }: Site, seconds: number): Promise<Round> {
  const usual = { users: Infinity, connections: 128, refused: 0, replayed: 0 } as const
  return await runRound(stage, 'debits', server, { target, call: 'debit', seconds, ...usual }, acknowledged)
}

const limitMs = 30 * 60_000
const askEveryMs = 200

async function waitFor(database: BenchDatabase, fact: string): Promise<void> {
  for (const until = performance.now() + limitMs; performance.now() < until; await Bun.sleep(askEveryMs)) {
    const [row] = await database.query(`select (${fact})::text as is_so`)
    if (row!['is_so'] === 'true') return
  }
  throw new Error(`not so within half an hour: ${fact}`)
}

const checked = `not exists (select from wallets w left join verified_wallets v on v.wallet_id = w.id where w.sequence > coalesce(v.sequence, 0))`
const sealed = `not exists (select from wallets w left join wallet_heads h on h.wallet_id = w.id where w.sequence > coalesce(h.size, 0))`
const isIdle = 'exists (select from log_state where pass_started_at is null)'
/** Cheap to ask: asking is part of what is measured. */
const hasPassed = 'exists (select from log_state where pass_started_at is null and next_pass_at > now())'

/** Checks and seals everything, and leaves the next pass to the measurement. */
async function waitUntilSealed(database: BenchDatabase): Promise<void> {
  await waitFor(database, checked)
  await waitFor(database, isIdle)
  await database.query('update log_state set next_pass_at = now()')
  await waitFor(database, hasPassed)
  await waitFor(database, sealed)
  await database.query(`update log_state set next_pass_at = now() + interval '1 day'`)
}

/** The processor time of a pass over the new entries, without that of the same seconds of an idle service whose database is asked as often. */
async function measureSealing(stage: Stage, { database, server }: Site) {
  const costOf = async (work: () => Promise<void>) => {
    const startedAt = performance.now()
    const { cores } = await withCost(
      stage.cluster,
      server.database,
      () => serviceCpuSeconds(server.pid),
      work,
      () => 0,
    )
    const seconds = (performance.now() - startedAt) / 1_000
    return { seconds, cpuSeconds: (cores.serverCores + cores.databaseCores) * seconds }
  }
  await waitFor(database, checked)
  const idle = await costOf(async () => {
    for (const until = performance.now() + 15_000; performance.now() < until; await Bun.sleep(askEveryMs))
      await database.query(`select ${hasPassed} as is_so`)
  })
  const [{ entries } = { entries: '0' }] = await database.query(
    'select sum(w.sequence - coalesce(h.size, 0))::text as entries from wallets w left join wallet_heads h on h.wallet_id = w.id',
  )
  const pass = await costOf(async () => {
    await database.query('update log_state set next_pass_at = now()')
    await waitFor(database, hasPassed)
  })
  const cpuSeconds = Math.max(0, pass.cpuSeconds - (idle.cpuSeconds / idle.seconds) * pass.seconds)
  return { entries: Number(entries), cpuSeconds, secondsEach: cpuSeconds / Number(entries), passSeconds: pass.seconds }
}

const bytesOf = (tables: readonly string[]) => tables.map((table) => `pg_total_relation_size('${table}')`).join(' + ')

/** The marks of entries are in the leaves of the log, and are counted with the entries. */
async function measureStorage(database: BenchDatabase) {
  const [row] =
    await database.query(`select ${bytesOf(['wallet_subtrees'])} as trees, (select sum(size) from wallet_heads) as entries,
    (select sum(pg_column_size(marks)) from log_leaves) as marks, ${bytesOf(['log_leaves', 'log_subtrees'])} as log, (select count(*) from log_leaves) as leaves`)
  const { trees, entries, marks, log, leaves } = row as Record<'trees' | 'entries' | 'marks' | 'log' | 'leaves', string>
  return {
    bytesOfEntry: (Number(trees) + Number(marks)) / Number(entries),
    bytesOfState: (Number(log) - Number(marks)) / Number(leaves),
  }
}

/** From the oldest entry that is in no tree, or that was checked after the begin of the last pass that was signed. */
const behindSql = `select extract(epoch from clock_timestamp() - least((select sealed_up_to from log_state), (
  select min(t.created_at) from wallets w left join wallet_heads h on h.wallet_id = w.id
  join transfers t on t.wallet_id = w.id and t.sequence = coalesce(h.size, 0) + 1)))::text as seconds`

const lookEveryMs = 5_000
const roundSeconds = 30

/**
 * Debits as fast as they are answered, while the service seals at its own times. The pass of the eighth minute is the first long one: a run of 11
 * minutes sees its end.
 */
async function measureFullLoad(stage: Stage, site: Site, minutes: number) {
  await waitUntilSealed(site.database)
  await site.database.query('update log_state set next_pass_at = now()')
  await waitFor(site.database, hasPassed)
  const endsAt = performance.now() + minutes * 60_000
  const isOver = () => performance.now() > endsAt
  let behindMs = 0
  const observe = async () => {
    for (; !isOver(); await Bun.sleep(lookEveryMs)) {
      const [row] = await site.database.query(behindSql)
      behindMs = Math.max(behindMs, Number(row!['seconds']) * 1_000)
    }
  }
  const run = async () => {
    const rounds: Round[] = []
    while (!isOver()) rounds.push(await debits(stage, site, roundSeconds))
    return median(rounds.map(({ perSecond }) => perSecond))
  }
  const asked = Math.ceil((minutes * 60_000) / lookEveryMs / 2)
  const [perSecond, { madeMs }] = await Promise.all([run(), askForProofs(site, asked, lookEveryMs), observe()])
  return { minutes, perSecond, behindMs, madeMs }
}

let proofsAsked = 0

/** A debit, and at once its proof, again and again. */
async function askForProofs({ target, server, acknowledged }: Site, count: number, pauseMs = 0) {
  const users = (await readFile(target.usersFile, 'utf8')).trim().split('\n')
  const { clientId, clientSecret } = target
  const base = `http://127.0.0.1:${server.port}/api/server`
  const [bytes, madeMs, checkMs]: [number[], number[], number[]] = [[], [], []]
  for (let i = 0; i < count; i++) {
    const referenceId = `proof-${process.pid}-${++proofsAsked}`
    const order = {
      clientId,
      clientSecret,
      serviceUserId: users[i],
      amount: 0.01,
      referenceType: 'ORDER_PAYMENT',
      referenceId,
    }
    const body = JSON.stringify(order)
    const headers = { 'content-type': 'application/json' }
    const debit = await fetch(`${base}/wallet/debit`, { method: 'POST', headers, body })
    if (debit.status !== 200) throw new Error(`a debit was refused: ${await debit.text()}`)
    acknowledged.posted++
    const startedAt = performance.now()
    const query = new URLSearchParams({ clientId, clientSecret, referenceType: 'ORDER_PAYMENT', referenceId })
    const answer = await fetch(`${base}/proof?${query}`)
    const { proof = '', key = '' } = (await answer.json()) as { proof?: string; key?: string }
    madeMs.push(performance.now() - startedAt)
    bytes.push(proof.length)
    const checkedAt = performance.now()
    const verdict = await verifyProof(proof, { keys: [key] })
    checkMs.push(performance.now() - checkedAt)
    if (!verdict.ok) throw new Error(`a proof is not right: ${answer.status} ${verdict.message}`)
    await Bun.sleep(pauseMs)
  }
  return { bytes, madeMs, checkMs }
}
