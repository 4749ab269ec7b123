/** Orders of money by operators, sent to two real processes at once: an id binds its content, and a limit is on the person. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { beginPatiently } from './lock-waits.ts'
import { formTokenOf } from '../src/actions/operators/manage-sessions.ts'
import { findWallet } from '../src/store/wallets.ts'
import { expectBalancedBooks } from './books.ts'
import { eventually } from './eventually.ts'
import { newOperator, type TestOperator } from './operator.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { newApp, newUsers, openTestService, secretsKey, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let processes: ServiceProcess[]
let shop: Credentials
let walletId: string
/** Other people in every test, because the limit counts what a person moved in all wallets. */
let ada: TestOperator
let bob: TestOperator

beforeAll(async () => {
  opened = await openTestService({ CORRECTION_APPROVAL_ABOVE: '100' })
  shop = await newApp(opened.service)
  const environment = {
    DATABASE_URL: opened.databaseUrl,
    CORRECTION_APPROVAL_ABOVE: '100',
    SECRETS_KEY: secretsKey,
  }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
})
beforeEach(async () => {
  ada = await newOperator(opened, 'finance')
  bob = await newOperator(opened, 'finance')
  walletId = await newWallet()
})
afterEach(() => expectBalancedBooks(opened.service))
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await opened.close()
})

const newWallet = async () => (await newUsers(opened.service, shop, 1))[0]!.userId
const balance = async (id = walletId) => (await findWallet(opened.service.db.pool, id))!.balanceMinor
const query = async <T>(sql: string, values: unknown[] = []) =>
  (await opened.service.db.pool.query(sql, values)).rows as T[]

type Answer = { readonly status: number; readonly to: string }

async function send(by: TestOperator, process: number, path: string, fields: Record<string, string>): Promise<Answer> {
  const { url } = processes[process % processes.length]!
  const response = await fetch(url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: `billfold-session=${by.token}`, origin: url, 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ _token: formTokenOf(by.token), ...fields }),
  })
  await response.text()
  return { status: response.status, to: response.headers.get('location') ?? '' }
}

const grant = (amount: string, referenceId: string, process = 0, by = ada, id = walletId) =>
  send(by, process, `/admin/wallets/${id}/bonus/grant`, { amount, bonusReason: 'Sorry', referenceId })

const correct = (amount: string, id: string, process = 0, by = ada, wallet = walletId) =>
  send(by, process, `/admin/wallets/${wallet}/correct/order`, {
    id,
    amount,
    direction: 'credit',
    account: 'adjustments',
    transaction: '',
    reason: 'Sorry',
  })

const waitingOf = (answers: readonly Answer[]) =>
  answers.flatMap(({ to }) => /corrections\/([^?]+)\?done=correction-waiting/.exec(to)?.[1] ?? [])

async function approve(ids: readonly string[]): Promise<void> {
  for (const id of new Set(ids))
    expect((await send(bob, 1, `/admin/corrections/${id}/approve`, {})).to).toContain('done=correction-done')
}

describe('of 0.01 and nine times 70,000 with one id, sent at once to two processes,', () => {
  test.each([
    ['bonus', grant],
    ['correction', correct],
  ])('one content wins, and the %s is credited exactly, above the limit only after approval', async (_, order) => {
    for (let round = 0; round < 6; round++) {
      walletId = await newWallet()
      const id = crypto.randomUUID()
      const at = round < 3 ? 0 : 5
      const answers = await Promise.all(
        Array.from({ length: 10 }, (__, i) => order(i === at ? '0.01' : '70000', id, i + round)),
      )
      const small = answers[at]!
      const large = answers.filter((__, i) => i !== at)
      const isSmall = small.status === 303
      expect(new Set(large.map(({ status }) => status))).toEqual(new Set([isSmall ? 409 : 303]))
      expect([small.status, await balance()]).toEqual(isSmall ? [303, 1n] : [409, 0n])
      const waiting = waitingOf(large)
      expect(new Set(waiting).size).toBe(isSmall ? 0 : 1)
      await approve(waiting)
      expect(await balance()).toBe(isSmall ? 1n : 7_000_000n)
      // Afterwards too: the first result again, and other content is refused.
      const again = await Promise.all([order('0.01', id, 0), order('70000', id, 1)])
      expect(again.map(({ status }) => status)).toEqual(isSmall ? [303, 409] : [409, 303])
      expect(await balance()).toBe(isSmall ? 1n : 7_000_000n)
    }
  })
})

describe('of one reference the bonus that was handed in first is posted,', () => {
  test('while the wallet is locked, and later ones with another amount are refused at once', async () => {
    const referenceId = crypto.randomUUID()
    const { first, release } = await sendHeld(() => grant('0.01', referenceId))
    const later = await Promise.all(Array.from({ length: 9 }, (_, i) => grant('70000', referenceId, i)))
    expect(later.map(({ status }) => status)).toEqual(Array(9).fill(409))
    await release()
    expect((await first).to).toContain('done=bonus-granted')
    expect(await balance()).toBe(1n)
  })

  test('also by another process, when its own dies before the posting', async () => {
    const referenceId = crypto.randomUUID()
    processes.push(await startProcess({ DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey }))
    const { first, release } = await sendHeld(() => grant('0.01', referenceId, 2))
    const died = first.then(
      () => 'answered',
      () => 'died',
    )
    await processes.pop()!.kill()
    expect(await died).toBe('died')
    await release()
    expect((await grant('70000', referenceId, 0)).status).toBe(409)
    await query(`update work set due_at = now() where kind = 'post-bonus'`)
    await eventually(() => balance(), 1n)
    expect((await grant('0.01', referenceId, 1)).to).toContain('done=bonus-granted')
    const granted = `select 1 from audit where action = 'wallet.bonus-granted' and subject = $1`
    expect(await query(granted, [`wallet:${walletId}`])).toHaveLength(1)
    // The process that posted it records the end of the work after that.
    await eventually(() => query(`select 1 from work where kind = 'post-bonus'`), [])
  })
})

/** Sends the order while another transaction holds the wallet's row, and waits until the order is on record. */
async function sendHeld(
  order: () => Promise<Answer>,
): Promise<{ first: Promise<Answer>; release: () => Promise<void> }> {
  const blocker = await opened.service.db.longRunning.pool.connect()
  await beginPatiently(blocker)
  await blocker.query('select 1 from wallets where id = $1 for update', [walletId])
  const first = order()
  const ordered = `select 1 as ordered from audit where action = 'wallet.bonus-ordered' and subject = $1`
  await eventually(() => query(ordered, [`wallet:${walletId}`]), [{ ordered: 1 }])
  const release = async () => {
    await blocker.query('rollback')
    blocker.release()
  }
  return { first, release }
}

test('one operator moves no more than the limit alone, in any number of wallets and orders at once', async () => {
  const wallets = (await newUsers(opened.service, shop, 10)).map(({ userId }) => userId)
  const answers = await Promise.all(
    wallets.map((id, i) => (i % 4 < 2 ? grant : correct)('30', crypto.randomUUID(), i, ada, id)),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([303]))
  const total = async () => (await Promise.all(wallets.map((id) => balance(id)))).reduce((sum, each) => sum + each, 0n)
  expect([waitingOf(answers).length, await total()]).toEqual([7, 90_00n])
  expect(waitingOf([await grant('10', crypto.randomUUID(), 0, ada, wallets[0])])).toEqual([])
  expect(waitingOf([await correct('0.01', crypto.randomUUID(), 1, ada, wallets[1])])).toHaveLength(1)
  // Every person has a separate limit.
  expect(waitingOf([await grant('100', crypto.randomUUID(), 0, bob, wallets[2])])).toEqual([])
  expect(await total()).toBe(200_00n)
})
