/**
 * A worker that is away: the network cuts it off or drops its packets, its server is killed, or its processes are stopped. On a cluster
 * of the tests, and on one server that only claims to be one.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { openClusterLedger, openImitatedLedger } from '../../../test/cluster-ledger.ts'
import { eventually } from '../../../test/eventually.ts'
import { openForwarder } from '../../../test/forwarder.ts'
import { describeOnServers, testLoss } from '../../../test/lost-worker.ts'
import { sortByNode, type Placed } from '../../../test/sort-by-node.ts'
import { emptyDatabase, findCluster } from '../../../test/postgres.ts'
import { verifyBooks } from '../verify/verify.ts'

setDefaultTimeout(600_000)

type Ledger = Placed & {
  readonly backend: ReturnType<typeof newClient>
  readonly opened: { readonly logged: readonly string[] }
}

type Worker = { readonly port: number; readonly leave: () => unknown; readonly comeBack: () => unknown }

const areAll = (count: number, status: number) => Array.from({ length: count }, () => status)

/** Returns how many operations were acknowledged. */
async function outlive(ledger: Ledger, { port, leave, comeBack }: Worker): Promise<number> {
  const { backend, users, opened } = ledger
  const { wallets, references } = await sortByNode(ledger, port)
  let acknowledged = 0
  const statusOf = async (reply: ReturnType<typeof backend.debit>) => {
    const { status } = await reply
    if (status === 200) acknowledged++
    return status
  }
  const loggedBefore = opened.logged.length
  const hasLogged = (text: string) => opened.logged.slice(loggedBefore).some((line) => line.includes(text))
  const credits = (round: string) =>
    Promise.all(users.map((user) => statusOf(backend.credit(user, 100, `${user} ${round} ${port}`))))
  const [wallet, lostWallet] = [wallets.living[0]!, wallets.lost[0]!]
  const living = () => references.living.pop()!
  expect(await credits('before')).toEqual(areAll(users.length, 200))
  const balance = await backend.balance(lostWallet)
  await leave()
  try {
    // The first batch needs the worker, and has postings that do not. Each gets its answer.
    const [first, firstLost] = [wallets.living.map((user) => ({ user, reference: living() })), living()]
    const [firstAnswers] = await Promise.all([
      Promise.all(first.map(({ user, reference }) => backend.debit(user, 1, reference))),
      backend.debit(lostWallet, 1, firstLost).then(({ status }) => expect(status).toBe(503)),
    ])
    await eventually(() => hasLogged('nodes of the cluster are away'), true)
    // Where finding out took longer than a caller waits, it sends its request again.
    for (const [i, { user, reference }] of first.entries()) {
      if (firstAnswers[i]!.status !== 200)
        await eventually(async () => (await backend.debit(user, 1, reference)).status, 200)
      acknowledged++
    }
    const owed = [{ user: lostWallet, reference: firstLost }]
    for (let round = 0; round < 10; round++) {
      const ofLostReference = { user: wallet, reference: references.lost.pop()! }
      const ofLostWallet = { user: lostWallet, reference: `lost ${round} ${port}` }
      owed.push(ofLostReference, ofLostWallet)
      const [good, ...refused] = await Promise.all([
        Promise.all(wallets.living.map((user) => statusOf(backend.debit(user, 1, living())))),
        ...[ofLostReference, ofLostWallet].map(({ user, reference }) => backend.debit(user, 1, reference)),
      ])
      expect(good).toEqual(areAll(wallets.living.length, 200))
      for (const { status, body, headers } of refused) {
        expect([status, body['code']]).toEqual([503, 'UNAVAILABLE'])
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
    }
    await comeBack()
    await eventually(() => hasLogged('all nodes of the cluster are back'), true)
    // Nothing of what was refused has moved, and the same references work.
    await eventually(async () => await backend.balance(lostWallet), balance)
    for (const { user, reference } of owed) {
      await eventually(async () => (await backend.debit(user, 1, reference)).status, 200)
      acknowledged++
    }
    const ofLostWallet = owed.filter(({ user }) => user === lostWallet).length
    await eventually(async () => await backend.balance(lostWallet), Number(balance) - ofLostWallet)
    expect(await credits('after')).toEqual(areAll(users.length, 200))
  } finally {
    await comeBack()
  }
  return acknowledged
}

const nodes = await findCluster()
const people = 24

describe.skipIf(nodes === undefined || nodes.length < 3)(
  'on a cluster with two workers (TEST_DATABASE_URL names none)',
  () => {
    type Wire = Awaited<ReturnType<typeof openForwarder>>
    test.each([
      ['is cut', (wire) => wire.cut()],
      ['drops its packets', (wire) => wire.goSilent()],
      // The other worker has locked the wallets of the batch by then.
      ['drops its packets in the middle of a batch', (wire) => wire.goSilentAt('transfers_')],
    ] satisfies [string, (wire: Wire) => void][])(
      'while the network of a worker %s, postings that do not need it go on, and the others are refused until it is back',
      async (_, leave) => {
        const database = await emptyDatabase(1)
        const wires = [await openForwarder(nodes![1]!), await openForwarder(nodes![2]!)]
        const { others: _others, ...connection } = database.connection
        // One batch at a time: the wallets of one that is about to commit wait until the worker is back.
        const ledger = await openClusterLedger(connection, { users: people, lanes: 1 }, async (client) => {
          for (const wire of wires) await client.query(`select citus_add_node('127.0.0.1', $1)`, [wire.connection.port])
        })
        let acknowledged = 0
        // Each in turn: a coordinator that waits for one of them may, or may not, have ended its transaction on the other.
        for (const wire of wires)
          acknowledged += await outlive(ledger, {
            port: wire.connection.port!,
            leave: () => leave(wire),
            // A network that is back resets the connections whose other end has forgotten them.
            comeBack: () => {
              wire.cut()
              wire.mend()
            },
          })
        await ledger.expectExact(acknowledged)
        await ledger.close()
        await database.drop()
        for (const wire of wires) wire.close()
      },
    )
  },
)

describeOnServers(() => {
  testLoss(
    'while a worker is %s, postings that do not need it go on, and the others are refused until it is back',
    people,
    async (ledger, worker) => await ledger.expectExact(await outlive(ledger, worker)),
  )
})

test.skipIf(process.env['TEST_DATABASE_URL'] !== undefined)(
  'on one server that claims to be a cluster: the postings that need a lost node are refused, and the others are written',
  async () => {
    const { ledger, worker } = await openImitatedLedger({ users: people })
    const acknowledged = await outlive(ledger, worker)
    expect(await verifyBooks(ledger.opened.service.db.connection)).toMatchObject({ faults: 0, transfers: acknowledged })
    await ledger.opened.close()
  },
)
