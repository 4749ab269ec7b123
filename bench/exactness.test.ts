import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client } from 'pg'
import { testDatabase, type TestDatabase } from '../test/postgres.ts'
import { checkExactness } from './exactness.ts'

let testing: TestDatabase
let client: Client

beforeAll(async () => {
  testing = await testDatabase()
  client = new Client({ ...testing.connection, types: { getTypeParser: () => (value: string) => value } })
  await client.connect()
  await client.query(`
    insert into wallets (id, balance, sequence) values ('00000000-0000-0000-0000-000000000001', 70, 2);
    insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
    values ('00000000-0000-0000-0000-000000000001', 1, 100, 100, gen_random_uuid(), now(), 'bonus', 'BONUS', '1'),
           ('00000000-0000-0000-0000-000000000001', 2, -30, 70, gen_random_uuid(), now(), 'app:a', 'ORDER', '2');
    insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
    select reference_key, wallet_id, amount, balance_after, sequence, created_at from transfers;
    insert into positions (counter_account, day, writer, debited, credited, transfers)
    values ('bonus', current_date, 1, 0, 100, 1), ('app:a', current_date, 1, 30, 0, 1)`)
})

afterAll(async () => {
  await client.end()
  await testing.drop()
})

const query = async (text: string) => (await client.query<Record<string, string>>(text)).rows
const check = (posted: number) =>
  checkExactness({ url: '', connection: {}, query }, { posted, refused: 0, replayed: 0 }, 1)

test('exact books have no fault', async () => {
  expect((await check(1)).faults).toEqual([])
})

test('an acknowledged debit that is not there is a fault', async () => {
  expect((await check(2)).faults).toContain('transfers: 2, not 3')
})

test('a wallet that is not the sum of its transfers is a fault', async () => {
  await client.query('begin')
  await client.query('update wallets set balance = 71')
  const { faults } = await check(1)
  await client.query('rollback')
  expect(faults).toEqual([
    'sum of wallets and positions: 1, not 0',
    'wallets that are not the sum of their transfers: 1, not 0',
  ])
})

test('a gap in the sequence is a fault', async () => {
  await client.query('begin')
  await client.query(`insert into transfers
    (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
    values ('00000000-0000-0000-0000-000000000001', 4, -1, 69, gen_random_uuid(), now(), 'app:a', 'ORDER', '3')`)
  const { faults } = await check(1)
  await client.query('rollback')
  expect(faults).toContain('transfers whose balance does not follow from the one before: 1, not 0')
})
