/** Reads over HTTP while a worker is away: on separate servers, and on one server that only claims to be a cluster. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Client, Reply } from '../../../test/client.ts'
import { openImitatedLedger } from '../../../test/cluster-ledger.ts'
import { eventually } from '../../../test/eventually.ts'
import { describeOnServers, testLoss } from '../../../test/lost-worker.ts'
import type { Credentials, TestService } from '../../../test/service.ts'
import { sortByNode, type Placed } from '../../../test/sort-by-node.ts'

setDefaultTimeout(600_000)

type Ledger = Placed & { readonly backend: Client; readonly credentials: Credentials; readonly opened: TestService }

const people = 24
const copies = 5
/**
 * More than the connections of the service. Hundreds at once would wait for each other: on a busy machine, longer than a request waits for a
 * connection, and such a refusal is like one for a lost node.
 */
const callsAtOnce = 32

type Call = () => Promise<Reply>

/** What one round of calls got, each answer once. */
const answersOf = async (calls: readonly Call[]) => {
  const answers = new Set<string>()
  const left = calls.values()
  const caller = async () => {
    for (const call of left) {
      const { status, body, headers } = await call()
      answers.add(`${status} ${JSON.stringify(body['code'] ?? '')} ${headers.has('retry-after')}`)
    }
  }
  await Promise.all(Array.from({ length: callsAtOnce }, caller))
  return [...answers]
}
const good = ['200 "" false']
const refused = ['503 "UNAVAILABLE" true']

async function readAround(
  ledger: Ledger,
  { port, leave, comeBack }: { readonly port: number; leave: () => unknown; comeBack: () => unknown },
): Promise<void> {
  const { backend, users, opened, credentials } = ledger
  const { wallets, references } = await sortByNode(ledger, port)
  /** The outcome of a hold is on any node. */
  const isOnWorker = async (holdId: string) => {
    const { rows } = await ledger.client.query<{ is: boolean }>(
      `select n.nodeport = $2 as is from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid
       where p.shardid = get_shard_id_for_distribution_column('outcomes', $1::uuid)`,
      [holdId.replace('hold_', ''), port],
    )
    return rows[0]!.is
  }
  const ids = new Map<string, { readonly holdId: string; readonly sessionToken: string }>()
  for (const serviceUserId of users) {
    expect((await backend.credit(serviceUserId, 100, `${serviceUserId} first`)).status).toBe(200)
    const asked = { ...credentials, serviceUserId }
    let holdId: string
    do {
      const reference = { referenceType: 'ORDER', referenceId: crypto.randomUUID() }
      const { body } = await backend.post('/api/server/wallet/hold', { ...asked, ...reference, amount: 1 })
      holdId = (body['hold'] as { id: string }).id
    } while (await isOnWorker(holdId))
    const { body: opening } = await backend.post('/api/widget/session', asked)
    ids.set(serviceUserId, { holdId, sessionToken: String(opening['sessionToken']) })
  }
  const readsOf = (user: string): Call[] => [
    () => backend.wallet(user),
    () => backend.checkBalance(user, '1'),
    () => backend.get('/api/server/wallet/holds', { serviceUserId: user }),
    () => backend.get('/api/server/wallet/hold', { holdId: ids.get(user)!.holdId }),
    () => backend.call(new Request(`http://billfold.test/api/widget/wallet?session=${ids.get(user)!.sessionToken}`)),
  ]
  const reads = (asked: readonly string[]) => answersOf(asked.flatMap(readsOf))
  const manyOfLost = Array.from({ length: copies }, () => wallets.lost).flat()
  const round = async () => {
    const [lost, living] = await Promise.all([reads(manyOfLost), reads(wallets.living)])
    expect({ lost, living }).toEqual({ lost: refused, living: good })
  }
  await eventually(async () => await reads(users), good)
  await leave()
  try {
    await round()
    expect(opened.service.writer.outage.isOn()).toBe(true)
    for (let i = 0; i < 5; i++) {
      const debits = wallets.living.map((user) => () => backend.debit(user, 1, references.living.pop()))
      const [answers] = await Promise.all([answersOf(debits), round()])
      expect(answers).toEqual(good)
    }
    await comeBack()
    await eventually(async () => await reads(users), good)
    expect(await answersOf(users.map((user) => () => backend.debit(user, 1, `${user} last`)))).toEqual(good)
  } finally {
    await comeBack()
  }
}

describeOnServers(() => {
  testLoss(
    'while a worker is %s, reads of its wallets are refused, and those of other wallets are answered',
    people,
    async (ledger, worker) => {
      await readAround(ledger, worker)
      await ledger.expectExact(people * 2 + 5 * (await countLiving(ledger, worker.port)))
    },
  )
})

const countLiving = async (ledger: Ledger, port: number) => (await sortByNode(ledger, port)).wallets.living.length

test.skipIf(process.env['TEST_DATABASE_URL'] !== undefined)(
  'on one server that claims to be a cluster: reads of wallets of a lost node are refused, and those of other wallets are answered',
  async () => {
    const { ledger, worker } = await openImitatedLedger({ users: people })
    await readAround(ledger, {
      ...worker,
      leave: async () => {
        await worker.leave()
        // Nothing is slow here.
        await ledger.opened.service.writer.outage.ask()
      },
    })
    await ledger.opened.close()
  },
)
