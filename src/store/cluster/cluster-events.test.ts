/** Events on a cluster: a real one where TEST_DATABASE_URL names one, otherwise one server that claims to be one. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import {
  creditOf,
  newAppWithEvents,
  numberAll,
  openLane,
  postBatch,
  readAll,
  sequencesOf,
} from '../../../test/events/rig.ts'
import { imitate } from '../../../test/imitated-cluster.ts'
import { newUsers, openTestService, operator, type TestService, type TestUser } from '../../../test/service.ts'
import { freezeWallet, unfreezeWallet } from '../../actions/money/manage-wallets.ts'
import { postForApp } from '../../actions/money/post.ts'
import { findApp } from '../apps.ts'
import { numberEvents } from '../events/number-events.ts'
import type { WriterClient } from '../writer/connection.ts'
import type { PendingPosting } from '../writer/posting.ts'

setDefaultTimeout(180_000)

const isOtherServer = process.env['TEST_DATABASE_URL'] !== undefined
let opened: TestService
beforeAll(async () => {
  opened = await openTestService({ WRITER_LANES: '3' }, { through: isOtherServer ? undefined : imitate })
})
afterAll(() => opened.close())

test('postings of an app with events are written by the coordinator, and each is reported once, in order, with freezes between', async () => {
  const { service } = opened
  const { clientId } = await newAppWithEvents(service)
  const app = (await findApp(service.db.pool, clientId))!
  const users = await newUsers(service, { clientId }, 5)
  const post = (serviceUserId: string, referenceId: string) =>
    postForApp(service, app, {
      referenceType: 'T',
      description: null,
      direction: 'credit',
      amountMinor: 1n,
      serviceUserId,
      referenceId,
    })
  for (let round = 0; round < 10; round++) {
    const posts = users.map(({ serviceUserId }) => post(serviceUserId, `${serviceUserId} ${round}`))
    for (const result of await Promise.all(posts)) expect(result).toMatchObject({ kind: 'outcome' })
    if (round === 4) await freezeWallet(service, operator, users[0]!.userId, 'test')
    if (round === 4) await unfreezeWallet(service, operator, users[0]!.userId, 'test')
  }
  await numberAll(service)
  const events = await readAll(service, clientId)
  const all = Array.from({ length: 10 }, (_, i) => i + 1)
  expect(sequencesOf(events)).toEqual(Object.fromEntries(users.map(({ userId }) => [userId, all])))
  const first = events.filter(({ serviceUserId }) => serviceUserId === users[0]!.serviceUserId)
  expect(first.map(({ fact }) => fact ?? 'credit')).toEqual([
    'link.created',
    ...Array(5).fill('credit'),
    'wallet.frozen',
    'wallet.unfrozen',
    ...Array(5).fill('credit'),
  ])
  const { rows } = await service.db.pool.query<{ writer: number }>('select distinct writer from journal')
  expect(rows.filter(({ writer }) => writer < 0)).toEqual([])
})

async function post(lane: WriterClient, posting: PendingPosting): Promise<void> {
  await lane.client.query('begin')
  await postBatch(lane, [posting])
  await lane.client.query('commit')
}

test('while a node has not committed, its entries wait, with the later ones of their writer and their wallet, and no others', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const [late, behind, free] = (await newUsers(service, app, 3)) as [TestUser, TestUser, TestUser]
  const lanes = [await openLane(service), await openLane(service), await openLane(service)]
  const [away, other, third] = lanes as [WriterClient, WriterClient, WriterClient]
  await numberAll(service)
  const before = (await readAll(service, app.clientId)).length
  const reported = async () =>
    (await readAll(service, app.clientId)).slice(before).map((event) => {
      if (!('transfer' in event)) throw new Error(event.fact ?? 'a hold')
      return [event.serviceUserId, event.transfer.sequence]
    })
  // What the coordinator shows between its own commit and the node's: the second entry of the wallet is not there yet.
  await service.db.pool.query(
    `insert into journal (writer, client_id, link_ids, sequences) values ($1, $2, array[$3::uuid], '{2}')`,
    [away.number, app.clientId, late.serviceUserId.slice(3)],
  )
  await post(away, creditOf(app, behind))
  await post(other, creditOf(app, late))
  await post(third, creditOf(app, free))
  await numberEvents(service.db)
  expect(await reported()).toEqual([[free.serviceUserId, 1]])
  await post(third, { ...creditOf(app, late), hasEvents: false })
  await numberEvents(service.db)
  expect(await reported()).toEqual([
    [free.serviceUserId, 1],
    [late.serviceUserId, 2],
    [behind.serviceUserId, 1],
    [late.serviceUserId, 1],
  ])
  await Promise.all(lanes.map(({ client }) => client.end()))
})
