/** The pages about a wallet whose older entries are in the archive. The ledger of this file has no entry that a test inserted by itself. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Frame, Page } from '@playwright/test'
import { closePeriod } from '../../src/actions/money/close-period.ts'
import { findPageBarriers } from '../admin/rig.ts'
import { expectDone, setBack, settle } from '../archived-period.ts'
import { callCommand } from '../command.ts'
import { deviceOf } from '../devices.ts'
import { newOperator } from '../operator.ts'
import { newPage } from '../page.ts'
import { findCluster } from '../postgres.ts'
import { operator } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { findBarriers, setScheme } from './axe.ts'
import { findPicturedMisfits } from './pictures.ts'
import { startRig, type Rig } from './rig.ts'
import { openShop, type Tenant } from './shop.ts'

setDefaultTimeout(240_000)

const isOnCluster = (await findCluster()) !== undefined

let rig: Rig
/** With archived entries and new ones. */
let ann: Tenant
/** With archived entries alone. */
let bob: Tenant
let transactionId: string

beforeAll(async () => {
  rig = await startRig()
  if (isOnCluster) return
  ;[ann, bob] = [await rig.newTenant(), await rig.newTenant()]
  for (const { client, user } of [ann, bob]) await client.credit(user.serviceUserId, 90, 'old-1')
  const debit = await ann.client.debit(ann.user.serviceUserId, 12.5, 'old-2')
  transactionId = String(debit.body['transactionId'])
  await setBack(rig.service, 40)
  await archiveAll()
  await ann.client.credit(ann.user.serviceUserId, 10, 'new-1')
  await ann.client.debit(ann.user.serviceUserId, 4.2, 'new-2')
})
afterAll(() => rig.stop())

/** The entries of everybody go into files. */
async function archiveAll(): Promise<void> {
  await closePeriod(rig.service.db.connection, operator)
  await settle(rig.service)
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

const line = 'Older entries are in the archive.'

describe.skipIf(isOnCluster)('archived entries', () => {
  test('a user reads that older entries are in the archive', async () => {
    const { page, frame } = await openShop(rig, ann)
    expect(await look(page, frame, 'archived-wallet')).toEqual([])
    await frame.click('#all-activity')
    await untilSeen(frame, '.browse-list .archived')
    expect(await frame.evaluate(() => document.querySelector('.browse-list .archived')?.textContent)).toBe(line)
    expect(await look(page, frame, 'archived-activity')).toEqual([])
    await frame.fill('[name=search]', 'over 80')
    await until(frame, () => document.querySelector('.browse-list .empty') !== null)
    await untilSeen(frame, '.browse-list .empty .archived')
    expect(await frame.evaluate(() => document.querySelectorAll('.browse-list .archived').length)).toBe(1)
    expect(await frame.evaluate(() => document.body.textContent?.includes('All entries were searched'))).toBe(false)
    expect(await look(page, frame, 'archived-activity-empty')).toEqual([])
    await page.context().close()
    const empty = await openShop(rig, bob)
    await untilSeen(empty.frame, '.activity .empty')
    expect(await empty.frame.evaluate(() => document.querySelector('.activity .empty')?.textContent)).toBe(line)
    expect(await look(empty.page, empty.frame, 'archived-wallet-empty')).toEqual([])
    await empty.page.context().close()
  })

  test('a user reads that a statement needs the archive', async () => {
    const page = await rig.openPage()
    const { cookie } = await deviceOf(rig.service, { userId: ann.user.userId, clientId: ann.clientId })
    const paper = { kind: 'statement', month: monthAgo(), lang: 'en', timeZone: 'UTC' }
    const ordered = await newPage(rig.app.fetch, undefined, { cookie }).post(
      `/api/widget/papers?session=${await ann.newSession()}`,
      paper,
    )
    await see(page, 'archived-paper', String(ordered.body['path']), 'This page needs entries that are in the archive.')
    expect(await page.evaluate(() => document.querySelector('button'))).toBeNull()
    await page.context().close()
  })

  test('an operator can use every page about them', async () => {
    const { service, app } = rig
    const { token } = await newOperator({ service, app } as Parameters<typeof newOperator>[0], 'admin')
    const page = await rig.openPage()
    await page.context().addCookies([{ name: 'billfold-session', value: token, url: rig.base }])
    const wallet = `/admin/wallets/${ann.user.userId}`
    await see(page, 'archived-wallet', wallet, 'Entries 1 to 2 are in the archive')
    await see(page, 'archived-wallet-empty', `/admin/wallets/${bob.user.userId}`, 'Every entry of this wallet')
    await see(page, 'archived-search', `/admin/search?q=${transactionId}`, 'is in the archive')
    await see(page, 'archived-search-amount', '/admin/search?q=12.50', 'in the archive')
    await see(page, 'archived-reference', '/admin/references?type=ORDER&id=old-2', 'in the archive')
    await see(page, 'archived-statement', `${wallet}/statement?month=${monthAgo()}`, 'needs the archive')
    await see(page, 'archived-correct', `${wallet}/correct?transaction=${transactionId}`, 'archived')
    await see(page, 'archived-books', '/admin/books', 'Period 1 is in the archive')
    await page.context().close()
  })
})

async function look(page: Page, frame: Frame, name: string): Promise<string[]> {
  await setScheme(page, frame, 'light')
  return [...(await findPicturedMisfits(page, frame, name)), ...(await findBarriers(frame))]
}

const monthAgo = () => new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 7)

async function see(page: Page, name: string, path: string, text: string): Promise<void> {
  await page.goto(rig.base + path)
  await until(page, (wanted) => document.body.textContent?.includes(wanted), text)
  expect(await findPageBarriers(page, name)).toEqual([])
}
