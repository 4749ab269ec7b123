/**
 * Years of use, generated in minutes: users with their wallets and links, and a given number of entries for each, spread over a year
 * in chronological order. The books are exact after every step, and a stopped load resumes: each step records its progress in its own
 * transaction.
 */
import { mergedWriter } from '../src/store/books/merge-positions.ts'
import { openProgress } from '../src/cli/progress.ts'
import type { BenchDatabase } from './cluster.ts'

export type History = { readonly users: number; readonly transfersPerUser: number }

/** The first entry credits this to each wallet, in minor units; every other entry debits one minor unit. */
export const givenMinor = 5_000_000

/** The size of one transaction: large enough that round trips do not matter, small enough to show progress, and to lose. */
const usualSteps = { users: 50_000, entries: 200_000 }
const days = 365

const beginSql = `
create schema if not exists bench;
create table if not exists bench.load (client_id text, users integer, transfers_per_user integer, began_at timestamptz);
create table if not exists bench.slices (place integer primary key, first_id uuid, rounds integer);
insert into bench.load
select '#client', #users, #transfers, (date_trunc('day', now() at time zone 'UTC') - interval '${days} days') at time zone 'UTC'
where not exists (select from bench.load)`

/** The load that was begun in this database. */
export async function findLoad(database: BenchDatabase): Promise<(History & { clientId: string }) | undefined> {
  const [is] = await database.query(`select to_regclass('bench.load') as load`)
  if (!is?.['load']) return undefined
  const [row] = await database.query('select * from bench.load')
  return {
    clientId: row!['client_id']!,
    users: Number(row!['users']),
    transfersPerUser: Number(row!['transfers_per_user']),
  }
}

export async function loadHistory(
  database: BenchDatabase,
  clientId: string,
  { users, transfersPerUser }: History,
  steps = usualSteps,
): Promise<void> {
  const begun = { client: clientId, users: String(users), transfers: String(transfersPerUser) }
  await database.query(beginSql.replaceAll(/#(client|users|transfers)/g, (_, name: keyof typeof begun) => begun[name]))
  const show = openMeter(users + users * transfersPerUser)
  let [row] = await database.query('select count(*) as count from users')
  let people = Number(row!['count'])
  for (; people < users; people += Math.min(steps.users, users - people)) {
    show(people)
    await database.query(usersSql, [people + 1, Math.min(users, people + steps.users), clientId])
  }
  await database.query(slicesSql(steps.users))
  const slices = await database.query('select * from bench.slices order by place')
  // Creating an index at the end sorts once; an existing index would be searched for every row.
  if (slices.some((slice) => Number(slice['rounds']) < transfersPerUser))
    for (const [table, key] of Object.entries(keys))
      await database.query(`alter table ${table} drop constraint if exists ${key.slice(0, key.indexOf(' '))}`)
  let entries = slices.reduce((sum, slice) => sum + Number(slice['rounds']) * steps.users, 0)
  const roundsPerStep = Math.max(1, Math.floor(steps.entries / steps.users))
  for (let round = 0; round < transfersPerUser; round += roundsPerStep) {
    const until = Math.min(transfersPerUser, round + roundsPerStep)
    for (const [i, slice] of slices.entries()) {
      if (Number(slice['rounds']) >= until) continue
      const values = [slice['place'], slice['first_id'], slices[i + 1]?.['first_id'] ?? null, round + 1, until]
      await database.query(stepSql(slices.length, transfersPerUser, clientId), values)
      entries += steps.users * (until - round)
      show(users + Math.min(entries, users * transfersPerUser))
    }
  }
  for (const [table, key] of Object.entries(keys)) {
    ;[row] = await database.query(
      `select conname from pg_constraint where conrelid = '${table}'::regclass and contype = 'p'`,
    )
    if (!row) await database.query(`set maintenance_work_mem = '1GB'; alter table ${table} add constraint ${key}`)
  }
  show(users + users * transfersPerUser)
}

const keys = {
  transfers: 'transfers_pkey primary key (wallet_id, sequence)',
  outcomes: 'outcomes_pkey primary key (reference_key)',
}

const usersSql = `
with person as (
  insert into users (id, email, first_name, last_name, created_at)
  select uuidv7(), 'load' || n || '@example.com', (array['Ada','Grace','Alan','Edsger','Barbara'])[1 + n % 5], 'User' || n,
    (select began_at from bench.load)
  from generate_series($1::integer, $2::integer) n returning id
), wallet as (
  insert into wallets (id) select id from person
)
insert into links (id, client_id, user_id) select 'su_' || replace(gen_random_uuid()::text, '-', ''), $3, id from person`

/** The first wallet of each slice. */
function slicesSql(usersPerSlice: number): string {
  return `
insert into bench.slices
select (number - 1) / ${usersPerSlice}, id, 0 from (select id, row_number() over (order by id) as number from wallets) w
where number % ${usersPerSlice} = 1 and not exists (select from bench.slices)`
}

/** Entries with the key of their reference, and the inserts into the ledger and the positions of their days. */
const entrySql = (entries: string) => `entry as materialized (
  select e.*, encode(substring(sha256(convert_to(namespace, 'UTF8') || '\\x00'::bytea || convert_to(type, 'UTF8') || '\\x00'::bytea
    || convert_to(reference_id, 'UTF8')) from 1 for 16), 'hex')::uuid as reference_key
  from (${entries}) e
), transfer as (
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
  select wallet_id, sequence, amount, balance, reference_key, at, account, type, reference_id from entry
), outcome as (
  insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
  select reference_key, wallet_id, amount, balance, sequence, at from entry
), position as (
  insert into positions as p (counter_account, day, writer, debited, credited, transfers)
  select account, (at at time zone 'UTC')::date, ${mergedWriter}, sum(greatest(-amount, 0)), sum(greatest(amount, 0)), count(*)
  from entry group by 1, 2
  on conflict (counter_account, day, writer) do update set
    debited = p.debited + excluded.debited, credited = p.credited + excluded.credited, transfers = p.transfers + excluded.transfers
)`

/** The next entries of a slice of wallets, each with the key of its reference and its time. */
function stepSql(slices: number, transfersPerUser: number, clientId: string): string {
  const account = `'app:${clientId}'`
  const isIn = `id >= $2::uuid and ($3::uuid is null or id < $3::uuid)`
  return `
with wallet as (
  select id, ($1::integer + (row_number() over (order by id) - 1.0) / count(*) over ()) / ${slices} as part from wallets where ${isIn}
), ${entrySql(`
    select w.id as wallet_id, n as sequence, case when n = 1 then ${givenMinor} else -1 end as amount, ${givenMinor} + 1 - n as balance,
      case when n = 1 then 'service' else ${account} end as namespace, case when n = 1 then 'bonus' else ${account} end as account,
      case when n = 1 then 'BONUS' else 'ORDER_PAYMENT' end as type, 'past-' || n || '-' || w.id as reference_id,
      l.began_at + interval '${days} days' * ((n - 1 + w.part) / ${transfersPerUser}) as at
    from bench.load l, generate_series($4::integer, $5::integer) n, wallet w order by n, w.id
  `)}, moved as (
  update wallets set sequence = $5::integer, balance = ${givenMinor} + 1 - $5::integer where ${isIn}
)
update bench.slices set rounds = $5::integer where place = $1::integer`
}

/** One wallet that is busier than all others: adds entries until it has this many, from its last one until today. */
export async function growWallet(
  database: BenchDatabase,
  clientId: string,
  walletId: string,
  entries: number,
  perStep = usualSteps.entries,
): Promise<void> {
  for (;;) {
    const [row] = await database.query('select sequence from wallets where id = $1', [walletId])
    const done = Number(row!['sequence'])
    if (done >= entries) return
    await database.query(busySql(`'app:${clientId}'`), [walletId, done, Math.min(entries, done + perStep), entries])
  }
}

/** The entries after the `$2`th up to the `$3`th, of `$4` in the end. */
function busySql(account: string): string {
  return `
with ${entrySql(`
    select t.wallet_id, n as sequence, -1 as amount, t.balance_after - (n - t.sequence) as balance, ${account} as namespace,
      ${account} as account, 'ORDER_PAYMENT' as type, 'busy-' || n || '-' || t.wallet_id as reference_id,
      t.created_at + (date_trunc('day', now()) - t.created_at) * ((n - t.sequence)::float8 / ($4::integer - t.sequence + 1)) as at
    from transfers t, generate_series($2::integer + 1, $3::integer) n
    where t.wallet_id = $1::uuid and t.sequence = $2::integer order by n
  `)}
update wallets w set sequence = e.sequence, balance = e.balance from entry e where w.id = $1::uuid and e.sequence = $3::integer`
}

/** A progress bar in a terminal; elsewhere a line for every tenth. */
function openMeter(total: number): (done: number) => void {
  const progress = openProgress({ errors: process.stderr })
  const startedAt = performance.now()
  let first: number | undefined
  let tenths = 0
  return (done) => {
    first ??= done
    const rate = Math.round((done - first) / Math.max(0.001, (performance.now() - startedAt) / 1000))
    const text = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} rows of people and entries, ${rate.toLocaleString('en')} a second`
    progress.show(text, done / total)
    if (done === total) progress.clear()
    if (Math.floor((done / total) * 10) <= tenths || (process.stderr.isTTY && done < total)) return
    tenths = Math.floor((done / total) * 10)
    console.log(text)
  }
}
