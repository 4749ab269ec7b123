/** The one read never says that stretches are right where the statements that name faults find one. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { postForApp } from '../../actions/money/post.ts'
import { newApp, newUser, openTestService, type TestService } from '../../../test/service.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import type { PooledClient } from '../connection/pool.ts'
import { verifyEntries, verifyEntryLinks } from './entries.ts'
import { areEntriesRight, areStretchesRight } from './right-stretches.ts'
import { endOfLedger, type Stretch } from './stretch.ts'
import { checkNextChanges, keepCheckpoints, nextChanges, upsertCheckpoints } from './verified-wallets.ts'
import { nameStretchFaults, verifyStretches } from './verify.ts'

setDefaultTimeout(240_000)

let rig: TestService
let wallets: string[] = []
/** After each entry. */
const balances = [0n, 500n, 380n, 370n, 870n, 860n]

beforeAll(async () => {
  rig = await openTestService()
  const { pool } = rig.service.db
  for (const table of ['transfers', 'outcomes']) {
    await pool.query(`grant all on ${table} to current_user`)
    await pool.query(`alter table ${table} disable trigger user`)
  }
  const credentials = await newApp(rig.service)
  const app = (await rig.service.apps.find(credentials.clientId))!
  for (let i = 0; i < 2; i++) {
    const { userId, serviceUserId } = await newUser(rig.service, credentials)
    wallets.push(userId)
    for (const [n, balance] of balances.entries()) {
      if (n === 0) continue
      const change = balance - balances[n - 1]!
      const [direction, amountMinor] = change > 0n ? (['credit', change] as const) : (['debit', -change] as const)
      const reference = { referenceType: 'T', referenceId: `${i}-${n}`, description: null }
      await postForApp(rig.service, app, { direction, serviceUserId, amountMinor, ...reference })
    }
  }
  wallets = wallets.toSorted()
})
afterAll(() => rig.close())

const stretch = (walletId: string, from: number, until = endOfLedger): Stretch => {
  return { walletId, sequence: BigInt(from), balanceMinor: balances[from]!, until }
}

/** Both answers for the stretches, after a corruption of which nothing stays. */
async function answersAfter(corruption: string, stretches: readonly Stretch[]) {
  const client = await rig.service.db.longRunning.pool.connect()
  try {
    await client.query('begin')
    await client.query(corruption.replaceAll('$1', `'${wallets[1]}'`))
    const faults = await nameStretchFaults(client, stretches, String)
    return { isRight: await areStretchesRight(client, stretches), faults: faults.map(({ check }) => check) }
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** Of all changed wallets, by the statement that also finds them, and by the list of them. */
async function answersOfPage(corruption: string, from: number) {
  const client = (await rig.service.db.longRunning.pool.connect()) as PooledClient & Transaction
  try {
    await client.query('begin')
    const checked = [stretch(wallets[0]!, 2), stretch(wallets[1]!, from)]
    await upsertCheckpoints(client, checked.slice(0, from === 0 ? 1 : 2))
    await client.query(corruption.replaceAll('$1', `'${wallets[1]}'`))
    const { changed } = await nextChanges(client, null, 100)
    const stretches = checked.filter(({ walletId }) => changed.some((wallet) => wallet.walletId === walletId))
    const page = await checkNextChanges(client, null, { wallets: 100, entries: 100 })
    const kept = changed.map(({ walletId, sequence, balanceMinor }) => [walletId, sequence, balanceMinor])
    const listed = {
      areRight: await areStretchesRight(client, stretches),
      wallets: changed.length,
      entries: changed.reduce(
        (sum, { sequence, fromSequence }) => sum + Math.max(1, Number(sequence - fromSequence)),
        0,
      ),
      until: null,
      isCut: false,
      checkpoints: {
        ids: `{${kept.map(([id]) => id).join()}}`,
        sequences: `{${kept.map(([, sequence]) => sequence).join()}}`,
        balances: `{${kept.map(([, , balance]) => balance).join()}}`,
      },
    }
    return { page, listed }
  } finally {
    await client.query('rollback')
    client.release()
  }
}

const entry = (sequence: number) => `wallet_id = $1 and sequence = ${sequence}`
const both = (where: string, change: string, ofOutcome = change) =>
  `update transfers set ${change} where ${where}; update outcomes set ${ofOutcome} where ${where}`

const corruptions: Record<string, string> = {
  'an amount': `update transfers set amount = amount - 1 where ${entry(4)}`,
  'an amount, also in the outcome': both(entry(4), 'amount = amount + 1'),
  'a balance': `update transfers set balance_after = balance_after + 1 where ${entry(4)}`,
  'a balance, also in the outcome': both(entry(4), 'balance_after = 1', 'balance = 1'),
  'the balance of the entry at the checkpoint': both(entry(3), 'balance_after = 371', 'balance = 371'),
  'amount and balance of the last entry and of its outcome': both(
    entry(5),
    'amount = 5, balance_after = 875',
    'amount = 5, balance = 875',
  ),
  'all balances from an entry on': both(
    'wallet_id = $1 and sequence >= 3',
    'balance_after = balance_after + 1',
    'balance = balance + 1',
  ),
  'an entry that is gone': `delete from transfers where ${entry(4)}`,
  'the entry at the checkpoint that is gone': `delete from transfers where ${entry(3)}`,
  'the last entry that is gone': `delete from transfers where ${entry(5)}`,
  'all entries that are gone': `delete from transfers where wallet_id = $1`,
  'an entry too many': `insert into transfers select wallet_id, 6, 10, 870, gen_random_uuid(), created_at, counter_account, reference_type, 'X', null from transfers where ${entry(5)}`,
  'a reference': `update transfers set reference_id = 'other' where ${entry(4)}`,
  'an account': `update transfers set counter_account = 'cards' where ${entry(4)}`,
  'an account that was never linked': `update transfers set counter_account = 'app:none' where ${entry(4)}`,
  'a link that is gone': `delete from links where user_id = $1`,
  'a time before the entry before': both(entry(4), `created_at = '2001-01-01'`),
  'the time of an outcome': `update outcomes set created_at = '2001-01-01' where ${entry(5)}`,
  'an outcome that is gone': `delete from outcomes where ${entry(4)}`,
  'an outcome that is a refusal': `update outcomes set refusal = 'INSUFFICIENT_BALANCE', sequence = null where ${entry(4)}`,
  'an outcome of another wallet': `update outcomes set wallet_id = '00000000-0000-7000-8000-000000000000' where ${entry(4)}`,
  'the balance of the wallet': `update wallets set balance = balance + 1 where id = $1`,
  'the number of entries of the wallet': `update wallets set sequence = sequence + 1 where id = $1`,
  'a freeze for a debt that is none': `update wallets set frozen_for = 'debt' where id = $1`,
}

/** After the first two, a checkpoint contradicts its entry; after the others, its entry may be missing. */
const ofCheckpoint = [
  'amount and balance of the last entry and of its outcome',
  'all balances from an entry on',
  'the last entry that is gone',
  'all entries that are gone',
]

describe('the one read and the statements that name faults agree on', () => {
  for (const [name, corruption] of Object.entries({ 'right books': '', ...corruptions }))
    test(name, async () => {
      const found: string[] = []
      for (const from of [0, 1, 3, 5])
        for (const until of from < 4 ? [endOfLedger, 4n] : [endOfLedger]) {
          const stretches = [stretch(wallets[0]!, 2), stretch(wallets[1]!, from, until)]
          const { isRight, faults } = await answersAfter(corruption, stretches)
          // It also compares the entry at the checkpoint with the checkpoint, which the others do only by what follows from it.
          const isWrong = faults.length > 0 || (ofCheckpoint.includes(name) && !isRight)
          expect({ from, until, faults, isRight }).toEqual({ from, until, faults, isRight: !isWrong })
          found.push(...faults)
        }
      expect(found.length === 0).toBe(corruption === '')
    })
})

describe('the statement that finds changed wallets checks what a list of them names', () => {
  for (const [name, corruption] of Object.entries({ 'right books': '', ...corruptions }))
    test(name, async () => {
      for (const from of [0, 1, 3, 5]) {
        const { page, listed } = await answersOfPage(corruption, from)
        expect({ from, ...page }).toEqual({ from, ...listed })
      }
    })
})

describe('one read of the entries of a range finds what the statements that name faults find in', () => {
  for (const [name, corruption] of Object.entries({ 'right books': '', ...corruptions }))
    test(name, async () => {
      const client = await rig.service.db.longRunning.pool.connect()
      try {
        await client.query('begin')
        await client.query(corruption.replaceAll('$1', `'${wallets[1]}'`))
        for (const [range, isOther] of [
          [{ from: null, until: null }, false],
          [{ from: wallets[1]!, until: null }, false],
          [{ from: null, until: wallets[1]! }, true],
        ] as const) {
          const faults = [...(await verifyEntries(client, range)), ...(await verifyEntryLinks(client, range))]
          const isRight = await areEntriesRight(client, range)
          expect({ range, isRight }).toEqual({ range, isRight: faults.length === 0 })
          if (isOther) expect(isRight).toBe(true)
        }
      } finally {
        await client.query('rollback')
        client.release()
      }
    })
})

test('the entry at the checkpoint has the balance of the checkpoint', async () => {
  const { pool } = rig.service.db
  const right = stretch(wallets[1]!, 3, 4n)
  expect(await areStretchesRight(pool, [right])).toBe(true)
  await pool.query('update transfers set balance_after = 371 where wallet_id = $1 and sequence = 3', [wallets[1]])
  expect(await areStretchesRight(pool, [stretch(wallets[1]!, 3, 3n)])).toBe(false)
  await pool.query('update transfers set balance_after = 370 where wallet_id = $1 and sequence = 3', [wallets[1]])
})

test('a page of changed wallets ends before the wallet that does not fit', async () => {
  const { pool } = rig.service.db
  const page = async (from: string | null, entries: number) => {
    const {
      areRight,
      wallets: count,
      until,
      isCut,
      ...found
    } = await checkNextChanges(pool, from, { wallets: 100, entries })
    return { areRight, count, entries: found.entries, until, isCut }
  }
  const [, second] = wallets
  expect(await page(null, 10)).toEqual({ areRight: true, count: 2, entries: 10, until: null, isCut: false })
  expect(await page(null, 9)).toEqual({ areRight: true, count: 1, entries: 5, until: second!, isCut: false })
  expect(await page(second!, 9)).toEqual({ areRight: true, count: 1, entries: 5, until: null, isCut: false })
  expect(await page(second!, 4)).toEqual({ areRight: true, count: 0, entries: 0, until: second!, isCut: true })
  await pool.query('update outcomes set balance = balance + 1 where wallet_id = $1 and sequence = 5', [second])
  expect(await page(null, 9)).toMatchObject({ areRight: true, until: second! })
  expect(await page(second!, 9)).toMatchObject({ areRight: false })
  await pool.query('update outcomes set balance = balance - 1 where wallet_id = $1 and sequence = 5', [second])
})

test('the checkpoints of a page are kept, of wallets that had one and of others', async () => {
  const client = (await rig.service.db.longRunning.pool.connect()) as PooledClient & Transaction
  try {
    await client.query('begin')
    await upsertCheckpoints(client, [stretch(wallets[0]!, 2)])
    await keepCheckpoints(client, await checkNextChanges(client, null, { wallets: 100, entries: 100 }))
    expect((await nextChanges(client, null, 100)).changed).toEqual([])
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('right stretches are read by one statement, and changed ones are named', async () => {
  const read = async (change: string) => {
    const client = await rig.service.db.longRunning.pool.connect()
    let reads = 0
    const counting = {
      query: (...call: Parameters<typeof client.query>) => {
        if (JSON.stringify(call[0]).includes('transfers')) reads++
        return client.query(...call)
      },
    } as unknown as Queryable
    try {
      await client.query('begin')
      await client.query(change)
      const faults = await verifyStretches(counting, [stretch(wallets[1]!, 1)], String)
      return [reads, faults.length]
    } finally {
      await client.query('rollback')
      client.release()
    }
  }
  expect(await read('select 1')).toEqual([1, 0])
  expect(await read(`delete from links where user_id = '${wallets[1]}'`)).toEqual([4, 1])
})
