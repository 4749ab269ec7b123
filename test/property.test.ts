/** Any sequence of calls, against a model small enough to be believed. A failure prints its seed and shrinks. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { freezeWallet, unfreezeWallet } from '../src/actions/money/manage-wallets.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client } from './client.ts'
import {
  newApp,
  newUsers,
  openTestService,
  operator,
  type Credentials,
  type TestService,
  type TestUser,
} from './service.ts'

type Outcome = { user: number; cents: number; isDebit: boolean; isPosted: boolean; balance: number }
type Model = { balances: number[]; frozen: boolean[]; outcomes: Map<number, Outcome>; posted: number }
type Real = { client: Client; users: TestUser[]; prefix: string }

let opened: TestService
let credentials: Credentials
let server: ReturnType<typeof Bun.serve>

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  server = Bun.serve({ port: 0, idleTimeout: 60, fetch: (request) => opened.app.fetch(request) })
})
afterAll(async () => {
  await server.stop(true)
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const userCount = 3

class Post implements fc.AsyncCommand<Model, Real> {
  readonly ask: { user: number; cents: number; isDebit: boolean; reference: number }
  constructor(ask: Post['ask']) {
    this.ask = ask
  }
  check = () => true
  toString = () => `${this.ask.isDebit ? 'debit' : 'credit'}(${JSON.stringify(this.ask)})`

  async run(model: Model, { client, users, prefix }: Real): Promise<void> {
    const { user, cents, isDebit, reference } = this.ask
    const post = isDebit ? client.debit : client.credit
    const { status, body, headers } = await post(users[user]!.serviceUserId, cents / 100, `${prefix}-${reference}`)
    const before = model.outcomes.get(reference)
    if (!before && isDebit && model.frozen[user]) {
      expect([status, body['code']]).toEqual([403, 'WALLET_INACTIVE'])
      return
    }
    const outcome = before ?? this.#apply(model)
    expect(status).toBe(outcome.isPosted ? 200 : 400)
    expect(body['balance']).toBe(outcome.balance / 100)
    if (!outcome.isPosted) expect(body['shortfall']).toBe((outcome.cents - outcome.balance) / 100)
    expect(headers.get('idempotent-replayed')).toBe(before ? 'true' : null)
    const mismatch = [
      ...(outcome.cents === cents ? [] : ['amount']),
      ...(outcome.user === user ? [] : ['user']),
      ...(outcome.isDebit === isDebit ? [] : ['direction']),
    ]
    expect(body['mismatch'] ?? []).toEqual(mismatch)
  }

  #apply(model: Model): Outcome {
    const { user, cents, isDebit, reference } = this.ask
    const after = model.balances[user]! + (isDebit ? -cents : cents)
    const isPosted = after >= 0
    if (isPosted) {
      model.balances[user] = after
      model.posted++
    }
    const outcome = { user, cents, isDebit, isPosted, balance: model.balances[user]! }
    model.outcomes.set(reference, outcome)
    return outcome
  }
}

class Freeze implements fc.AsyncCommand<Model, Real> {
  readonly user: number
  readonly isFreeze: boolean
  constructor(user: number, isFreeze: boolean) {
    this.user = user
    this.isFreeze = isFreeze
  }
  check = () => true
  toString = () => `${this.isFreeze ? 'freeze' : 'unfreeze'}(${this.user})`

  async run(model: Model, { users }: Real): Promise<void> {
    const change = this.isFreeze ? freezeWallet : unfreezeWallet
    const result = await change(opened.service, operator, users[this.user]!.userId, 'property')
    expect(result).toBe(model.frozen[this.user] === this.isFreeze ? 'already' : 'done')
    model.frozen[this.user] = this.isFreeze
  }
}

class Read implements fc.AsyncCommand<Model, Real> {
  readonly user: number
  constructor(user: number) {
    this.user = user
  }
  check = () => true
  toString = () => `read(${this.user})`

  async run(model: Model, { client, users }: Real): Promise<void> {
    const { body } = await client.wallet(users[this.user]!.serviceUserId, { limit: '200' })
    expect(body).toMatchObject({ balance: model.balances[this.user]! / 100, isActive: !model.frozen[this.user] })
    const mine = [...model.outcomes.values()].filter((outcome) => outcome.isPosted && outcome.user === this.user)
    const shown = body['transactions'] as { amount: number; balanceAfter: number; type: string; sequence: number }[]
    expect(shown.map(({ type, amount, balanceAfter }) => [type, amount, balanceAfter]).reverse()).toEqual(
      mine.map((outcome) => [outcome.isDebit ? 'DEBIT' : 'CREDIT', outcome.cents / 100, outcome.balance / 100]),
    )
  }
}

const user = fc.nat(userCount - 1)
// Few references, so that most sequences repeat one: with another amount, another direction, another user.
const commands = [
  fc
    .record({ user, cents: fc.integer({ min: 1, max: 5_000 }), isDebit: fc.boolean(), reference: fc.nat(12) })
    .map((ask) => new Post(ask)),
  fc.tuple(user, fc.boolean()).map(([who, isFreeze]) => new Freeze(who, isFreeze)),
  user.map((who) => new Read(who)),
]

test('any sequence of calls agrees with the model', async () => {
  const client = newClient((request) => fetch(request), credentials, server.url.origin)
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (sequence) => {
      const users = await newUsers(opened.service, credentials, userCount)
      const model: Model = { balances: [0, 0, 0], frozen: [false, false, false], outcomes: new Map(), posted: 0 }
      await fc.asyncModelRun(
        () => ({ model, real: { client, users, prefix: `run-${++run}-${users[0]!.userId}` } }),
        sequence,
      )
      for (let who = 0; who < userCount; who++) await new Read(who).run(model, { client, users, prefix: '' })
    }),
    { numRuns: 60, verbose: 1 },
  )
}, 180_000)
