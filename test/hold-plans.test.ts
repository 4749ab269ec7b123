/**
 * The plans of all that reads or writes holds: with one wallet and with thousands, with few holds and with many of one wallet, never
 * analysed, as right after a restore, and analysed. Plans are kept, so one made for a small table must serve a large one too.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Client } from 'pg'
import { newId, newServiceUserId } from '../src/actions/tokens.ts'
import { numberEvents } from '../src/store/events/number-events.ts'
import { insertSeed } from '../src/store/seed.ts'
import { newClient } from './client.ts'
import { newAppWithEvents } from './events/rig.ts'
import { holdClient, holdOf, sweepHolds } from './holds.ts'
import { newOperator, type TestOperator } from './operator.ts'
import { plansOf, wrongWalks } from './query-plans.ts'
import { recordQueries } from './recorded-queries.ts'
import { openTestService, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(180_000)

/** What grows with people and holds, and what it may be walked by. */
const indexesOf: Record<string, readonly string[]> = {
  holds: ['holds_pkey', 'holds_open_of_app', 'holds_closed_of_app', 'holds_notice'],
  hold_steps: ['hold_steps_pkey', 'hold_steps_of_entry'],
  outcomes: ['outcomes_pkey'],
  links: ['links_pkey', 'links_live', 'links_user_id'],
  transfers: ['transfers_pkey'],
}
const all = Object.keys(indexesOf)
const allowed = Object.values(indexesOf).flat()

/** `large`: the tables that must be walked by their keys. Where all are small, that is asked of the writer alone, which keeps its plans. */
const sizes = [
  { name: 'one wallet with a hold', wallets: 1, holds: 1, large: ['holds', 'hold_steps'], isOfWriter: true },
  { name: 'one wallet with 20,000 holds', wallets: 1, holds: 20_000, large: ['holds', 'hold_steps', 'outcomes'] },
  { name: '20,000 wallets', wallets: 20_000, holds: 1, large: all },
  { name: '20,000 wallets, analysed', wallets: 20_000, holds: 1, large: all, isAnalysed: true },
]

describe.each(sizes)('with $name', ({ wallets, holds: perWallet, large, isAnalysed = false, isOfWriter = false }) => {
  let opened: TestService
  let operator: TestOperator
  let app: Credentials
  let serviceUserId: string
  let walletId: string
  let firstColumns: ReadonlyMap<string, string>

  beforeAll(async () => {
    opened = await openTestService()
    const db = new Client({ connectionString: opened.databaseUrl })
    await db.connect()
    app = await newAppWithEvents(opened.service)
    operator = await newOperator(opened, 'finance')
    for (const table of all) await db.query(`alter table ${table} set (autovacuum_enabled = false)`)
    const users = Array.from({ length: wallets }, () => {
      const userId = newId()
      const referenceKey = userId.replaceAll('-', '')
      const email = `${userId}@example.com`
      return { userId, email, firstName: 'Ada', serviceUserId: newServiceUserId(), referenceKey, referenceId: userId }
    })
    const gift = { counterAccount: 'bonus', referenceType: 'BONUS', description: 'Seed', writer: 0 }
    await insertSeed(db, users, { ...gift, clientId: app.clientId, creditMinor: 10_000n })
    ;({ serviceUserId, userId: walletId } = users[0]!)
    // Open ones are few: an app has a hundred on a wallet at most.
    await db.query(
      `with made as (
         select w.id as wallet_id, gen_random_uuid() as id, n = 1 as is_open, n from wallets w, generate_series(1, $2::integer) n
       ), hold as (
         insert into holds (wallet_id, id, client_id, reference_type, reference_id, amount, released, created_at, expires_at, closed_at, ended_by)
         select wallet_id, id, $1, 'ORDER', id::text, 1, case when is_open then 0 else 1 end, now() - n * interval '1 s', now() + interval '1 day',
           case when not is_open then now() end, case when not is_open then 'void' end from made
       ), outcome as (
         insert into outcomes (reference_key, wallet_id, amount, balance, is_hold, created_at) select id, wallet_id, 1, 1, true, now() from made
       ), step as (
         insert into hold_steps (wallet_id, hold_id, number, kind, amount, actor, at)
         select wallet_id, id, 1, 'extend', 0, 'system', now() from made
       )
       update wallets set held = 1`,
      [app.clientId, perWallet],
    )
    const { rows } = await db.query<{ index: string; column: string }>(
      `select c.relname as index, a.attname as column from pg_index i join pg_class c on c.oid = i.indexrelid
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]`,
    )
    // By wallet alone, the key of holds would read all closed ones of the wallet.
    firstColumns = new Map([...rows.map(({ index, column }) => [index, column] as const), ['holds_pkey', 'is_closed']])
    if (isAnalysed) await db.query('analyze')
    await db.end()
  })
  afterAll(() => opened.close())

  test('holds are found by their keys', async () => {
    const client = newClient(opened.app.fetch, app)
    const holds = holdClient(client, app)
    const recorded = await recordQueries(async () => {
      const { id } = holdOf(await holds.place(serviceUserId, 5, { referenceId: 'plans' }))
      await holds.place(serviceUserId, 5, { referenceId: 'plans' })
      await holds.extend(id, 1_000_000)
      await holds.capture(id, { amount: 1, final: false, referenceType: 'PART', referenceId: 'plans' })
      await client.debit(serviceUserId, 1_000)
      await client.checkBalance(serviceUserId, '1')
      await holds.list(serviceUserId, { status: 'OPEN', before: id })
      await sweepHolds(opened)
      await opened.service.referenceTypes.close()
      while ((await numberEvents(opened.service.db, opened.service.metrics.events)).events > 0);
      expect((await client.get('/api/server/events', { limit: '1000' })).status).toBe(200)
      const pages = [
        '/admin/holds',
        '/admin/holds?state=late',
        `/admin/holds?app=${app.clientId}`,
        '/admin/holds.csv',
        `/admin/holds/${id}`,
        `/admin/wallets/${walletId}`,
        `/admin/client-apps/${app.clientId}`,
        '/admin/overview',
      ]
      for (const path of pages) {
        const { status } = await operator.get(path)
        expect([path, status]).toEqual([path, 200])
      }
      for (const q of [id, 'plans', id.slice(0, 12)]) await operator.get(`/admin/search?q=${q}`)
      expect(await opened.service.metrics.render()).toContain('billfold_holds_open')
      await holds.void(id)
    })
    const wrong: string[] = []
    let explained = 0
    for (const each of recorded.filter(({ text }) =>
      large.some((table) => text.includes(` ${table} `) || text.includes(` all_${table} `)),
    )) {
      const plans = await plansOf(each)
      // A connection that may plan anew has two plans here: for any values, and for these.
      if (isOfWriter && plans.length > 1) continue
      explained++
      for (const plan of plans)
        wrong.push(
          ...wrongWalks(plan, large, allowed, firstColumns).map((walk) => `${walk}: ${each.text.trim().slice(0, 160)}`),
        )
    }
    expect(explained).toBeGreaterThanOrEqual(isOfWriter ? 2 : 15)
    expect(wrong).toEqual([])
  })
})
