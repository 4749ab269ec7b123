/** `npm run bench -- books`: how soon the continuous check finds a wrong row, in books of a given size, and what it costs. */
import { parseArgs } from 'node:util'
import type { BenchDatabase } from './cluster.ts'
import { onStage, type Site } from './stage.ts'

const firstPosition = '(select counter_account, day, writer from positions order by 1, 2, 3 limit 1)'

/** Each breaks the books by one row, and repairs it. The trigger that protects the transfers is off in between. */
const breaks: [name: string, broken: string, repaired: string][] = [
  [
    'a balance',
    `update wallets set balance = balance + 1 where id = $1`,
    `update wallets set balance = balance - 1 where id = $1`,
  ],
  [
    'a position',
    `update positions set debited = debited + 1 where (counter_account, day, writer) = ${firstPosition} and $1 <> ''`,
    `update positions set debited = debited - 1 where (counter_account, day, writer) = ${firstPosition} and $1 <> ''`,
  ],
  [
    'the newest entry, before it was checked',
    `with wallet as (update wallets set sequence = sequence + 1 where id = $1::uuid returning *)
     insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select id, sequence, 1, balance, gen_random_uuid(), now(), 'bonus', 'BONUS', 'x' from wallet`,
    `with gone as (delete from transfers where wallet_id = $1::uuid and reference_id = 'x')
     update wallets set sequence = sequence - 1 where id = $1::uuid`,
  ],
  [
    'an old entry, long checked',
    `update transfers set amount = amount - 1 where wallet_id = $1 and sequence = 2`,
    `update transfers set amount = amount + 1 where wallet_id = $1 and sequence = 2`,
  ],
]

const limitMs = 60 * 60_000

export async function measureBooks(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      users: { type: 'string', default: '100000' },
      transfers: { type: 'string', default: '9' },
      unanalysed: { type: 'boolean', default: false },
    },
  })
  await onStage(async (stage) => {
    const seeding = {
      users: Number(values.users),
      transfersPerUser: Number(values.transfers),
      isUnanalysed: values.unanalysed,
    }
    const site = await stage.openSite('books', seeding)
    await measureSite(site)
  })
}

async function measureSite({ database, server }: Site): Promise<void> {
  const seconds = async (fact: string) => await waitFor(database, fact)
  // The service ran while the rows were inserted; from here on, this is a database that was just upgraded.
  await database.query(`delete from verified_wallets`)
  await database.query(
    `update books_check set checked_up_to = null, pass = null, last_round_at = null, cursor = null, problems = '[]', next_pass_at = now(), next_slice_at = now(),
       is_hurried = true`,
  )
  show('first pass, from the beginning of each ledger', await seconds('checked_up_to is not null'))
  show('first round, in a hurry', await seconds('last_round_at is not null'))
  await database.query('alter table transfers disable trigger user; alter table wallets disable trigger user')
  const [wallet] = await database.query(
    `select id from wallets order by id offset (select count(*) * 3 / 4 from wallets) limit 1`,
  )
  for (const [name, broken, repaired] of breaks) {
    // A pass that already hurries would reach the row sooner.
    await seconds('not is_hurried')
    await database.query(broken, [wallet!['id']!])
    show(`${name}: found after`, await seconds(`problems <> '[]'`))
    await database.query(repaired, [wallet!['id']!])
    show('  repaired: green again after', await seconds(`problems = '[]'`))
  }
  const metrics = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
  console.log(
    metrics
      .split('\n')
      .filter((line) => line.startsWith('billfold_books'))
      .join('\n'),
  )
}

/** Waits until the condition holds for the row of the check, and returns the seconds. */
async function waitFor(database: BenchDatabase, fact: string): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const passedMs = performance.now() - startedAt
    const [row] = await database.query(`select (${fact})::text as is_so from books_check`)
    if (row!['is_so'] === 'true') return passedMs / 1_000
    if (passedMs > limitMs) throw new Error(`not so within an hour: ${fact}`)
    await Bun.sleep(250)
  }
}

function show(name: string, seconds: number): void {
  console.log(`${name.padEnd(46)} ${seconds.toFixed(1).padStart(7)} s`)
}
