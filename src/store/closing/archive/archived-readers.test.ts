/** What people, apps and operators see of entries that are in files: never less than the truth. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectDone, openArchiveBench, setBack, type ArchiveBench } from '../../../../test/archived-period.ts'
import { callCommand } from '../../../../test/command.ts'
import { deviceOf } from '../../../../test/devices.ts'
import { newOperator, type TestOperator } from '../../../../test/operator.ts'
import { newPage } from '../../../../test/page.ts'
import { newUser, type TestUser } from '../../../../test/service.ts'
import { beginDayThatStays } from '../../../../test/time.ts'
import { receiptCodeOf } from '../../../ledger/receipt-code.ts'
import { findReceiptUrl } from '../../../actions/proofs/check-receipt.ts'
import { findEntry } from '../../../actions/money/order-paper.ts'

setDefaultTimeout(180_000)

let bench: ArchiveBench
let viewer: TestOperator
/** With archived entries and new ones. */
let ann: TestUser
/** With archived entries alone. */
let bob: TestUser
let transactionId: string
let receiptPath: string

const month = (ago: number) => {
  const at = new Date()
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - ago)).toISOString().slice(0, 7)
}

/** How many days ago the archived entries are: in the last third of the month before, on every day of a month. */
let daysAgo: number

beforeAll(async () => {
  await beginDayThatStays()
  daysAgo = new Date().getUTCDate() + 9
  bench = await openArchiveBench()
  const { service, client, credentials } = bench
  viewer = await newOperator(bench.opened, 'viewer')
  ann = await newUser(service, credentials)
  bob = await newUser(service, credentials)
  await client.credit(ann.serviceUserId, 100, 'old-1')
  const debit = await client.debit(ann.serviceUserId, 12.5, 'old-2')
  transactionId = String(debit.body['transactionId'])
  await client.credit(bob.serviceUserId, 8, 'old-3')
  await setBack(service, daysAgo)
  await bench.close()
  const entry = await findEntry(service, ann.userId, 2)
  if (!entry || entry === 'archived') throw new Error('there is no entry')
  receiptPath = new URL((await findReceiptUrl(service, entry.transfer))!).pathname
  expectDone(await bench.write(1))
  expectDone(await bench.drop(1))
  await client.debit(ann.serviceUserId, 7.5, 'new-1')
})
afterAll(async () => await bench.stop())

const pageOf = async (user: TestUser) => {
  const { cookie } = await deviceOf(bench.service, { userId: user.userId, clientId: bench.credentials.clientId })
  const { body } = await bench.client.post('/api/widget/session', {
    ...bench.credentials,
    serviceUserId: user.serviceUserId,
  })
  const session = String(body['sessionToken'])
  const page = newPage(bench.opened.app.fetch, undefined, { cookie })
  return {
    get: async (path: string, query: Record<string, string> = {}) =>
      (await page.call('GET', `/api/widget/${path}?${new URLSearchParams({ session, ...query })}`)).body,
    paper: async (fields: object) => {
      const ordered = await page.post(`/api/widget/papers?session=${session}`, {
        lang: 'en',
        timeZone: 'UTC',
        ...fields,
      })
      if (ordered.status !== 200) return { status: ordered.status, text: JSON.stringify(ordered.body) }
      const response = await bench.opened.app.fetch(new Request(`http://billfold.test${String(ordered.body['path'])}`))
      return { status: response.status, text: await response.text() }
    },
  }
}

const see = async (path: string) => await (await viewer.get(path)).text()

const line = 'Older entries are in the archive.'

const check = async (path: string) => {
  const response = await bench.opened.app.fetch(new Request(`http://billfold.test${path}?lang=en`))
  return [response.status, /<h1[^>]*>([^<]*)/.exec(await response.text())?.[1]]
}

const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)

const run = async (...args: string[]) => {
  const { stdout, stderr } = await callCommand(args, bench.environment)
  return stdout + stderr
}

describe('archived entries', () => {
  test('an app reads that older transactions are archived, at the end of its list', async () => {
    const { client } = bench
    const { body } = await client.wallet(ann.serviceUserId)
    expect(body).toMatchObject({ balance: 80, nextBefore: null, hasArchived: true })
    expect((body['transactions'] as { referenceId: string }[]).map(({ referenceId }) => referenceId)).toEqual(['new-1'])
    expect((await client.wallet(bob.serviceUserId)).body).toMatchObject({
      balance: 8,
      transactions: [],
      hasArchived: true,
    })
    const none = await newUser(bench.service, bench.credentials)
    expect((await client.wallet(none.serviceUserId)).body['hasArchived']).toBeUndefined()
  })

  test('a user sees it in the wallet, the activity and its sums', async () => {
    const page = await pageOf(ann)
    expect(await page.get('wallet')).toMatchObject({ hasArchived: true })
    const activity = await page.get('activity')
    expect(activity).toMatchObject({ nextBefore: null, left: 0, hasArchived: true })
    expect((activity['transactions'] as unknown[]).length).toBe(1)
    expect(await page.get('activity/sums')).toMatchObject({ nextBefore: null, searched: 1, hasArchived: true })
    const recent = { from: `${month(0)}-01T00:00:00.000Z`, until: new Date(Date.now() + 86_400_000).toISOString() }
    expect((await page.get('activity', recent))['hasArchived']).toBeUndefined()
    expect((await page.get('activity/sums', recent))['hasArchived']).toBeUndefined()
    const past = { from: '2020-01-01T00:00:00.000Z', until: `${month(0)}-01T00:00:00.000Z` }
    expect(await page.get('activity', past)).toMatchObject({ transactions: [], hasArchived: true })
  })

  test('a time before the wallet began has no entries, and is not called archived', async () => {
    const page = await pageOf(ann)
    const before = { from: '2020-01-01T00:00:00.000Z', until: '2020-02-01T00:00:00.000Z' }
    const empty = await page.get('activity', before)
    expect(empty).toMatchObject({ transactions: [], nextBefore: null, left: 0 })
    expect(empty['hasArchived']).toBeUndefined()
    expect((await page.get('activity/sums', before))['hasArchived']).toBeUndefined()
    const statement = await page.paper({ kind: 'statement', month: '2020-01' })
    expect(statement.status).toBe(200)
    expect(statement.text).toContain('$0.00')
    expect(statement.text).not.toContain('$87.50')
    const wallet = await see(`/admin/wallets/${ann.userId}?month=2020-01`)
    expect(wallet).toContain('No entry of this wallet matches the filter.')
    expect(wallet).not.toContain('archive')
    const file = await viewer.get(`/admin/wallets/${ann.userId}/statement?month=2020-01`)
    expect([file.status, (await file.text()).match(/(OPENING|CLOSING),,0\.00/g)]).toEqual([
      200,
      ['OPENING,,0.00', 'CLOSING,,0.00'],
    ])
  })

  test('the statement of a month after them is right, and that of a month with them says that they are archived', async () => {
    const page = await pageOf(ann)
    const now = await page.paper({ kind: 'statement', month: month(0) })
    expect(now.status).toBe(200)
    expect(now.text).toContain('$87.50')
    expect(now.text).toContain('$80.00')
    for (const each of [month(1), month(2)]) {
      const { status, text } = await page.paper({ kind: 'statement', month: each })
      expect([each, status]).toEqual([each, 410])
      expect(text).toContain('This page needs entries that are in the archive.')
    }
  })

  test('a receipt, a selection and the data of a user say it', async () => {
    const page = await pageOf(ann)
    expect((await page.paper({ kind: 'receipt', sequence: 3 })).status).toBe(200)
    expect(await page.paper({ kind: 'receipt', sequence: 2 })).toMatchObject({
      status: 400,
      text: expect.stringContaining('is in the archive') as string,
    })
    expect((await page.paper({ kind: 'receipt', sequence: 9 })).text).not.toContain('archive')
    expect((await page.paper({ kind: 'selection', direction: 'out' })).text).toContain(line)
    expect(await check(receiptPath)).toEqual([200, 'This receipt is in the archive'])
    const forged = `${receiptPath.slice(0, -3)}AAA`
    expect((await check(forged))[0]).toBe(404)
  })

  test('an operator sees it on the wallet, in a search, in the inspector and in files', async () => {
    const wallet = await see(`/admin/wallets/${ann.userId}`)
    expect(wallet).toContain('Entries 1 to 2 are in the archive')
    expect(await see(`/admin/wallets/${bob.userId}`)).toContain('Every entry of this wallet is there.')
    expect(await see(`/admin/wallets/${ann.userId}/ledger.csv`)).toContain('entries 1 to 2 are in the archive')
    const statement = await viewer.get(`/admin/wallets/${ann.userId}/statement?month=${month(1)}`)
    expect([statement.status, (await statement.text()).includes('needs the archive')]).toEqual([410, true])
    expect(await see(`/admin/search?q=${transactionId}`)).toContain('is in the archive')
    const code = receiptCodeOf(transactionId.slice('txn_'.length))
    expect(await see(`/admin/search?q=${code}`)).toContain('is in the archive')
    expect(await see(`/admin/search?q=12.50`)).toContain('except those in the archive')
    expect(await see(`/admin/references?code=${code}`)).toContain('This receipt is of an archived transaction')
    const story = await see('/admin/references?type=ORDER&id=old-2')
    expect(story).toContain('in the archive, with its description: npx billfold archive restore')
    expect(story).toContain('−$12.50')
    const ledger = `/admin/client-apps/${bench.credentials.clientId}/ledger.csv?from=${day(daysAgo + 20)}&until=${day(daysAgo - 5)}`
    const refused = await viewer.get(ledger)
    expect([refused.status, (await refused.text()).includes('are in the archive')]).toEqual([410, true])
  })

  test('the commands say it', async () => {
    expect(await run('period', 'list')).toContain('archived, in files, since')
    const verified = await run('verify')
    expect(verified).toMatch(/The books are exact: \d+ wallets, 4 transfers/)
    expect(verified).toContain('Of the transfers, 3 are in the archive')
    expect(verified).toMatch(/The sum of all balances is 88\.00 USD\.[^]*First entry in the database: /)
    expect(await run('wallet', 'show', ann.userId)).toMatch(/older\s+in the archive/)
    expect(await run('wallet', 'receipt', receiptCodeOf(transactionId.slice('txn_'.length)))).toContain(
      'is in the archive',
    )
    expect(await run('log', 'prove', ann.userId, '2')).toContain('entries that are in the archive')
  })
})
