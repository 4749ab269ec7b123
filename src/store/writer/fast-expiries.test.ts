/** Expiries in one statement: they leave what the careful lane leaves, or nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { holdClient, holdOf, letHoldsAge } from '../../../test/holds.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../../test/service.ts'
import { expireHolds } from '../../actions/money/manage-holds.ts'
import { transact } from '../connection/database.ts'
import { listExpiredHolds, type ExpiredHold } from './due-holds.ts'
import { expireFast } from './fast-expiries.ts'

const isOnCluster = (await findCluster()) !== undefined

let opened: TestService
let app: Credentials
let client: Client
let holds: ReturnType<typeof holdClient>
beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  holds = holdClient(client, app)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const query = async (sql: string, values: unknown[]) => (await opened.service.db.pool.query(sql, values)).rows

/** A wallet of 100 with an untouched hold of 20, one of 30 of which 10 were captured, and one of 5 that lasts longer. */
async function walletWithHolds(): Promise<string> {
  const { userId, serviceUserId } = await newUser(opened.service, app)
  await client.credit(serviceUserId, 100)
  await holds.place(serviceUserId, 20, { expiresIn: 60 })
  const { id } = holdOf(await holds.place(serviceUserId, 30, { expiresIn: 60 }))
  await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: userId })
  await holds.place(serviceUserId, 5)
  await letHoldsAge(opened, 61)
  return userId
}

async function seen(walletId: string): Promise<ExpiredHold[]> {
  const due = await listExpiredHolds(opened.service.db.pool, { clientIds: [app.clientId], except: [], limit: 500 })
  return due.filter((hold) => hold.walletId === walletId)
}

const expire = (due: readonly ExpiredHold[]) => transact(opened.service.db, (tx) => expireFast(tx, due))

/** Everything that is stored about the wallet and its holds, without keys and times. */
async function rowsOf(walletId: string) {
  const [row] = await query(
    `select balance, held, open_holds, sequence, frozen_for,
      (select array_agg(h.amount || ' ' || h.captured || ' ' || h.released || ' ' || h.steps || ' ' || coalesce(h.ended_by, 'open') || ' ' ||
        coalesce(h.closed_at = h.expires_at, false) order by h.amount) from holds h where wallet_id = w.id) as holds,
      (select array_agg(h.amount || ' ' || s.number || ' ' || s.kind || ' ' || s.amount || ' ' || s.actor || ' ' || s.captured || ' ' || s.remaining || ' ' ||
        (s.expires_at = h.expires_at) || ' ' || (s.at > h.expires_at) || ' ' || (s.reason is null) order by h.amount, s.number)
        from hold_steps s join holds h on h.wallet_id = s.wallet_id and h.id = s.hold_id where s.wallet_id = w.id) as steps
     from wallets w where id = $1`,
    [walletId],
  )
  return row
}

// A cluster closes each wallet's holds in the careful lane.
test.skipIf(isOnCluster)('what it writes is what the careful lane writes', async () => {
  const [together, alone] = [await walletWithHolds(), await walletWithHolds()]
  const due = await seen(together)
  expect(due).toHaveLength(2)
  expect(await expire(due)).toEqual(new Set([together]))
  await expireHolds(opened.service, alone)
  const rows = await rowsOf(together)
  expect(rows).toMatchObject({ balance: 9_000n, held: 500n, open_holds: 1 })
  expect(rows).toEqual(await rowsOf(alone))
  expect(await seen(together)).toEqual([])
})

test.skipIf(isOnCluster)('a frozen wallet is left to the careful lane, which decides about its freeze', async () => {
  const [frozen, active] = [await walletWithHolds(), await walletWithHolds()]
  await query(`update wallets set frozen_for = 'debt' where id = $1`, [frozen])
  const before = await rowsOf(frozen)
  expect(await expire([...(await seen(frozen)), ...(await seen(active))])).toEqual(new Set([active]))
  expect(await rowsOf(frozen)).toEqual(before)
  await expireHolds(opened.service, frozen)
  expect(await rowsOf(frozen)).toMatchObject({ held: 500n, open_holds: 1, frozen_for: null })
})

test.skipIf(isOnCluster).each([
  ['was captured', `steps = steps + 1`],
  ['lasts longer', `expires_at = now() + interval '1 hour'`],
])('if one %s since it was seen, none is closed', async (_, change) => {
  const [changed, other] = [await walletWithHolds(), await walletWithHolds()]
  const due = [...(await seen(changed)), ...(await seen(other))]
  const key = [due[0]!.walletId, due[0]!.id]
  const [before] = await query('select steps, expires_at from holds where wallet_id = $1 and id = $2', key)
  await query(`update holds set ${change} where wallet_id = $1 and id = $2`, key)
  const rows = await rowsOf(other)
  const failure = await expire(due).catch((error: unknown) => String(error))
  expect(failure).toContain('null value in column "number"')
  expect(await rowsOf(other)).toEqual(rows)
  const undo = 'update holds set steps = $3, expires_at = $4 where wallet_id = $1 and id = $2'
  await query(undo, [...key, before.steps, before.expires_at])
  expect(await expire(due)).toEqual(new Set([changed, other]))
})
