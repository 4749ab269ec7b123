/** The pictures of the README: SCREENSHOTS=1 writes docs/shop.png and docs/widget.png anew, with a month of several apps. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { createUser } from '../../src/actions/people/create-user.ts'
import { endFading, wantsPictures } from '../browser/axe.ts'
import { embed, startRig, type Rig } from '../browser/rig.ts'
import { signInOnDevice, walletUrl } from '../browser/shop.ts'
import { linkUser, newApp, operator, type TestService } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { startShopRig, type ShopRig } from './rig.ts'
import { eventually, openVisit } from './visit.ts'

setDefaultTimeout(240_000)

const docs = join(import.meta.dir, '../../docs')
const ada = { firstName: 'Ada', lastName: 'Lovelace' }

/** Newest last: hours ago, app, amount in cents, description. Without an app it is a top-up by card. */
const month: readonly (readonly [number, string | undefined, number, string | null])[] = [
  [330, undefined, 15_000, null],
  [318, 'Fernweh Books', -6440, 'Atlas of Remote Islands'],
  [290, 'Kino Kosmos', -3150, 'Three tickets, row G'],
  [244, 'Harbour Ferries', -1860, 'Return, Sunday 10:40'],
  [243, 'Bean & Leaf', -1225, 'Breakfast for two'],
  [196, undefined, 5000, null],
  [171, 'Fernweh Books', 2490, 'Refund: order 1041'],
  [122, 'Harbour Ferries', -1860, 'Return, Saturday 9:10'],
  [98, 'Kino Kosmos', -825, 'Popcorn and tea'],
  [49, 'Bean & Leaf', -680, 'Flat white, twice'],
  [26, 'Fernweh Books', 7365, 'Prize: short story of the year'],
  [5, 'Kino Kosmos', -2100, 'Two tickets, row C'],
]

const colors: Readonly<Record<string, string>> = {
  'Fernweh Books': '#0f766e',
  'Kino Kosmos': '#be185d',
  'Harbour Ferries': '#0369a1',
  'Bean & Leaf': '#b45309',
}

/** The entries of a month in a new wallet. The pictures need them at their times, so they are written beside the ledger's own way. */
async function fillMonth(
  { service }: Pick<TestService, 'service'>,
  userId: string,
  known: Readonly<Record<string, string>> = {},
) {
  const ids = new Map(Object.entries(known))
  for (const [name, accentColor] of Object.entries(colors)) {
    if (ids.has(name)) continue
    const app = await newApp(service, { name, accentColor, allowedIframeParents: [] })
    await linkUser(service, app, userId)
    ids.set(name, app.clientId)
  }
  const { pool } = service.db.longRunning
  let balance = 0
  for (const [n, [hours, name, minor, description]] of month.entries()) {
    balance += minor
    await pool.query(
      `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
         reference_type, reference_id, description)
       values ($1, $2, $3, $4, gen_random_uuid(), now() - $5 * interval '1 hour', $6, $7, $8, $9)`,
      [
        userId,
        n + 1,
        minor,
        balance,
        hours,
        name === undefined ? 'cards' : `app:${ids.get(name)}`,
        name === undefined ? 'TOPUP' : 'ORDER',
        `picture-${n}`,
        description,
      ],
    )
  }
  await pool.query('update wallets set sequence = $2, balance = $3 where id = $1', [userId, month.length, balance])
}

let shopRig: ShopRig
let rig: Rig
beforeAll(async () => {
  if (!wantsPictures) return
  shopRig = await startShopRig()
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
})
afterAll(async () => {
  if (wantsPictures) await Promise.all([shopRig.stop(), rig.stop()])
})

test.skipIf(!wantsPictures)('the shop with the wallet in it', async () => {
  const visit = await openVisit(shopRig, { viewport: { width: 1280, height: 1180 }, reducedMotion: 'reduce' })
  const { page } = visit
  const account = { email: 'ada@example.com', password: 'a long enough password' }
  const created = await createUser(shopRig.opened.service, operator, { ...account, ...ada })
  await fillMonth(shopRig.opened, created!.userId)
  await visit.enterAs('Ada')
  await visit.logIn(account)
  await page.getByRole('button', { name: /welcome gift/ }).click()
  await eventually(async () => await visit.balance().textContent(), '$167.15')
  await visit.buy('Stoneware mug')
  await visit.order('Stoneware mug').locator('.state.paid').waitFor()
  await eventually(async () => await visit.balance().textContent(), '$149.15')
  // Without the message about the payment.
  await page.reload()
  await eventually(async () => await visit.balance().textContent(), '$149.15')
  await visit.wallet.locator('.day .entry').first().waitFor()
  await visit.atRest()
  await page.evaluate(() => scrollTo(0, 0))
  await page.mouse.move(0, 0)
  await page.screenshot({ path: join(docs, 'shop.png') })
  await visit.close()
})

/** The wallet in a frame of this width, as a data URL. */
async function picture(
  page: Page,
  shape: { width: number; height: number; colorScheme: 'light' | 'dark' },
  url: string,
  isActivity: boolean,
): Promise<string> {
  await page.setViewportSize(shape)
  await page.emulateMedia({ colorScheme: shape.colorScheme, reducedMotion: 'reduce' })
  await page.goto(rig.shop)
  const frame = await embed(page, url)
  await untilSeen(frame, '.day .entry')
  if (isActivity) {
    await frame.click('#all-activity')
    await untilSeen(frame, '.browse .entry')
  }
  if (isActivity || shape.width >= 960) await untilSeen(frame, '.sums li')
  await page.mouse.move(0, 0)
  await frame.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await endFading(frame)
  const bytes = await page.screenshot()
  return `data:image/png;base64,${bytes.toString('base64')}`
}

test.skipIf(!wantsPictures)('the wallet on a wide screen and on a phone, light and dark', async () => {
  const tenant = await rig.newTenant({ accentColor: colors['Fernweh Books']! })
  await fillMonth(rig, tenant.user.userId, { 'Fernweh Books': tenant.clientId })
  const page = await rig.openPage({ deviceScaleFactor: 2, viewport: { width: 1080, height: 900 } })
  await signInOnDevice(rig, page, tenant)
  const url = async () => walletUrl(rig, { session: await tenant.newSession(rig.shop) })
  const wide = await picture(page, { width: 1040, height: 860, colorScheme: 'light' }, await url(), false)
  const phone = await picture(page, { width: 390, height: 800, colorScheme: 'dark' }, await url(), true)
  await page.context().close()

  const sheet = await rig.openPage({ deviceScaleFactor: 1.5, viewport: { width: 1480, height: 940 } })
  await sheet.setContent(`<style>
    body { margin: 0; height: 940px; position: relative; overflow: hidden; background: linear-gradient(150deg, #dfe9e4, #b9ccc4) }
    img { position: absolute; display: block; border-radius: 22px; box-shadow: 0 2px 6px #0002, 0 24px 60px #0a2a2240 }
    .wide { left: 36px; top: 40px; width: 1040px; height: 860px }
    .phone { right: 36px; top: 104px; width: 390px; height: 800px; border-radius: 34px; border: 7px solid #10201b; box-sizing: border-box }
  </style><img class="wide" src="${wide}"><img class="phone" src="${phone}">`)
  await until(sheet, () => [...document.images].every(({ complete }) => complete))
  await sheet.screenshot({ path: join(docs, 'widget.png') })
  expect(await sheet.evaluate(() => document.images.length)).toBe(2)
  await sheet.context().close()
})
