/** The journey of a shop's customer in Firefox and WebKit, whose rules for frames, storage and pop-ups differ from Chromium's. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { startRig, type Rig } from '../rig.ts'
import { walletUrl } from '../shop.ts'
import { startShopRig, type ShopRig } from '../../example/rig.ts'
import { newName } from '../../example/visit.ts'
import { until, type Driver, type DocumentPath } from './driver.ts'
import { findOtherBrowsers } from './find.ts'

setDefaultTimeout(240_000)

const all = await findOtherBrowsers()
const browsers = all.filter(({ missing }) => missing === undefined)
for (const { name, missing } of all)
  if (missing) test.skip(`the journey in ${name}, because there is no ${missing} here`, () => {})

let shop: ShopRig
let rig: Rig
beforeAll(async () => {
  if (browsers.length === 0) return
  shop = await startShopRig()
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
})
afterAll(async () => {
  await shop?.stop()
  await rig?.stop()
})

let count = 0

function newPerson(driver: Driver) {
  const see = (target: DocumentPath, selector: string) =>
    until(driver, target, `return document.querySelector(${JSON.stringify(selector)}) !== null`)
  const read = (target: DocumentPath, text: string) =>
    until(driver, target, `return document.body.innerText.includes(${JSON.stringify(text)})`)
  const press = async (target: DocumentPath, selector: string) => {
    await see(target, `${selector}:not(:disabled)`)
    await untilStill(driver, target, selector)
    await driver.click(target, selector)
  }
  const write = async (target: DocumentPath, selector: string, text: string) => {
    await see(target, selector)
    await untilStill(driver, target, selector)
    await driver.type(target, selector, text)
  }
  const seeBalance = (wallet: DocumentPath, text: string) =>
    until(
      driver,
      wallet,
      `return document.querySelector('.hero-balance .visually-hidden')?.textContent === ${JSON.stringify(text)}`,
    )

  async function signUp(wallet: DocumentPath): Promise<void> {
    const email = `person-${process.pid}-${++count}@example.com`
    await press(wallet, '.under .link-button')
    await write(wallet, '#field-firstName', 'Robin')
    await write(wallet, '#field-lastName', 'Vesper')
    await write(wallet, '#field-email', email)
    await write(wallet, '#field-password', 'seven tired llamas')
    await press(wallet, 'form > .button')
    await write(wallet, '#field-code', await shop.mailedCode(email))
    await press(wallet, 'form > .button')
  }

  /** Pays in the top-up page, in a window or in the frame: the preselected amount, and a card that is accepted. */
  async function payByCard(topup: DocumentPath): Promise<void> {
    await press(topup, 'form > .button')
    const form = { ...topup, frames: [...(topup.frames ?? []), 0] }
    await write(form, 'input[name=number]', '4242424242424242')
    await write(form, 'input[name=expiry]', '1240')
    await write(form, 'input[name=cvc]', '123')
    await press(form, 'button[type=submit]')
    await read(topup, 'Money added')
  }

  return { see, read, press, write, seeBalance, signUp, payByCard }
}

describe.each(browsers)('in $name', ({ start }) => {
  let driver: Driver
  let window: string
  beforeAll(async () => {
    driver = await start!()
    window = (await driver.windows())[0]!
  })
  afterAll(() => driver?.close())

  test('a newcomer signs up in the frame, is linked, tops up in a window, pays, tops up in the frame, and switches the account', async () => {
    const { see, read, press, write, seeBalance, signUp, payByCard } = newPerson(driver)
    const page = { window }
    const wallet = { window, frames: [0] }
    await driver.go(window, shop.shopOrigin)
    await write(page, '#name', newName())
    await press(page, '.newcomer .button')
    await signUp(wallet)
    await seeBalance(wallet, '$0.00')

    await press(wallet, 'button.hero-action')
    const popup = { window: await newWindow(driver, window) }
    await see(popup, '.presets')
    await until(driver, popup, `return !location.search.includes('session=')`)
    await driver.reload(popup.window)
    await payByCard(popup)
    await seeBalance(wallet, '$25.00')
    await until(driver, wallet, `return document.querySelector('.topup-offer') === null`)
    expect(await driver.windows()).toHaveLength(2)
    // The click closes the document it is made in, and the driver may report that as a failed click.
    await press(popup, '.panel .button').catch(() => {})
    await untilAlone(driver)

    await press(page, '[data-buy]')
    await until(driver, page, `return /Paid/.test(document.querySelector('#orders .state')?.textContent)`)

    // Simulates a pop-up blocker that blocks every window.
    await driver.run(page, 'window.open = () => null')
    await press(wallet, 'button.hero-action')
    await press(wallet, '.topup-offer a:last-child')
    await see(wallet, '.presets')
    await payByCard(wallet)
    await press(wallet, '.panel a.button')
    await see(wallet, '.hero-balance .visually-hidden')

    await press(wallet, 'button.avatar')
    await press(wallet, '.account-exits .button')
    // The SDK replaces the frame by a new one without a session.
    await until(driver, page, `return !document.querySelector('#wallet iframe').src.includes('session=')`)
    await signUp(wallet)
    await seeBalance(wallet, '$0.00')
    await read(page, 'Unlink this wallet')
  })

  test('after a reload, and after Back, a plain frame shows the wallet, or asks for a session', async () => {
    const { see, read, seeBalance } = newPerson(driver)
    const wallet = { window, frames: [0] }
    // This server writes a new session into each page it sends.
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => pageWithFrame() })
    const origin = `http://localhost:${server.port}`
    const tenant = await rig.newTenant({ allowedIframeParents: [origin] })
    await rig.newTenant({ allowedIframeParents: [origin] })
    async function pageWithFrame(): Promise<Response> {
      const session = await tenant.newSession()
      const html = `<!doctype html><title>Shop</title><iframe title="Wallet" src="${walletUrl(rig, { session })}"></iframe>`
      return new Response(html, { headers: { 'content-type': 'text/html', 'referrer-policy': 'no-referrer' } })
    }
    await driver.go(window, origin)
    await seeBalance(wallet, '$0.00')
    await driver.reload(window)
    await seeBalance(wallet, '$0.00')
    await driver.go(window, rig.shop)
    await driver.back(window)
    await seeBalance(wallet, '$0.00')
    await driver.go(window, rig.shop)
    await rig.pass(6 * 60_000)
    await driver.back(window)
    await read(wallet, 'Your session has ended')
    // Reloading the page works, even if the browser restored an old frame.
    await driver.reload(window)
    await seeBalance(wallet, '$0.00')
    await see(wallet, 'button.hero-action')
    await server.stop(true)
  })
})

/** A click on a frame that is still growing misses its target. */
async function untilStill(driver: Driver, target: DocumentPath, selector: string): Promise<void> {
  const where = `const box = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect()
    return [box.x, box.y, innerWidth, innerHeight].join()`
  let before = ''
  for (let tries = 0; tries < 100; tries++) {
    const now = await driver.run<string>(target, where)
    if (now === before) return
    before = now
    await Bun.sleep(150)
  }
}

async function untilAlone(driver: Driver): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if ((await driver.windows()).length === 1) return
    await Bun.sleep(50)
  }
  throw new Error('The window did not close.')
}

async function newWindow(driver: Driver, first: string): Promise<string> {
  for (let tries = 0; tries < 1_000; tries++) {
    const other = (await driver.windows()).find((each) => each !== first)
    if (other !== undefined) return other
    await Bun.sleep(50)
  }
  throw new Error('No window came up.')
}
