/** The continuous check while a worker is away: on separate servers, and on one server that only claims to be a cluster. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { openImitatedLedger } from '../../../test/cluster-ledger.ts'
import { eventually } from '../../../test/eventually.ts'
import { describeOnServers, testLoss, withServers } from '../../../test/lost-worker.ts'
import type { TestService } from '../../../test/service.ts'
import { sortByNode, type Placed } from '../../../test/sort-by-node.ts'
import { checkBooks } from '../../actions/money/check-books.ts'
import { longRunning } from '../connection/database.ts'
import { getBooksState } from '../verify/books-check.ts'

setDefaultTimeout(600_000)

type Ledger = Placed & { readonly backend: ReturnType<typeof newClient>; readonly opened: TestService }
type Worker = { readonly port: number; readonly leave: () => unknown; readonly comeBack: () => unknown }

async function checkAround(ledger: Ledger, { port, leave, comeBack }: Worker): Promise<void> {
  const { client, backend, users, opened } = ledger
  const { service } = opened
  const { wallets, references } = await sortByNode(ledger, port)
  const [spent, broken, waiting] = wallets.living as [string, string, string]
  const [lost] = wallets.lost as [string]
  const credit = async (user: string, reference: string) => (await backend.credit(user, 100, reference)).status
  const living = () => references.living.pop()!
  const state = () => getBooksState(service.db.pool)
  /** A whole pass over the wallets that changed, and everything else that is due. */
  const pass = async () => {
    await service.db.pool.query(
      `update books_check set next_pass_at = '2000-01-01', next_sums_at = '2000-01-01', next_slice_at = '2000-01-01', next_log_at = 'infinity'`,
    )
    await checkBooks(longRunning(service))
    expect((await state()).pass).toBeNull()
  }
  const checkpoints = async (asked: readonly string[]) => {
    const { rows } = await client.query<{ sequence: number }>(
      `select v.sequence::int as sequence from unnest($1::text[]) with ordinality as a(id, ordinal)
       join links l on l.id = a.id join verified_wallets v on v.wallet_id = l.user_id order by a.ordinal`,
      [asked],
    )
    return rows.map(({ sequence }) => sequence)
  }
  const breakBalance = async (user: string, amount: number) => {
    const { rows } = await client.query<{ id: string }>('select user_id as id from links where id = $1', [user])
    await client.query('update wallets set balance = balance + $2 where id = $1', [rows[0]!.id, amount])
    return rows[0]!.id
  }
  for (const user of users) expect(await credit(user, `${user} first`)).toBe(200)
  await pass()
  const before = await state()
  expect(before.checkedUpTo).not.toBeNull()
  expect(await credit(waiting, references.lost.pop()!)).toBe(200)
  expect(await credit(lost, living())).toBe(200)
  await leave()
  try {
    await eventually(async () => await credit(lost, living()), 503)
    await eventually(() => service.writer.outage.isOn(), true)
    await eventually(async () => await credit(spent, living()), 200)
    const walletId = await breakBalance(broken, 1)
    await pass()
    const during = await state()
    expect(during.problems).toMatchObject([
      { check: 'wallet-balance', walletId },
      { check: 'wallet-last-entry', walletId },
    ])
    expect(during.checkedUpTo).toEqual(before.checkedUpTo)
    expect(during.sumsAt).toEqual(before.sumsAt)
    // One has an entry whose outcome is on the worker, the other is there itself.
    expect(await checkpoints([spent, waiting, lost])).toEqual([2, 1, 1])
    await comeBack()
    await eventually(() => service.writer.outage.isOn(), false)
    await breakBalance(broken, -1)
    await eventually(async () => await credit(lost, living()), 200)
    await pass()
    const after = await state()
    expect(after.problems).toEqual([])
    expect(after.checkedUpTo!.getTime()).toBeGreaterThan(before.checkedUpTo!.getTime())
    expect(await checkpoints([spent, waiting, lost])).toEqual([2, 2, 3])
  } finally {
    await comeBack()
  }
}

const people = 24

describeOnServers(() => {
  testLoss(
    'while a worker is %s, the wallets that do not need it are checked, and the others when it is back',
    people,
    checkAround,
  )

  test('the check itself finds out that a worker is away, and goes on without it', async () => {
    await withServers(people, async ({ opened: { service } }, worker) => {
      await worker.kill()
      await checkBooks(longRunning(service))
      expect(service.writer.outage.isOn()).toBe(true)
      const { pass, lastPassWallets, checkedUpTo } = await getBooksState(service.db.pool)
      expect([pass, checkedUpTo]).toEqual([null, null])
      expect(lastPassWallets).toBeGreaterThan(0)
      expect(lastPassWallets).toBeLessThan(people)
    })
  })
})

test.skipIf(process.env['TEST_DATABASE_URL'] !== undefined)(
  'on one server that claims to be a cluster: the wallets of a lost node, and those with outcomes there, are checked when it is back',
  async () => {
    const { ledger, worker } = await openImitatedLedger({ users: people })
    await checkAround(ledger, worker)
    await ledger.opened.close()
  },
)
