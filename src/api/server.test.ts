import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { newClient, type Client } from '../../test/client.ts'
import { expectBalancedBooks } from '../../test/books.ts'
import { linkUser, newApp, newUser, openTestService, operator, type TestService } from '../../test/service.ts'
import { grantBonus } from '../actions/money/grant-bonus.ts'
import { freezeWallet, unfreezeWallet } from '../actions/money/manage-wallets.ts'
import { updateLinkDisconnected } from '../store/links.ts'

let opened: TestService
let credentials: { clientId: string; clientSecret: string }
let client: Client
let user: { userId: string; serviceUserId: string }
let su: string

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  client = newClient(opened.app.fetch, credentials)
})
beforeEach(async () => {
  user = await newUser(opened.service, credentials)
  su = user.serviceUserId
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const otherClient = async (changes: Parameters<typeof newApp>[1] = {}) => {
  const other = await newApp(opened.service, changes)
  return { ...other, client: newClient(opened.app.fetch, other) }
}

const seenBy = async (who: Client, id: string) =>
  ((await who.wallet(id)).body['transactions'] as { referenceId: string }[]).map(
    (transaction) => transaction.referenceId,
  )

describe('it works', () => {
  test('a credit and a debit answer the balance after them and a message', async () => {
    const credit = await client.credit(su, 100)
    expect(credit.status).toBe(200)
    expect(credit.body).toMatchObject({ balance: 100, message: 'Credited 100.00 USD.' })
    const debit = await client.debit(su, 19.99)
    expect(debit.status).toBe(200)
    expect(debit.body).toMatchObject({ balance: 80.01, message: 'Debited 19.99 USD.' })
    expect(debit.body['transactionId']).toMatch(/^txn_[0-9a-f]{32}$/)
    expect(debit.headers.has('idempotent-replayed')).toBeFalse()
  })

  test('a wallet shows its balance, its transactions newest first, and that it is active', async () => {
    await client.credit(su, 10, 'first')
    await client.debit(su, 2.5, 'second')
    const { status, body } = await client.wallet(su)
    expect(status).toBe(200)
    expect(body).toMatchObject({ balance: 7.5, isActive: true, currency: 'USD', nextBefore: null })
    const [second, first] = body['transactions'] as Record<string, unknown>[]
    expect(second).toMatchObject({
      type: 'DEBIT',
      amount: 2.5,
      balanceAfter: 7.5,
      currency: 'USD',
      referenceType: 'ORDER',
      referenceId: 'second',
      description: null,
      sequence: 2,
    })
    expect(second!['createdAt']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(first).toMatchObject({ type: 'CREDIT', amount: 10, balanceAfter: 10, sequence: 1 })
  })

  test('a new wallet is empty', async () => {
    expect((await client.wallet(su)).body).toMatchObject({ balance: 0, transactions: [], isActive: true })
  })

  test('pages follow each other without a gap or a repeat', async () => {
    for (let i = 1; i <= 7; i++) await client.credit(su, i)
    const seen: unknown[] = []
    let before: number | null | undefined
    do {
      const query: Record<string, string> = before === undefined ? {} : { before: String(before) }
      const { body } = await client.wallet(su, { limit: '3', ...query })
      seen.push(...(body['transactions'] as { sequence: number }[]).map((transaction) => transaction.sequence))
      before = body['nextBefore'] as number | null
    } while (before !== null)
    expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1])
  })

  test('fifty transactions come without a limit, and at most two hundred with one', async () => {
    await Promise.all(Array.from({ length: 60 }, () => client.credit(su, 1)))
    expect((await client.wallet(su)).body['transactions']).toHaveLength(50)
    expect((await client.wallet(su, { limit: '200' })).body['transactions']).toHaveLength(60)
  })

  test.each([
    ['0', true],
    ['9.99', true],
    ['10', true],
    ['10.00', true],
    ['10.01', false],
    ['999999999999.99', false],
  ])('a balance of 10 is sufficient for %s: %p', async (required, isSufficient) => {
    await client.credit(su, 10)
    expect((await client.checkBalance(su, required)).body).toEqual({
      balance: 10,
      available: 10,
      held: 0,
      requiredAmount: Number(required),
      hasSufficientBalance: isSufficient,
    })
  })

  test('an app sees its own transfers and the service’s own, never another app’s', async () => {
    const other = await otherClient()
    const otherSu = await linkUser(opened.service, other, user.userId)
    await client.credit(su, 10, 'mine')
    await other.client.credit(otherSu, 5, 'theirs')
    await grantBonus(opened.service, operator, {
      walletId: user.userId,
      amountMinor: 100n,
      referenceId: user.userId,
      reason: 'Welcome',
    })
    expect(await seenBy(client, su)).toEqual([user.userId, 'mine'])
    expect(await seenBy(other.client, otherSu)).toEqual([user.userId, 'theirs'])
    expect(await client.balance(su)).toBe(16)
  })

  test('the labels of the service’s own flows are free for an app, and pre-empt nothing', async () => {
    const referenceId = `bonus-${user.userId}`
    const body = { ...credentials, serviceUserId: su, amount: 1, referenceType: 'BONUS', referenceId }
    expect((await client.post('/api/server/wallet/credit', body)).status).toBe(200)
    const grant = { walletId: user.userId, amountMinor: 500n, referenceId, reason: 'Welcome' }
    expect(await grantBonus(opened.service, operator, grant)).toMatchObject({ kind: 'outcome' })
    expect(await client.balance(su)).toBe(6)
  })

  test('a description of any script and with new lines comes back as it was sent', async () => {
    const description = 'Заказ №5\n注文 🎉 "quoted" \\ {,}'
    const reference = { referenceType: 'ORDER "x", {y} \\', referenceId: `ünïcode-${user.userId}` }
    await client.post('/api/server/wallet/credit', {
      ...credentials,
      serviceUserId: su,
      amount: 1,
      ...reference,
      description,
    })
    const { body } = await client.wallet(su)
    expect((body['transactions'] as object[])[0]).toMatchObject({ ...reference, description })
  })
})

test.each(['x', '語', '🎉'])(
  'limits of length count characters, and the database holds what they allow: %s',
  async (one) => {
    const post = (more: object) =>
      client.post('/api/server/wallet/credit', {
        ...credentials,
        serviceUserId: su,
        amount: 1,
        referenceType: one.repeat(100),
        referenceId: `${one.repeat(254)}.`,
        description: one.repeat(500),
        ...more,
      })
    expect((await post({})).body).toMatchObject({ balance: 1 })
    expect((await post({})).body).toMatchObject({ balance: 1, replayed: true })
    const [transaction] = (await client.wallet(su)).body['transactions'] as Record<string, unknown>[]
    expect(transaction).toMatchObject({ referenceType: one.repeat(100), description: one.repeat(500) })
    const refused = { description: one.repeat(501), referenceId: one.repeat(256), referenceType: one.repeat(101) }
    const { status, body } = await post(refused)
    expect([status, body['fields']]).toEqual([
      400,
      {
        description: 'must have at most 500 characters',
        referenceId: 'must be text of 1 to 255 characters, without control characters',
        referenceType: 'must be text of 1 to 100 characters, without control characters',
      },
    ])
  },
)

describe('repeats', () => {
  test('a repeated reference returns the first outcome, marked as a replay, and moves nothing', async () => {
    await client.credit(su, 100)
    const first = await client.debit(su, 30, `order-${su}`)
    await client.debit(su, 50)
    const again = await client.debit(su, 30, `order-${su}`)
    expect(again.status).toBe(200)
    expect(again.body).toEqual({ ...first.body, replayed: true })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await client.balance(su)).toBe(20)
  })

  test('a repeated reference lists the fields that differ', async () => {
    const other = await newUser(opened.service, credentials)
    await client.credit(su, 100, `m-${su}`)
    const replayOf = async (...args: Parameters<Client['debit']>) => (await client.debit(...args)).body
    expect((await client.credit(su, 99, `m-${su}`)).body).toMatchObject({ balance: 100, mismatch: ['amount'] })
    expect(await replayOf(su, 100, `m-${su}`)).toMatchObject({
      message: 'Credited 100.00 USD.',
      mismatch: ['direction'],
    })
    expect(await replayOf(other.serviceUserId, 5, `m-${su}`)).toMatchObject({
      mismatch: ['amount', 'user', 'direction'],
    })
    expect(await replayOf('su_nobody', 100, `m-${su}`)).toMatchObject({ mismatch: ['user', 'direction'] })
    expect([await client.balance(su), await client.balance(other.serviceUserId)]).toEqual([100, 0])
  })

  test('a repeated reference that differs is a conflict for an app with strictReferences, an equal one is not', async () => {
    const strict = await otherClient({ strictReferences: true })
    const id = await linkUser(opened.service, strict, user.userId)
    await strict.client.credit(id, 10, 'strict')
    expect((await strict.client.credit(id, 10, 'strict')).body).toMatchObject({ replayed: true, balance: 10 })
    const conflict = await strict.client.credit(id, 11, 'strict')
    expect(conflict.status).toBe(409)
    expect(conflict.body).toMatchObject({ code: 'REFERENCE_CONFLICT', mismatch: ['amount'] })
    expect(await strict.client.balance(id)).toBe(10)
  })

  test('a repeated reference of another app is another reference', async () => {
    const other = await otherClient()
    const otherSu = await linkUser(opened.service, other, user.userId)
    await client.credit(su, 1, `same-${su}`)
    expect((await other.client.credit(otherSu, 2, `same-${su}`)).body).toMatchObject({ balance: 3 })
  })

  test('a reference first refused for lack of money is refused again, even after a top-up', async () => {
    const first = await client.debit(su, 5, `broke-${su}`)
    expect(first.status).toBe(400)
    expect(first.body).toMatchObject({ code: 'INSUFFICIENT_BALANCE', balance: 0, requiredAmount: 5, shortfall: 5 })
    expect(first.body['error']).toContain('new referenceId')
    await client.credit(su, 100)
    const again = await client.debit(su, 5, `broke-${su}`)
    expect(again.status).toBe(400)
    const { requestId: _, ...original } = first.body
    expect(again.body).toMatchObject({ ...original, replayed: true })
    expect((await client.debit(su, 5, `broke2-${su}`)).body).toMatchObject({ balance: 95 })
  })

  test('a reference whose first use was malformed, unauthorised, unknown or frozen is free', async () => {
    const reference = `free-${su}`
    await client.debit(su, -1, reference)
    await client.debit('su_unknown', 1, reference)
    await newClient(opened.app.fetch, { ...credentials, clientSecret: 'wrong' }).debit(su, 1, reference)
    await freezeWallet(opened.service, operator, user.userId, 'test')
    expect((await client.debit(su, 1, reference)).body).toMatchObject({ code: 'WALLET_INACTIVE' })
    await unfreezeWallet(opened.service, operator, user.userId, 'test')
    await client.credit(su, 10)
    const used = await client.debit(su, 1, reference)
    expect(used.body).toMatchObject({ balance: 9 })
    expect(used.body).not.toHaveProperty('replayed')
  })

  test('a repeated reference is replayed while the wallet is frozen, and after the user disconnected the app', async () => {
    const reference = `late-${su}`
    await client.credit(su, 10, reference)
    await freezeWallet(opened.service, operator, user.userId, 'test')
    expect((await client.credit(su, 10, reference)).body).toMatchObject({ balance: 10, replayed: true })
    await updateLinkDisconnected(opened.service.db.pool, user.userId, su)
    const { status, body } = await client.credit(su, 10, reference)
    expect(status).toBe(200)
    expect(body).toMatchObject({ balance: 10, replayed: true })
    expect(body).not.toHaveProperty('mismatch')
  })

  test('a reference used twice at the same time moves money once, and both calls get its outcome', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => client.credit(su, 7, `burst-${su}`)))
    expect(new Set(replies.map((reply) => reply.body['balance']))).toEqual(new Set([7]))
    expect(replies.filter((reply) => !reply.body['replayed'])).toHaveLength(1)
    expect(await client.balance(su)).toBe(7)
  })
})

describe('it refuses', () => {
  test('a debit beyond the balance, with the shortfall', async () => {
    await client.credit(su, 10)
    const { status, body } = await client.debit(su, 10.01)
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INSUFFICIENT_BALANCE', balance: 10, requiredAmount: 10.01, shortfall: 0.01 })
    expect(await client.balance(su)).toBe(10)
  })

  test('a debit on a frozen wallet, while a credit still posts', async () => {
    await client.credit(su, 10)
    await freezeWallet(opened.service, operator, user.userId, 'suspicious')
    const { status, body } = await client.debit(su, 1)
    expect([status, body['code']]).toEqual([403, 'WALLET_INACTIVE'])
    expect((await client.credit(su, 1)).body).toMatchObject({ balance: 11 })
    expect((await client.wallet(su)).body).toMatchObject({ isActive: false, balance: 11 })
  })

  test('a credit beyond what a balance may be', async () => {
    const most = { walletId: user.userId, amountMinor: 10n ** 15n - 101n, referenceId: `most-${su}`, reason: 'Much' }
    await grantBonus(opened.service, operator, most)
    const refused = await client.credit(su, 1.01)
    expect([refused.status, refused.body['code']]).toEqual([400, 'BALANCE_LIMIT'])
    expect((await client.credit(su, 1)).body['balance']).toBe(9_999_999_999_999.99)
    expect((await client.credit(su, 0.01)).body['code']).toBe('BALANCE_LIMIT')
  })

  test('a user of another app, or none: 401 to a read, 404 to a debit or credit', async () => {
    const other = await otherClient()
    const theirs = (await newUser(opened.service, other)).serviceUserId
    for (const id of ['su_unknown', theirs, '💰', '../../etc', "'; drop table wallets; --"]) {
      for (const reply of [await client.wallet(id), await client.checkBalance(id, '1')]) {
        expect([reply.status, reply.body['code'], reply.body['requiresAuth']]).toEqual([401, 'USER_NOT_FOUND', true])
      }
      for (const reply of [await client.debit(id, 1), await client.credit(id, 1)]) {
        expect([reply.status, reply.body['code'], reply.body['requiresAuth']]).toEqual([404, 'USER_NOT_FOUND', true])
      }
    }
  })

  test('a call that the app has no scope for, before it checks the rest', async () => {
    const reader = await otherClient({ scopes: ['wallet:read'] })
    const writer = await otherClient({ scopes: ['wallet:write'] })
    const refusals = [
      await reader.client.debit('x', -1),
      await writer.client.wallet('x'),
      await writer.client.checkBalance('x', '-'),
    ]
    for (const { status, body } of refusals) expect([status, body['code']]).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect((await reader.client.wallet('su_x')).status).toBe(401)
    expect((await writer.client.debit('su_x', 1)).status).toBe(404)
  })
})

test('a field that is given twice is refused, whichever of the two is right', async () => {
  const rest = { serviceUserId: su, amount: 1, referenceType: 'ORDER', referenceId: 'twice' }
  const fields = Object.entries({ ...credentials, ...rest }).map(
    ([name, value]) => `"${name}":${JSON.stringify(value)}`,
  )
  const send = async (body: string) => {
    const request = new Request('http://billfold.test/api/server/wallet/credit', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const { status, body: answer } = await client.call(request)
    return [status, answer['fields']]
  }
  for (const [name, other] of Object.entries({ clientId: '"app_x"', clientSecret: '"wrong"', amount: '2' }))
    for (const twice of [
      [`"${name}":${other}`, ...fields],
      [...fields, `"${name}":${other}`],
    ])
      expect(await send(`{${twice.join()}}`)).toEqual([400, { [name]: 'is given twice' }])
  expect(await client.balance(su)).toBe(0)
})
