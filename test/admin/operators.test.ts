/** Two admins in real browsers, each on its own process: a request, its approval, the mailed link, and a blocked approver. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { openDatabase, type Database } from '../../src/store/connection/database.ts'
import { mailedLink } from '../mailbox.ts'
import { findPageBarriers, startRig, type Rig } from './rig.ts'

let rig: Rig
let second: string
let db: Database
let dataDir: string
let ada: Page
let bob: Page
const password = 'correct horse battery staple'

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'billfold-operators-'))
  rig = await startRig(async () => ({ OPERATOR_CHANGES_NEED_TWO: '1', DATA_DIR: dataDir }))
  second = await rig.startSecond()
  db = openDatabase({ connectionString: rig.databaseUrl })
  ada = await rig.openPage()
  await rig.signInByPages(ada)
})
afterAll(async () => {
  await db.pool.end()
  await rig.stop()
  await rm(dataDir, { recursive: true })
})

const mails = () => ({ config: { dataDir } }) as Parameters<typeof mailedLink>[0]
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const at = (page: Page, base: string, path: string) => page.goto(`${base}${path}`)
const barriers = async (page: Page, name: string) => expect(await findPageBarriers(page, name)).toEqual([])

async function choosePassword(page: Page): Promise<void> {
  await page.getByLabel('Password').fill(password)
  await button(page, 'Continue').click()
  await button(page, 'Not now (development only)').click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

test('one admin invites alone: the link is in the mailbox, and not on the page', async () => {
  await at(ada, rig.base, '/admin/operators')
  await barriers(ada, 'operators-one-admin')
  await ada.getByLabel('Email').fill('no address')
  await ada
    .locator('form[action="/admin/operators/invite"]')
    .evaluate((form: HTMLFormElement) => (form.noValidate = true))
  await button(ada, 'Mail the invitation').click()
  await ada.getByText('Enter an email address').waitFor()
  await barriers(ada, 'operators-invite-problem')
  await ada.getByLabel('Email').fill('grace.hopper@example.com')
  await ada.getByLabel('Role').selectOption('finance')
  await button(ada, 'Mail the invitation').click()
  await ada.getByText('The link goes to the person’s mailbox').waitFor()
  const link = await mailedLink(mails(), 'grace.hopper@example.com')
  await at(ada, rig.base, '/admin/operators')
  await ada.getByText('mailed', { exact: true }).waitFor()
  expect(await ada.content()).not.toContain(link.split('token=')[1]!)
  await barriers(ada, 'operators-open-link')
  const grace = await rig.openPage()
  await at(grace, second, link)
  await grace.getByText('For grace.hopper@example.com').waitFor()
  await barriers(grace, 'welcome-mailed')
  await grace.getByLabel('Your name').fill('Grace Hopper')
  await choosePassword(grace)
  await grace.context().close()
})

test('with a second admin an invitation waits, and the second admin approves it on another process', async () => {
  await rig.cli(['admin', 'create', '--email', 'bob@example.com', '--name', 'Bob Kahn'], password)
  await at(ada, rig.base, '/admin/operators')
  await ada.getByLabel('Email').fill('eve@example.com')
  await button(ada, 'Request the invitation').click()
  await ada.getByText('A second admin has to approve it').waitFor()
  await button(ada, /^Withdraw/).waitFor()
  const grace = ada.getByRole('row').filter({ hasText: 'grace.hopper@example.com' }).first()
  await grace.getByText('Change…').click()
  await grace.getByText('A second admin approves:').waitFor()
  await barriers(ada, 'operators-two-admins')
  bob = await rig.openPage()
  await at(bob, second, '/admin')
  await bob.getByLabel('Email').fill('bob@example.com')
  await choosePassword(bob)
  await at(bob, second, '/admin/operators')
  await barriers(bob, 'operators-waiting')
  await button(bob, /^Approve/).click()
  await bob.getByText('The change is approved and made').waitFor()
  await mailedLink(mails(), 'eve@example.com')
})

test('an operator whose access the asker gave sees why the approval has to wait, on the correction and on a change', async () => {
  const { rows } = await db.pool.query<{ id: string }>('select id from operators order by email')
  const [adaId, bobId] = rows.map(({ id }) => id)
  await db.pool.query(`insert into operator_grants (operator_id, kind, made_by) values ($1, 'reset', $2)`, [
    bobId,
    `operator:${adaId}`,
  ])
  const { userId } = await rig.cli(
    ['user', 'create', '--email', 'ann@example.com', '--first', 'Ann', '--last', 'Lee'],
    password,
  )
  await at(ada, rig.base, `/admin/wallets/${userId}/correct`)
  await ada.getByLabel('What it does').selectOption('credit')
  await ada.getByLabel('Amount in USD').fill('250')
  await ada.getByLabel('Reason', { exact: true }).fill('Charged for another order')
  await button(ada, 'Continue').click()
  await button(ada, 'Make the correction').click()
  await ada.getByText('You requested this').waitFor()
  const path = new URL(ada.url()).pathname
  await at(bob, second, path)
  await bob.getByText('You cannot approve what Ada Lovelace asked for').waitFor()
  expect(await button(bob, /^Approve/).count()).toBe(0)
  await barriers(bob, 'correction-blocked')
  await at(ada, rig.base, '/admin/operators')
  const row = ada.getByRole('row').filter({ hasText: 'grace.hopper@example.com' }).first()
  await row.getByText('Change…').click()
  await row.getByRole('button', { name: 'Make an admin' }).click()
  await ada.getByText('A second admin has to approve it').waitFor()
  await at(bob, second, '/admin/operators')
  expect(await button(bob, /^Approve/).count()).toBe(0)
  await barriers(bob, 'operators-blocked')
  await button(bob, /^Decline/).click()
  await bob.getByText('The change is declined').waitFor()
})

test('one admin suspends another one at once, whose browser is signed out', async () => {
  await at(ada, rig.base, '/admin/operators')
  const row = ada.getByRole('row').filter({ hasText: 'bob@example.com' }).first()
  await row.getByText('Change…').click()
  await row.getByRole('button', { name: 'Suspend' }).click()
  await ada.getByText('The operator is suspended').waitFor()
  await barriers(ada, 'operators-suspended')
  await at(bob, second, '/admin/operators')
  await bob.getByRole('heading', { name: 'Sign in' }).waitFor()
  await rig.cli(['admin', 'restore', 'bob@example.com'])
})
