/** The hashes that sealing computes from columns are those of the leaves as a verifier computes them, for texts of every kind. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { entryLeaf, hashTexts, type EntryTexts } from '../../../sdk/verify/leaves.ts'
import type { QueryConfig } from 'pg'
import { hashLeaf } from '../../proof/merkle.ts'
import { openTestService, type TestService } from '../../../test/service.ts'
import type { Queryable } from '../connection/database.ts'
import { entrySalt, hashEntries, hashFoundEntries, type LeafRange } from './entry-leaves.ts'
import { splitHashes } from './subtrees.ts'

setDefaultTimeout(180_000)

let rig: TestService

beforeAll(async () => {
  rig = await openTestService()
})
afterAll(() => rig.close())

type Entry = { readonly amountMinor: bigint; readonly atMicros: bigint; readonly texts: EntryTexts }

const odd = [
  '',
  ' ',
  '\u0001',
  '\u0002',
  'a\u0001b',
  '\u0001\u0001',
  'a\u0002',
  '-',
  '3:a:b',
  'line\nline',
  '€ 🙂 ñ',
  'x'.repeat(20_000),
]

function newEntry(i: number, texts: readonly string[]): Entry {
  const text = (k: number) => texts[(i * 7 + k * 3) % texts.length]!
  const description = i % 3 === 0 ? null : text(3)
  return {
    amountMinor: i % 2 === 0 ? BigInt(i + 1) : -999_999_999_999_999n,
    atMicros: 946_684_799_999_999n + BigInt(i) * 86_400_000_123n,
    texts: { counterAccount: text(0), referenceType: text(1), referenceId: text(2), description },
  }
}

const entriesOf = (count: number, texts: readonly string[]) =>
  Array.from({ length: count }, (_, i) => newEntry(i, texts))

/** A wallet with these entries, and the range of all of them. */
async function newWallet(entries: readonly Entry[]): Promise<LeafRange> {
  const walletId = randomUUID()
  await rig.service.db.longRunning.pool.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id, description)
     select $1, e.sequence, e.amount, 0, gen_random_uuid(), timestamptz '1970-01-01 00:00+00' + e.micros * interval '1 microsecond', e.account, e.type, e.id, e.description
     from json_to_recordset($2) as e(sequence bigint, amount bigint, micros bigint, account text, type text, id text, description text)`,
    [walletId, JSON.stringify(entries.map(toRow))],
  )
  return { walletId, name: 'a1'.repeat(32), salt: new Uint8Array(randomBytes(32)), after: 0, until: entries.length }
}

const toRow = ({ amountMinor, atMicros, texts }: Entry, i: number) => ({
  sequence: i + 1,
  amount: amountMinor.toString(),
  micros: atMicros.toString(),
  account: texts.counterAccount,
  type: texts.referenceType,
  id: texts.referenceId,
  description: texts.description,
})

/** As a verifier computes them from a proof. */
async function expected(range: LeafRange, entries: readonly Entry[]): Promise<string[]> {
  const hashes = entries.map(async ({ texts, ...entry }, i) => {
    const leaf = { wallet: range.name, sequence: i + 1, currency: 'EUR', ...entry }
    return hashLeaf(entryLeaf(leaf, await hashTexts(texts, entrySalt(range, i + 1)))).toHex()
  })
  return (await Promise.all(hashes)).slice(range.after, range.until)
}

const inHex = (joined: Uint8Array) => splitHashes(joined).map((hash) => hash.toHex())

const plain = ['app:1', 'ORDER_PAYMENT', 'order-17', 'Coffee']

test('texts of every kind give the leaves that a verifier computes, in ranges that begin anywhere', async () => {
  const [odds, plains, absents] = [entriesOf(40, odd), entriesOf(3, plain), entriesOf(3, ['\u0002'])]
  const wallets = [
    { entries: plains, range: await newWallet(plains) },
    { entries: odds, range: await newWallet(odds) },
    { entries: plains, range: await newWallet(plains) },
    { entries: absents, range: await newWallet(absents) },
  ]
  const ranges = [
    ...wallets,
    { entries: odds, range: { ...wallets[1]!.range, after: 7, until: 8 } },
    { entries: plains, range: { ...wallets[2]!.range, after: 2 } },
    { entries: plains, range: { ...wallets[2]!.range, after: 3 } },
  ]
  const found = await hashEntries(
    rig.service.db.pool,
    ranges.map(({ range }) => range),
    'EUR',
  )
  for (const [i, { entries, range }] of ranges.entries())
    expect(inHex(found[i]!)).toEqual(await expected(range, entries))
  for (const { entries, range } of ranges)
    expect(inHex((await hashEntries(rig.service.db.pool, [range], 'EUR'))[0]!)).toEqual(await expected(range, entries))
})

test('a range of more entries than one query reads is hashed in pieces', async () => {
  const many = entriesOf(10_100, plain)
  const few = entriesOf(2, plain)
  const wallets = [
    { entries: few, range: await newWallet(few) },
    { entries: many, range: await newWallet(many) },
    { entries: few, range: await newWallet(few) },
  ]
  const found = await hashEntries(
    rig.service.db.pool,
    wallets.map(({ range }) => range),
    'EUR',
  )
  for (const [i, { entries, range }] of wallets.entries())
    expect(inHex(found[i]!)).toEqual(await expected(range, entries))
})

test('other work of the process has its turn while the entries of one query are hashed', async () => {
  const ranges = [await newWallet(entriesOf(2_500, plain)), await newWallet(entriesOf(500, plain))]
  let [turns, turnsAtAnswer, isOver] = [0, 0, false]
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  const { pool } = rig.service.db
  const query = async (asked: QueryConfig) => {
    const answer = await pool.query(asked)
    turnsAtAnswer = turns
    return answer
  }
  setImmediate(count)
  await hashEntries({ query } as Queryable, ranges, 'EUR')
  isOver = true
  expect(turns).toBeGreaterThan(turnsAtAnswer)
})

test('a range without some of its entries has the hashes of the others, and other ranges are whole', async () => {
  const entries = entriesOf(4, plain)
  const ranges: LeafRange[] = []
  for (let i = 0; i < 9; i++) ranges.push(await newWallet(entries))
  const lacking = { 0: [1], 3: [4], 4: [2, 3], 8: [1, 2, 3, 4] } as Record<number, readonly number[]>
  const connection = await rig.service.db.pool.connect()
  try {
    await connection.query('begin')
    await connection.query('alter table transfers disable trigger user')
    await connection.query('grant delete on transfers to current_user')
    for (const [i, sequences] of Object.entries(lacking))
      await connection.query('delete from transfers where wallet_id = $1 and sequence = any($2)', [
        ranges[Number(i)]!.walletId,
        sequences,
      ])
    const found = await hashFoundEntries(connection, ranges, 'EUR')
    for (const [i, range] of ranges.entries()) {
      const has = 4 - (lacking[i]?.length ?? 0)
      expect(splitHashes(found[i]!)).toHaveLength(has)
      if (has === 4) expect(inHex(found[i]!)).toEqual(await expected(range, entries))
    }
    const refusal = await hashEntries(connection, ranges, 'EUR').catch(String)
    expect(refusal).toContain(`entries 1 to 4 of wallet ${ranges[0]!.walletId}`)
  } finally {
    await connection.query('rollback')
    connection.release()
  }
})

/** The first wallet lacks an entry, and the second has one twice, or the other way round. */
test.each([
  { lacks: 0, missing: 2, repeated: 1, found: [1, 3] },
  { lacks: 1, missing: 1, repeated: 2, found: [3, 1] },
])('an entry that is there twice does not stand in for one that another wallet lacks: %o', async (each) => {
  const entries = entriesOf(2, plain)
  const ranges = [await newWallet(entries), await newWallet(entries)]
  const [lacking, repeating] = each.lacks === 0 ? ranges : ranges.toReversed()
  const connection = await rig.service.db.pool.connect()
  try {
    await connection.query('begin')
    await connection.query('alter table transfers disable trigger user')
    await connection.query('grant delete on transfers to current_user')
    await connection.query('alter table transfers drop constraint transfers_pkey')
    await connection.query('delete from transfers where wallet_id = $1 and sequence = $2', [
      lacking!.walletId,
      each.missing,
    ])
    await connection.query('insert into transfers select * from transfers where wallet_id = $1 and sequence = $2', [
      repeating!.walletId,
      each.repeated,
    ])
    const found = await hashFoundEntries(connection, ranges, 'EUR')
    expect(found.map((hashes) => splitHashes(hashes).length)).toEqual([...each.found])
  } finally {
    await connection.query('rollback')
    connection.release()
  }
})
