/** The proof of an app's own position at the end of a day. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { verifyProof } from '../../../sdk/verify.ts'
import { beginLog } from '../../actions/proofs/seal-books.ts'
import { walletsAfter } from '../../actions/proofs/seal-day.ts'
import { verifyLog } from '../../actions/proofs/verify-log.ts'
import { hashFirstDay, hashFirstLines } from '../../proof/day-tree.ts'
import { transact } from '../../store/connection/database.ts'
import { getEndedDay, insertDay, listAccountLines } from '../../store/proofs/day-leaves.ts'
import { appendLeaves, lockLog } from '../../store/proofs/proof-log.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { endDay, newestSigned, queryEach, sealAll } from '../../../test/sealed-books.ts'
import { newApp, newUser, openTestService } from '../../../test/service.ts'
import type { Credentials, TestService } from '../../../test/service.ts'

let opened: TestService
let shop: Credentials
let other: Credentials
let idle: Credentials
let day: string
/** The day of all entries. */
let movedOn: string

const clientOf = (app: Credentials) => newClient(opened.app.fetch, app)

const proofOf = async (fields: Record<string, unknown>, by: Credentials = shop) =>
  await clientOf(by).get('/api/server/proof', fields as Record<string, string>)

async function spend(client: Client, app: Credentials, credit: number, debit: number): Promise<void> {
  const { serviceUserId } = await newUser(opened.service, app)
  await client.credit(serviceUserId, credit)
  await client.debit(serviceUserId, debit)
}

beforeAll(async () => {
  opened = await openTestService()
  ;[shop, other, idle] = [await newApp(opened.service), await newApp(opened.service), await newApp(opened.service)]
  await spend(clientOf(shop), shop, 100, 30.25)
  await spend(clientOf(other), other, 20, 7)
  await endDay(opened.service)
  const { pool } = opened.service.db
  day = await getEndedDay(pool)
  movedOn = (await pool.query<{ day: string }>('select max(day)::text as day from positions')).rows[0]!.day
})
afterAll(async () => await opened.close())

test('a day that is not sealed yet says so, whether it is over or not', async () => {
  const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
  for (const each of [day, tomorrow, '2099-12-31'])
    expect(await proofOf({ day: each })).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', error: expect.stringContaining('not sealed yet') as string },
    })
})

const dayBefore = (each: string) => new Date(Date.parse(each) - 86_400_000).toISOString().slice(0, 10)

/** As the service did before positions could be proven alone: two days, of which one has entries. */
async function sealFirstVersion(): Promise<void> {
  const { service } = opened
  await beginLog(service)
  await transact(service.db, async (tx) => {
    let { peaks } = (await lockLog(tx))!
    let before: { readonly day: string; readonly walletsMinor: bigint } | undefined
    for (const each of [dayBefore(dayBefore(day)), dayBefore(day)]) {
      const salt = new Uint8Array(32).fill(5)
      const after = before?.day ?? null
      const lines = await listAccountLines(tx, after, each)
      const hashes = hashFirstLines(lines, salt)
      const walletsMinor = walletsAfter(before?.walletsMinor ?? 0n, lines)
      const hash = hashFirstDay({ day: each, after, walletsMinor }, hashes)
      const appended = await appendLeaves(tx, peaks, [{ kind: 'books', subject: null, size: null, hash }])
      const marks = Buffer.concat(hashes.map((mark) => mark.subarray(0, 6)))
      const accounts = lines.map(({ account }) => account)
      const sealed = { day: each, version: 1, salt, walletsMinor, accounts, marks } as const
      await insertDay(tx, { ...sealed, leaf: appended.first })
      ;({ peaks } = appended)
      before = sealed
    }
  })
}

test('each app gets the proof of its own position, and nothing of another', async () => {
  await sealFirstVersion()
  await sealAll(opened.service)
  const expected = [
    [shop, { debitedMinor: 3025n, creditedMinor: 10_000n, balanceMinor: -6975n }],
    [other, { debitedMinor: 700n, creditedMinor: 2000n, balanceMinor: -1300n }],
  ] as const
  for (const [app, sums] of expected) {
    const { status, body } = await proofOf({ day }, app)
    expect(status).toBe(200)
    const { proof, key } = body as { proof: string; key: string }
    const verdict = await verifyProof(proof, { keys: [key] })
    const account = `app:${app.clientId}`
    expect(verdict).toMatchObject({
      ok: true,
      kind: 'position',
      position: { day, account, currency: 'USD', entries: 2n, ...sums, signedAt: expect.any(Date) as Date },
    })
    const stranger = app === shop ? other : shop
    const extra = Buffer.from(proof.split('\n')[1]!.slice('extra '.length), 'base64').toString()
    expect(extra).not.toContain(stranger.clientId)
    expect(proof.length).toBeLessThan(4_096)
  }
})

test('an app without entries, and days that were not sealed, have no proof', async () => {
  expect(await proofOf({ day }, idle)).toMatchObject({
    status: 404,
    body: { error: 'This app had no entries when this day ended.' },
  })
  for (const each of [dayBefore(day), '2000-01-01'])
    expect(await proofOf({ day: each })).toMatchObject({
      status: 404,
      body: { error: `The books were not sealed at the end of this day. The next sealed day is ${day}.` },
    })
})

test('exactly one of a day and a reference is taken', async () => {
  const reference = { referenceType: 'ORDER', referenceId: 'a' }
  const problem = 'must not be given with a day'
  const cases: readonly (readonly [Record<string, string>, Record<string, string>])[] = [
    [
      { day, ...reference },
      { referenceType: problem, referenceId: problem },
    ],
    [{ day, referenceId: 'a' }, { referenceId: problem }],
    [{ day, since: '1' }, { since: problem }],
    [{ referenceType: 'ORDER' }, { referenceId: 'is missing: give the reference of an entry, or a day' }],
  ]
  for (const [fields, wrong] of cases)
    expect(await proofOf(fields)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', fields: wrong } })
  const none = await proofOf({})
  expect([none.status, Object.keys(none.body['fields'] as object)]).toEqual([400, ['referenceType', 'referenceId']])
})

test('what is no day is refused', async () => {
  const wrong = [
    '',
    ' ',
    'yesterday',
    '2026-3-3',
    '2026-02-30',
    '2026-13-01',
    '20260303',
    `${day}T00:00:00Z`,
    `${day} `,
  ]
  for (const each of [
    ...wrong,
    '-1',
    '9'.repeat(5_000),
    '\0',
    '\ud800',
    "2026-03-03'; drop table x",
    '0000-01-01',
    '١٩٩٩-٠١-٠١',
  ])
    expect([each.slice(0, 30), await proofOf({ day: each })]).toMatchObject([
      each.slice(0, 30),
      { status: 400, body: { code: 'INVALID_REQUEST' } },
    ])
  const query = new URLSearchParams([...Object.entries(shop), ['day', day], ['day', day]])
  const twice = await opened.app.fetch(new Request(`http://billfold.test/api/server/proof?${query}`))
  expect([twice.status, ((await twice.json()) as { fields: unknown }).fields]).toEqual([400, { day: 'is given twice' }])
})

test('wrong credentials and an app that may not read get no proof', async () => {
  expect(await proofOf({ day }, { ...shop, clientSecret: other.clientSecret })).toMatchObject({ status: 401 })
  const writer = await newApp(opened.service, { scopes: ['wallet:write'] })
  expect(await proofOf({ day }, writer)).toMatchObject({ status: 403, body: { code: 'INSUFFICIENT_SCOPE' } })
})

test('a day of the first version is compared with the books too', async () => {
  const { service } = opened
  const faults = async () => await Array.fromAsync(verifyLog(service.db.pool, await newestSigned(service), 'USD'))
  const { rows } = await service.db.pool.query('select version from log_days order by day')
  expect([rows, await faults()]).toEqual([[{ version: 1 }, { version: 1 }, { version: 2 }], []])
  const account = `app:${other.clientId}`
  await queryEach(
    service.db.pool,
    `update positions set transfers = transfers + 1 where counter_account = '${account}'`,
  )
  const found = await faults()
  await queryEach(
    service.db.pool,
    `update positions set transfers = transfers - 1 where counter_account = '${account}'`,
  )
  expect(found).toEqual([{ kind: 'books', day: movedOn, account }])
})

test('a changed position is named once, with its first day, and no proof of it is made', async () => {
  const { service } = opened
  await queryEach(
    service.db.pool,
    `update positions set debited = debited + 1 where counter_account = 'app:${shop.clientId}'`,
  )
  try {
    expect((await proofOf({ day })).status).toBe(500)
    // The other app's proof does not depend on it.
    expect((await proofOf({ day }, other)).status).toBe(200)
    const faults = await Array.fromAsync(verifyLog(service.db.pool, await newestSigned(service), 'USD'))
    expect(faults).toEqual([{ kind: 'books', day: movedOn, account: `app:${shop.clientId}` }])
  } finally {
    await queryEach(
      service.db.pool,
      `update positions set debited = debited - 1 where counter_account = 'app:${shop.clientId}'`,
    )
  }
  expect((await proofOf({ day })).status).toBe(200)
})
