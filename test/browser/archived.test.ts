/** The wallet of a user whose older entries are in the archive. The ledger of this file has no entry that a test inserted by itself. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closePeriod } from '../../src/actions/money/close-period.ts'
import { expectDone } from '../archived-period.ts'
import { callCommand } from '../command.ts'
import { findCluster } from '../postgres.ts'
import { sealAll } from '../sealed-books.ts'
import { operator } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { startRig, type Rig } from './rig.ts'
import { openShop } from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())

const isOnCluster = (await findCluster()) !== undefined

/** The wallet's entries go into files, as those of everybody. */
async function archiveAll(): Promise<void> {
  const { db } = rig.service
  await closePeriod(db.connection, operator)
  for (const table of ['event_pages', 'journal', 'new_links']) await db.pool.query(`delete from ${table}`)
  await sealAll(rig.service)
  const folder = await mkdtemp(join(tmpdir(), 'billfold-archive-'))
  for (const args of [
    ['write', '1', '--to', folder],
    ['drop', '1', '--from', folder],
  ]) {
    const ended = await callCommand(['archive', ...args], { DATABASE_URL: rig.databaseUrl })
    expectDone({ exitCode: ended.exitCode, said: ended.stdout + ended.stderr })
  }
  await rm(folder, { recursive: true })
}

test.skipIf(isOnCluster)('a user reads that older entries are in the archive', async () => {
  const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
  for (const { client, user } of [tenant, other]) await client.credit(user.serviceUserId, 90)
  await archiveAll()
  await tenant.client.credit(tenant.user.serviceUserId, 10)
  const { page, frame } = await openShop(rig, tenant)
  await frame.click('#all-activity')
  await untilSeen(frame, '.browse-list .archived')
  const line = 'Older entries are in the archive.'
  expect(await frame.evaluate(() => document.querySelector('.browse-list .archived')?.textContent)).toBe(line)
  await frame.fill('[name=search]', 'over 80')
  await until(frame, () => document.querySelector('.browse-list .empty') !== null)
  await untilSeen(frame, '.browse-list .archived')
  await page.context().close()
  const empty = await openShop(rig, other)
  await untilSeen(empty.frame, '.activity .empty')
  expect(await empty.frame.evaluate(() => document.querySelector('.activity .empty')?.textContent)).toBe(line)
  await empty.page.context().close()
})
