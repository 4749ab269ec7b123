/**
 * `npm run bench -- holds`: what holds cost debits, holds and captures against debits, and many holds that expire in one second. Ratios
 * are of alternating rounds.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { checkExactness } from './exactness.ts'
import { figureTable, toFigure, type Figure } from './figures.ts'
import type { Job, Result } from './job.ts'
import { busyText, rateTable } from './report.ts'
import { costsOf, median, takeTurns, type Contender, type Round } from './rounds.ts'
import { onStage, resultsDir, runRound, type Site, type Stage } from './stage.ts'

type Run = { readonly stage: Stage; readonly seconds: number; readonly cycles: number }

/** True if the books are exact; the verdicts are for people. */
export async function measureHolds(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '2' },
      cycles: { type: 'string', default: '7' },
      users: { type: 'string', default: '30000' },
      expiring: { type: 'string', default: '100000' },
      before: { type: 'string' },
    },
  })
  return await onStage(async (stage) => {
    const run: Run = { stage, seconds: Number(values.seconds), cycles: Number(values.cycles) }
    const seeding = { users: Number(values.users), transfersPerUser: 1 }
    const site = await stage.openSite('holds', seeding)
    const { before: dir } = values
    const before = dir === undefined ? undefined : await stage.openSite('before_holds', seeding, { dir })
    const rates = await measureRates(run, site, before)
    console.log(`\n${figureTable(rates.figures)}\n\n${rateTable(rates.rounds)}\n`)
    const expiring = Number(values.expiring)
    const many = expiring > 0 ? await measureExpiry(run, expiring) : { figures: [], rounds: [] }
    const figures = [...rates.figures, ...many.figures]
    const rounds = [...rates.rounds, ...many.rounds]
    console.log(`\n${figureTable(figures)}\n\n${rateTable(rounds)}\n`)
    for (const text of busyText(rounds)) console.log(text)
    const { faults } = await checkExactness(site.database, site.acknowledged, site.seededTransfers)
    const all = [...faults, ...(await checkHeld(site))]
    for (const fault of all) console.log(fault)
    const report = { figures, rounds, faults: all }
    await writeFile(join(resultsDir, 'holds.json'), `${JSON.stringify(report, null, 2)}\n`)
    return all.length === 0
  })
}

type Asked = Partial<Pick<Job, 'call' | 'users' | 'isInOrder'>> & { readonly usersFile?: string }

/** A hold moves no money, so it does not count as acknowledged. */
function load(
  { stage, seconds }: Run,
  name: string,
  site: Site,
  { usersFile = site.target.usersFile, ...asked }: Asked,
): Promise<Round & Result> {
  const target = { ...site.target, usersFile }
  const usual = { target, users: Infinity, connections: 128, seconds, refused: 0, replayed: 0 }
  const acknowledged = asked.call === 'hold' ? undefined : site.acknowledged
  return runRound(stage, name, site.server, { call: 'debit', ...usual, ...asked }, acknowledged)
}

/** One hold for each user of the file, however long that takes. */
async function placeForEach(run: Run, site: Site, usersFile: string): Promise<void> {
  await load({ ...run, seconds: 3_600 }, 'placing', site, { call: 'hold', isInOrder: true, usersFile })
}

/** The users in three parts: for the debits, those that have a hold, and those for which holds are placed and captured. */
async function splitUsers({ target }: Site): Promise<readonly [string, string, string]> {
  const users = (await readFile(target.usersFile, 'utf8')).trim().split('\n')
  const third = Math.floor(users.length / 3)
  const files = [0, 1, 2].map((part) => `${target.usersFile}.${part}`) as [string, string, string]
  for (const [part, file] of files.entries())
    await writeFile(file, `${users.slice(part * third, (part + 1) * third).join('\n')}\n`)
  return files
}

async function measureRates(
  run: Run,
  site: Site,
  before: Site | undefined,
): Promise<{ readonly figures: readonly Figure[]; readonly rounds: readonly Round[] }> {
  const [plain, holding, placing] = await splitUsers(site)
  await placeForEach(run, site, holding)
  const [since] = await site.database.query('select max(created_at)::text as at from holds')
  let captures = 0
  const capture = async () => {
    const [open] = await site.database.query(
      `select string_agg('hold_' || replace(id::text, '-', ''), E'\\n') as ids from holds where closed_at is null and created_at > $1`,
      [since!['at']],
    )
    const usersFile = `${placing}.captures-${++captures}`
    await writeFile(usersFile, `${open!['ids']}\n`)
    return await load(run, 'captures', site, { call: 'capture', isInOrder: true, usersFile })
  }
  const base: Contender = { name: 'debits', measure: () => load(run, 'debits', site, { usersFile: plain }) }
  const contenders: Contender[] = [
    { name: 'with a hold', measure: () => load(run, 'with a hold', site, { usersFile: holding }) },
    { name: 'holds', measure: () => load(run, 'holds', site, { call: 'hold', usersFile: placing }) },
    { name: 'captures', measure: capture },
  ]
  if (before) {
    const users = Math.floor(before.seededTransfers / 3)
    contenders.push({ name: 'before', measure: () => load(run, 'before', before, { users }) })
  }
  for (const { measure } of [base, ...contenders, base, ...contenders]) await measure()
  const { rounds, comparisons } = await takeTurns(base, contenders, run.cycles, (round, done, of) =>
    console.log(`${done} of ${of}: ${round.name}, ${round.perSecond.toFixed(0)} a second`),
  )
  const overDebits = (wanted: string) => comparisons.find(({ name }) => name === wanted)!.overBase
  const cost = (name: string) => median(costsOf(rounds, name))
  const timeOf = (name: string) => [cost('debits') / cost(name)]
  const figures = [
    toFigure('debits on wallets with a hold ÷ without', overDebits('with a hold')),
    toFigure('processor time of a debit, without a hold ÷ with one', timeOf('with a hold')),
    toFigure('holds ÷ debits', overDebits('holds')),
    toFigure('processor time, debit ÷ hold', timeOf('holds')),
    toFigure('captures ÷ debits', overDebits('captures')),
    toFigure('processor time, debit ÷ capture', timeOf('captures')),
  ]
  if (!before) return { figures, rounds }
  const overBefore = overDebits('before').map((ratio) => 1 / ratio)
  const figuresOfBefore = [
    toFigure('debits ÷ before holds', overBefore),
    toFigure(
      'processor time of a debit, before holds ÷ now',
      timeOf('before').map((ratio) => 1 / ratio),
    ),
  ]
  return { figures: [...figuresOfBefore, ...figures], rounds }
}

const secondsToPrepare = 5

/** Sets when the open holds expire: evenly over that time, from some seconds from now on. */
async function expireSoon({ database }: Site, overSeconds: number): Promise<void> {
  await database.query(
    `with soon as (
       select wallet_id, id, clock.at + $2 * interval '1 second' * (row_number() over () / clock.count::float8) as at
       from holds, (select now() + $1 * interval '1 second' as at, (select count(*) from holds where closed_at is null) as count) as clock
       where closed_at is null
     ) update holds h set expires_at = soon.at from soon where h.wallet_id = soon.wallet_id and h.id = soon.id`,
    [secondsToPrepare, overSeconds],
  )
}

const countOpenSql = 'select count(*) as open from holds where closed_at is null'
const lateSql = `select extract(epoch from max(s.at - h.expires_at)) * 1000 as latest, extract(epoch from max(s.at) - min(h.expires_at)) * 1000 as gone
  from hold_steps s join holds h on h.wallet_id = s.wallet_id and h.id = s.hold_id where s.kind = 'expiry' and s.at > $1`

/** How late the last one of a few was closed; then as many as are asked for in one second, beside debits. */
async function measureExpiry(
  run: Run,
  count: number,
): Promise<{ readonly figures: readonly Figure[]; readonly rounds: readonly Round[] }> {
  const site = await run.stage.openSite('expiring', { users: count, transfersPerUser: 1 })
  const { database } = site
  const [start] = await database.query('select now()::text as at')
  const users = (await readFile(site.target.usersFile, 'utf8')).trim().split('\n')
  const few = `${site.target.usersFile}.few`
  await writeFile(few, `${users.slice(0, 1_000).join('\n')}\n`)
  await placeForEach(run, site, few)
  await expireSoon(site, 5)
  await untilNoneIsOpen(site, () => sleep(500))
  const [fewLate] = await database.query(lateSql, [start!['at']])

  await placeForEach(run, site, site.target.usersFile)
  const debit = (name: string) => load(run, name, site, {})
  await debit('beside nothing')
  await expireSoon(site, 1)
  const [then] = await database.query('select now()::text as at')
  const rounds: Round[] = [await debit('beside nothing')]
  await sleep(secondsToPrepare * 1_000)
  await untilNoneIsOpen(site, async () => void rounds.push(await debit('beside expiries')))
  rounds.push(await debit('beside nothing'))
  const [manyLate] = await database.query(lateSql, [then!['at']])
  const rate = (name: string) => rounds.filter((round) => round.name === name).map(({ perSecond }) => perSecond)
  // The last round ends after the last hold.
  const during = rate('beside expiries').slice(0, -1)
  const figures = [
    toFigure('expiry of a few holds, latest', [Number(fewLate!['latest'])]),
    toFigure('many holds expire in one second, gone after', [Number(manyLate!['gone'])]),
    toFigure(
      'debits beside these expiries ÷ alone',
      during.map((each) => each / median(rate('beside nothing'))),
    ),
  ]
  return { figures, rounds }
}

async function untilNoneIsOpen({ database }: Site, meanwhile: () => Promise<void>): Promise<void> {
  do await meanwhile()
  while ((await database.query(countOpenSql))[0]!['open'] !== '0')
}

const heldSql = `select count(*) as unequal from wallets w where held <>
  (select coalesce(sum(amount - captured - released), 0) from holds h where h.wallet_id = w.id)`

async function checkHeld({ database }: Site): Promise<string[]> {
  const [held] = await database.query(heldSql)
  return held!['unequal'] === '0' ? [] : [`wallets whose holds are not what is held: ${held!['unequal']}`]
}
