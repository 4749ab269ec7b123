/** Users with money, and as much history as is asked for, in bulk and with true books: verify has nothing to say about them. */
import { writeFile } from 'node:fs/promises'
import { hashSecret, newClientId, newClientSecret, newId } from '../src/actions/tokens.ts'
import type { BenchDatabase } from './cluster.ts'
import type { Target } from './job.ts'

export type Seeding = {
  readonly users: number
  /** How many transfers each wallet already has: one credit, then debits. */
  readonly transfersPerUser: number
}

/** What each wallet is given at first, in minor units: enough for any round, too little for what is to be refused. */
const fundedMinor = 5_000_000

export async function seed(
  database: BenchDatabase,
  { users, transfersPerUser }: Seeding,
  usersFile: string,
): Promise<Omit<Target, 'port'>> {
  const clientId = newClientId()
  const clientSecret = newClientSecret()
  await database.query(`insert into apps (client_id, name, scopes) values ($1, 'Load', '{wallet:read,wallet:write}')`, [
    clientId,
  ])
  await database.query('insert into app_secrets (id, client_id, secret_hash) values ($1, $2, $3)', [
    newId(),
    clientId,
    hashSecret(clientSecret),
  ])
  await database.query(peopleSql, [users, clientId])
  for (let sequence = 1; sequence <= transfersPerUser; sequence++) {
    await database.query(transfersSql, [sequence, sequence === 1 ? 'bonus' : `app:${clientId}`, fundedMinor])
  }
  await database.query(walletsSql, [transfersPerUser, fundedMinor])
  await database.query('vacuum analyze')
  await database.query('checkpoint')
  const [found] = await database.query(`select string_agg(id, E'\\n') as ids from links where client_id = $1`, [
    clientId,
  ])
  await writeFile(usersFile, `${found!['ids']}\n`)
  return { clientId, clientSecret, usersFile }
}

const peopleSql = `
with person as (
  insert into users (id, email, first_name, last_name)
  select uuidv7(), 'load' || n || '@example.com', 'Load', 'User ' || n from generate_series(1, $1::integer) n returning id
), wallet as (insert into wallets (id) select id from person)
insert into links (id, client_id, user_id) select 'su_' || replace(gen_random_uuid()::text, '-', ''), $2, id from person`

/** The next transfer of every wallet: five million in minor units to begin with, then a cent less each time. */
const transfersSql = `
with transfer as (
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
  select w.id, $1::integer, case when $1 = 1 then $3::bigint else -1 end, $3::bigint - $1 + 1, gen_random_uuid(), now(), $2, 'SEED',
    'seed-' || $1 || '-' || w.id
  from wallets w returning *
), position as (
  insert into positions (counter_account, day, writer, debited, credited, transfers)
  select $2, (now() at time zone 'UTC')::date, -$1, sum(greatest(-amount, 0))::bigint, sum(greatest(amount, 0))::bigint, count(*)
  from transfer
)
insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
select reference_key, wallet_id, amount, balance_after, sequence, created_at from transfer`

const walletsSql = `update wallets set balance = $2::bigint - $1::integer + 1, sequence = $1`
