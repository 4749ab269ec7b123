/**
 * A top-up opens one window, with the SDK or without. Runs in a Chromium that blocks pop-ups, with the wallet in a frame of another
 * site, sandboxed as the contract says.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { expectBalancedBooks } from '../books.ts'
import { embed, waitForMessage, messagesReceived, startRig, type Rig } from '../browser/rig.ts'
import { renew, waitForBalance, walletUrl } from '../browser/shop.ts'
import { launchStrictChromium, leaveBy } from '../chromium.ts'
import { frameIn } from '../until.ts'
import { wantsAll } from '../wants-all.ts'
import { cards, formIn, typeCard } from './card-form.ts'

setDefaultTimeout(240_000)

let rig: Rig
let tenant: Awaited<ReturnType<Rig['newTenant']>>
let page: Page

beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' }, launchStrictChromium)
  rig.service.sandbox!.setOrigin(rig.base)
})
beforeEach(async () => {
  tenant = await rig.newTenant()
  page = await rig.openPage()
  await page.goto(rig.shop)
})
afterEach(async () => {
  rig.trouble.answer = undefined
  await rig.closePage(page)
  await expectBalancedBooks(rig.service)
})
afterAll(() => rig.stop())

const windows = () => page.context().pages().length - 1
const addMoney = (frame: Frame) => frame.getByRole('button', { name: 'Add money' }).click()
/** Two clicks as close as a person's, on a busy machine too: the page itself times the second one. */
async function doubleClick(frame: Frame): Promise<void> {
  const button = frame.locator('button.hero-action')
  await button.evaluate((button: HTMLElement) =>
    button.addEventListener('click', () => setTimeout(() => button.click(), 100), { once: true }),
  )
  await button.click()
}
const offerIn = (frame: Frame) => frame.locator('.topup-offer')

/** The wallet in a frame of a page that only listens. */
async function openWallet(): Promise<Frame> {
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession(rig.shop), lang: 'en' }))
  await waitForMessage(page, 'SERVICE_WALLET_LOADED')
  return frame
}

/** A page written from the specification alone. */
async function openContractPage(parentOrigin: string | undefined = rig.shop): Promise<Frame> {
  const session = await tenant.newSession(parentOrigin || undefined)
  await page.evaluate(
    ([service, session]) =>
      addEventListener('message', (event) => {
        if (event.origin !== service || event.data.type !== 'SERVICE_OPEN_TOPUP') return
        window.open(`${service}/widget/topup?session=${session}`)
      }),
    [rig.base, session] as const,
  )
  const frame = await embed(page, walletUrl(rig, { session }))
  await waitForMessage(page, 'SERVICE_WALLET_LOADED')
  return frame
}

async function openSdkPage(): Promise<Frame> {
  await page.route('**/wallet/session', async (route) => {
    const sessionToken = await tenant.newSession(rig.shop)
    await route.fulfill({ json: { sessionToken, expiresAt: new Date().toISOString() } })
  })
  await page.evaluate(
    ([baseUrl, clientId]) =>
      void window.Billfold.mountWallet(document.getElementById('slot')!, {
        baseUrl,
        clientId,
        fetchSession: async () => (await fetch('/wallet/session')).json(),
        onLinked: () => {},
      }),
    [rig.base, tenant.clientId] as const,
  )
  await waitForMessage(page, 'SERVICE_WALLET_LOADED')
  return await frameIn(page)
}

async function pay(where: Page | Frame): Promise<void> {
  await where.getByRole('button', { name: 'Continue' }).click()
  await typeCard(where, cards.good)
  await where.getByRole('heading', { name: 'Money added' }).waitFor()
}

const openedBy = async (act: () => Promise<unknown>): Promise<Page> => {
  const opening = page.context().waitForEvent('page')
  await act()
  return await opening
}

async function closeBy(popup: Page): Promise<void> {
  const closed = popup.waitForEvent('close')
  // The click closes its own page, and Playwright may report that as a failed click; only the closing counts.
  await popup
    .getByRole('button', { name: 'Back to Fernweh Books' })
    .click()
    .catch(() => {})
  await closed
}

const linkIn = (where: Page) => where.getByRole('link', { name: 'Back to Fernweh Books' })
const topupUrl = async () => `${rig.base}/widget/topup?session=${await tenant.newSession()}&lang=en`

describe('a window that may not close itself has a link to the app', () => {
  /** In a tenant with a second origin, because the page that led here counts. */
  beforeEach(async () => {
    tenant = await rig.newTenant({ allowedIframeParents: [rig.strangerShop, rig.shop] })
  })

  test('if the app’s page led to the top-up in the same window', async () => {
    await leaveBy(page, (url) => void (location.href = url), await topupUrl())
    await pay(page)
    await page.reload()
    await linkIn(page).click()
    await page.waitForURL(`${rig.shop}/`)
  })

  // As in the test above the page has no opener, and the app's page led to it.
  test.skipIf(!wantsAll)('if a link without an opener led to it', async () => {
    await page.evaluate(
      (url) => {
        const link = Object.assign(document.createElement('a'), {
          href: url,
          target: '_blank',
          textContent: 'Add money',
        })
        document.getElementById('slot')!.append(link)
      },
      await topupUrl(),
    )
    const other = await openedBy(() => page.click('text=Add money'))
    expect(await other.evaluate(() => window.opener as unknown)).toBeNull()
    await pay(other)
    await linkIn(other).click()
    await other.waitForURL(`${rig.shop}/`)
  })

  test('if the window that opened it is closed', async () => {
    const opener = await page.context().newPage()
    await opener.goto(rig.shop)
    await opener.evaluate(
      (url) => {
        const act = () => void window.open(url)
        document.getElementById('slot')!.append(Object.assign(document.createElement('button'), { onclick: act }))
      },
      await topupUrl(),
    )
    const other = await openedBy(() => opener.locator('#slot button').dispatchEvent('click'))
    await other.getByRole('button', { name: 'Continue' }).waitFor()
    await opener.close()
    await pay(other)
    await linkIn(other).click()
    await other.waitForURL(`${rig.shop}/`)
  })

  test('if nothing led to it, to the first origin of the app', async () => {
    await page.goto(await topupUrl())
    await pay(page)
    await linkIn(page).click()
    await page.waitForURL(`${rig.strangerShop}/`)
  })
})

describe('one window', () => {
  test('this browser blocks a window that opens without a click', async () => {
    await page.goto(`${rig.shop}/?open=${encodeURIComponent(rig.shop)}`)
    expect(await page.evaluate(() => window.wasBlocked)).toBeTrue()
  })

  test.each([
    ['the specification alone', openContractPage],
    ['the SDK', openSdkPage],
  ])('a page written with %s opens one, and the wallet offers no other', async (_, openPage) => {
    const frame = await openPage()
    const popup = await openedBy(() => doubleClick(frame))
    // The page's script removes the token from the address, a little after the page has loaded.
    await popup.waitForURL((url) => !url.searchParams.has('session'))
    await pay(popup)
    await waitForBalance(frame, '$25.00')
    await waitForMessage(page, 'SERVICE_WALLET_UPDATED')
    await offerIn(frame).waitFor({ state: 'detached' })
    expect(windows()).toBe(1)
    expect((await messagesReceived(page)).filter(({ type }) => type === 'SERVICE_OPEN_TOPUP')).toEqual([
      { type: 'SERVICE_OPEN_TOPUP', version: 1, url: expect.stringMatching(/\/widget\/topup\?session=ws_/) },
    ])
    await closeBy(popup)
  })

  test('nothing is posted to an origin that is not there, which Chromium would log in the console of a page of the same site', async () => {
    const sameSite = rig.shop.replace('localhost', '127.0.0.1')
    tenant = await rig.newTenant({ allowedIframeParents: [rig.shop, sameSite, rig.strangerShop] })
    const warnings: string[] = []
    page.context().on('console', (message) => {
      if (message.text().includes('target origin')) warnings.push(message.text())
    })
    await page.goto(sameSite)
    const frame = await openContractPage('')
    await pay(await openedBy(() => addMoney(frame)))
    await waitForBalance(frame, '$25.00')
    await waitForMessage(page, 'SERVICE_WALLET_UPDATED')
    expect(warnings).toEqual([])
    page.context().removeAllListeners('console')
  })

  test('a page that ignores the message gets no window, and a click on the wallet’s own link opens one', async () => {
    const frame = await openWallet()
    await addMoney(frame)
    await offerIn(frame).waitFor()
    expect(windows()).toBe(0)
    const popup = await openedBy(() => frame.getByRole('link', { name: 'Open the top-up page' }).click())
    await pay(popup)
    await waitForBalance(frame, '$25.00')
    await offerIn(frame).waitFor({ state: 'detached' })
    expect(windows()).toBe(1)
    await closeBy(popup)
  })

  test('the offer of a link is withdrawn when the window reports itself, however late it opens', async () => {
    const frame = await openContractPage()
    const held = Promise.withResolvers<void>()
    rig.trouble.answer = async ({ pathname }) => {
      // The wallet in the frame has loaded already; this request comes from the window.
      if (pathname === '/api/widget/wallet') await held.promise
      return undefined
    }
    await openedBy(() => addMoney(frame))
    await offerIn(frame).waitFor()
    held.resolve()
    await offerIn(frame).waitFor({ state: 'detached' })
  })

  test('where no window can open a top-up continues in the frame, and every step has a way back', async () => {
    const src = walletUrl(rig, { session: await tenant.newSession(rig.shop), lang: 'en' })
    const sandbox = 'allow-same-origin allow-scripts allow-forms'
    const frame = await embed(page, src, { allow: 'payment *', sandbox })
    const enter = async () => {
      await addMoney(frame)
      await frame.getByRole('link', { name: 'Continue here' }).click()
    }
    await enter()
    await frame.getByRole('button', { name: 'Continue' }).click()
    await formIn(frame).getByLabel('Card number').waitFor()
    await frame.locator('.top').getByRole('link', { name: 'Back to the wallet' }).click()
    await enter()
    await pay(frame)
    await waitForMessage(page, 'SERVICE_WALLET_UPDATED')
    await frame.locator('.panel').getByRole('link', { name: 'Back to the wallet' }).click()
    await waitForBalance(frame, '$25.00')
    expect(windows()).toBe(0)
  })
})

/** Ends every existing session; later ones are not affected. */
const expireAll = () => rig.pass(5 * 60_000 + 1_000)
const waitForExpired = (where: Page | Frame) => where.waitForSelector('text=Your session has ended')

test('a page restored from the back/forward cache has the current balance, and knows when its session has ended', async () => {
  await openWallet()
  await page.evaluate(() => void (document.body.dataset['mark'] = 'same document'))
  // Playwright reports no frames and no load of a page restored from the cache; the page itself continues as it was.
  const awayAndBack = async (meanwhile: () => Promise<unknown>) => {
    await page.goto(rig.strangerShop)
    await meanwhile()
    await page.goBack({ waitUntil: 'commit' })
    expect(await page.evaluate(() => document.body.dataset['mark'])).toBe('same document')
  }
  await awayAndBack(() => tenant.client.credit(tenant.user.serviceUserId, 5))
  await waitForMessage(page, 'SERVICE_WALLET_UPDATED')
  await awayAndBack(expireAll)
  await waitForMessage(page, 'SERVICE_SESSION_EXPIRED')
})

describe('a renewed session', () => {
  test('reaches the top-up window, also after the wallet itself had expired', async () => {
    const frame = await openContractPage()
    const popup = await openedBy(() => addMoney(frame))
    // Once this is visible, the window knows whose wallet it belongs to.
    await popup.locator('.topup-head .muted bdi').waitFor()
    await expireAll()
    await Promise.all([waitForExpired(frame), waitForExpired(popup)])
    await renew(rig, page, await tenant.newSession(rig.shop))
    await pay(popup)
    await waitForBalance(frame, '$25.00')
  })

  test('reaches the top-up window while a card is typed in, without clearing the card', async () => {
    const frame = await openContractPage()
    const popup = await openedBy(() => addMoney(frame))
    await popup.locator('.topup-head .muted bdi').waitFor()
    await popup.getByRole('button', { name: 'Continue' }).click()
    await formIn(popup).getByLabel('Card number').fill(cards.good)
    await expireAll()
    await waitForExpired(frame)
    await renew(rig, page, await tenant.newSession(rig.shop))
    await waitForBalance(frame, '$0.00')
    expect(await formIn(popup).getByLabel('Card number').inputValue()).toBe(cards.good)
    await typeCard(popup, cards.good)
    await popup.getByRole('heading', { name: 'Money added' }).waitFor()
  })

  test('reaches the top-up in the frame, which asks the page for it', async () => {
    const frame = await openWallet()
    await addMoney(frame)
    await frame.getByRole('link', { name: 'Continue here' }).click()
    await frame.getByRole('button', { name: 'Continue' }).waitFor()
    await expireAll()
    await waitForExpired(frame)
    await waitForMessage(page, 'SERVICE_SESSION_EXPIRED')
    await renew(rig, page, await tenant.newSession(rig.shop))
    await pay(frame)
  })

  test('reaches no top-up window of another user', async () => {
    const frame = await openContractPage()
    const popup = await openedBy(() => addMoney(frame))
    await popup.getByRole('button', { name: 'Continue' }).waitFor()
    const other = await rig.newTenant()
    await other.client.credit(other.user.serviceUserId, 7)
    await renew(rig, page, await other.newSession(rig.shop))
    await waitForBalance(frame, '$7.00')
    await pay(popup)
    const balances = [tenant, other].map(({ client, user }) => client.balance(user.serviceUserId))
    expect(await Promise.all(balances)).toEqual([25, 7])
  })

  test('is not needed once the page around the wallet is gone: the window pays, and says what to do when it cannot', async () => {
    const frame = await openContractPage()
    const popup = await openedBy(() => addMoney(frame))
    await popup.getByRole('button', { name: 'Continue' }).waitFor()
    await page.close()
    await pay(popup)
    await popup.goto(`${rig.base}/widget/topup?session=${await tenant.newSession()}`)
    await popup.getByRole('button', { name: 'Continue' }).waitFor()
    await expireAll()
    await popup.getByText('choose “Add money” in Fernweh Books again').waitFor()
    await popup.context().close()
  })
})
