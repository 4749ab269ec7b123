/** What the wallet shows to a session alone, and how a user signs in on the device inside it. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { newClient } from '../client.ts'
import { leaveBy } from '../chromium.ts'
import { eventually } from '../eventually.ts'
import { mailedCode, newEmail } from '../page.ts'
import { linkUser, newApp } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { embed, messagesReceived, startRig, waitForMessage, type Rig } from './rig.ts'
import {
  clickPart,
  focusIs,
  newMember,
  openShop,
  openSignIn,
  password,
  renew,
  signInOnDevice,
  tabTo,
  untilReady,
  walletUrl,
  type Member,
} from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
})
afterEach(() => {
  rig.trouble.losesCookies = false
})
afterAll(() => rig.stop())

/** A member with an entry of this app and one of a cinema. */
async function newCustomer(): Promise<Member> {
  const member = await newMember(rig)
  const cinema = await newApp(rig.service, { name: 'Kino Kosmos', allowedIframeParents: [] })
  const serviceUserId = await linkUser(rig.service, cinema, member.user.userId)
  await member.client.credit(member.user.serviceUserId, 100)
  await newClient(rig.app.fetch, cinema).post('/api/server/wallet/debit', {
    ...cinema,
    serviceUserId,
    amount: 31.5,
    referenceType: 'TICKETS',
    referenceId: 'row-G',
    description: 'Tickets for Nosferatu',
  })
  return member
}

const openOnNewDevice = async (member: Member) => await openShop(rig, member, { isDevice: false })

/** On a device of the user, where the password was given long ago. */
async function openPartLater(member: Member, part: string): Promise<{ page: Page; frame: Frame }> {
  const page = await rig.openPage()
  await signInOnDevice(rig, page, member, { hasPassword: false })
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await member.newSession(rig.shop) }))
  await clickPart(frame, part)
  await untilReady(frame, '.account-part')
  return { page, frame }
}

/** Types the password: the prompt has moved the focus into its field. */
async function givePassword(page: Page, frame: Frame, typed = password): Promise<void> {
  await until(frame, () => document.activeElement?.matches('.prove #field-password'))
  await page.keyboard.type(typed)
  await page.keyboard.press('Enter')
}

const untilPromptIsGone = (frame: Frame) => until(frame, () => document.querySelector('.prove') === null)

const isAsked = (frame: Frame) => frame.evaluate(() => document.querySelector('.prove') !== null)

describe('on a device where the user has not signed in', () => {
  test('entries of other apps are plain rows, those of this app open with their receipt, and the shop notices nothing', async () => {
    const { page, frame } = await openOnNewDevice(await newCustomer())
    await frame.waitForSelector('.entry >> text=Another app')
    expect(await frame.textContent('.entry:has-text("Another app")')).toContain('$31.50')
    expect(await frame.locator('.entry:has-text("Another app") button').count()).toBe(0)
    expect(await frame.content()).not.toMatch(/Kino|Nosferatu|TICKETS|row-G/)
    await frame.click('#entry-1')
    const [paper] = await Promise.all([page.context().waitForEvent('page'), frame.click('text=Receipt')])
    await paper.waitForSelector('main >> text=$100.00')
    await frame.click('.round')
    expect(await isAsked(frame)).toBeFalse()
    const types = (await messagesReceived(page)).map(({ type }) => type)
    expect(types.filter((type) => type !== 'SERVICE_RESIZE')).toEqual(['SERVICE_WALLET_LOADED'])
    await rig.closePage(page)
  })

  test('the password shows everything, by keyboard alone, and the focus goes on in the list', async () => {
    const { page, frame } = await openOnNewDevice(await newCustomer())
    await frame.focus('button.avatar')
    await tabTo(page, frame, '.everything button')
    await page.keyboard.press('Enter')
    await givePassword(page, frame)
    await frame.waitForSelector('text=Nosferatu')
    await focusIs(frame, 'Recent activity')
    expect(await frame.locator('.everything').count()).toBe(0)
    await rig.closePage(page)
  })

  test('after the password the wallet goes on where the user was going: to the activity, or to the account', async () => {
    for (const [button, shown, title] of [
      ['#all-activity', '.browse .entry', 'Activity'],
      ['button.avatar', '[data-part=email] .muted', 'Account'],
    ] as const) {
      const { page, frame } = await openOnNewDevice(await newCustomer())
      await frame.click(button)
      await givePassword(page, frame)
      await untilSeen(frame, shown)
      await focusIs(frame, title)
      await rig.closePage(page)
    }
  })

  test('Back from the prompt shows the wallet again, with the focus on the button that led there', async () => {
    const { page, frame } = await openOnNewDevice(await newCustomer())
    for (const button of ['button.avatar', '#all-activity', '.everything button']) {
      await untilReady(frame, button)
      await frame.focus(button)
      await page.keyboard.press('Enter')
      await until(frame, () => document.activeElement?.matches('.prove #field-password'))
      await frame.click('.round')
      await until(frame, (button) => document.activeElement?.matches(button), button)
    }
    await untilSeen(frame, '.everything')
    await rig.closePage(page)
  })

  test('a wrong password, too many tries and a lost connection each have their own words, and the typed password stays', async () => {
    const { page, frame } = await openOnNewDevice(await newMember(rig))
    await frame.click('.everything button')
    await givePassword(page, frame, 'not this one')
    await frame.waitForSelector('[aria-live] >> text=This password is wrong.')
    expect(await frame.getAttribute('#field-password', 'aria-invalid')).toBe('true')
    expect(await frame.evaluate(() => document.activeElement?.id)).toBe('field-password')
    await page.route('**/api/widget/account/prove*', (route) => route.abort())
    // On a busy machine a single press was once without effect.
    const notReached = frame.locator('[role=alert] >> text=The wallet cannot be reached.')
    await eventually(async () => {
      if ((await notReached.count()) === 0) await page.keyboard.press('Enter')
      await until(frame, () => document.querySelector('.prove form')?.getAttribute('aria-busy') === 'false')
      return (await notReached.count()) === 1 ? 'shown' : await frame.locator('.prove').textContent()
    }, 'shown')
    await page.unrouteAll()
    for (let tries = 0; tries < 30; tries++) {
      await page.keyboard.press('Enter')
      await until(frame, () => document.querySelector('.prove form')?.getAttribute('aria-busy') === 'false')
      if (await frame.locator('[role=alert] >> text=Too many attempts.').count()) break
    }
    await frame.waitForSelector('[role=alert] >> text=Too many attempts. Please try again in')
    expect(await frame.inputValue('#field-password')).toBe('not this one')
    await rig.closePage(page)
  })

  test('the app is left without a password', async () => {
    const member = await newCustomer()
    const { page, frame } = await openOnNewDevice(member)
    await frame.click('button.avatar')
    await frame.click('.account-exits >> text=Disconnect Fernweh Books')
    await focusIs(frame, 'Disconnect Fernweh Books?')
    await frame.click('.ask .danger')
    await waitForMessage(page, 'SERVICE_LOGOUT_REQUEST')
    await untilSeen(frame, '#field-email')
    expect((await member.client.debit(member.user.serviceUserId, 1)).status).toBe(404)
    await rig.closePage(page)
  })

  test('a forgotten password is reset in the frame, and the session that follows is not asked for it again', async () => {
    const member = await newCustomer()
    const { page, frame } = await openOnNewDevice(member)
    await frame.click('#all-activity')
    await frame.click('text=Forgot your password?')
    await waitForMessage(page, 'SERVICE_AUTH_REQUIRED')
    await untilReady(frame, '#field-email')
    await frame.fill('#field-email', member.email)
    await page.keyboard.press('Enter')
    await untilReady(frame, '#field-code')
    await frame.fill('#field-code', await mailedCode(member.email, rig.logged))
    await frame.fill('#field-password', 'eight merry otters')
    await page.keyboard.press('Enter')
    await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
    expect((await messagesReceived(page)).map(({ type }) => type)).not.toContain('SERVICE_LOGOUT_REQUEST')
    await renew(rig, page, await member.newSession(rig.shop))
    await frame.waitForSelector('text=Nosferatu')
    expect(await frame.locator('.everything').count()).toBe(0)
    await rig.closePage(page)
  })

  test('a session that is renewed while the prompt is open is the one that goes on', async () => {
    const member = await newCustomer()
    const { page, frame } = await openOnNewDevice(member)
    await frame.click('button.avatar')
    await untilReady(frame, '.prove #field-password')
    const session = await member.newSession(rig.shop)
    await renew(rig, page, session)
    await until(frame, (session) => (history.state as { session?: string }).session === session, session)
    const proved = page.waitForRequest('**/api/widget/account/prove*')
    await givePassword(page, frame)
    expect(new URL((await proved).url()).searchParams.get('session')).toBe(session)
    await untilSeen(frame, '[data-part=email] .muted')
    await rig.closePage(page)
  })
})

test('a user who signs in inside the widget is not asked again when the shop opens the wallet', async () => {
  const member = await newCustomer()
  const { page, frame } = await openSignIn(rig, member)
  await untilReady(frame, '#field-password')
  await frame.fill('#field-email', member.email)
  await frame.fill('#field-password', password)
  await page.keyboard.press('Enter')
  await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
  await page.goto(rig.shop)
  const opened = await embed(page, walletUrl(rig, { session: await member.newSession(rig.shop) }))
  await opened.waitForSelector('text=Nosferatu')
  expect(await opened.locator('.everything').count()).toBe(0)
  await rig.closePage(page)
})

describe('a browser that keeps no cookie', () => {
  test.each([
    ['lets its scripts see that', true, ['page']],
    ['hides that from its scripts', false, ['cookie', 'page']],
  ])(
    'and %s: the open page holds the device for itself, and a reload shows what a session does',
    async (_, isSeen, expected) => {
      rig.trouble.losesCookies = true
      const member = await newCustomer()
      const { page, frame } = await openOnNewDevice(member)
      if (isSeen) {
        const tools = await page.context().newCDPSession(frame)
        await tools.send('Emulation.setDocumentCookieDisabled', { disabled: true })
      }
      const kept: unknown[] = []
      page.on('request', (request) => {
        if (request.url().includes('/account/prove')) kept.push((request.postDataJSON() as { keep: string }).keep)
      })
      await frame.click('button.avatar')
      await givePassword(page, frame)
      await untilSeen(frame, '[data-part=email] .muted')
      expect(kept).toEqual(expected)
      expect(await page.context().cookies()).toEqual([])
      expect(await frame.evaluate(() => JSON.stringify([history.state, location.href]))).not.toContain('wd_')
      await frame.click('[data-part=signedIn]')
      await frame.waitForSelector('.entry >> text=This device')
      await frame.click('.round')
      await frame.click('[data-part=data]')
      const [paper] = await Promise.all([page.context().waitForEvent('page'), frame.click('.account-part .button')])
      await untilSeen(paper, '#file')
      await leaveBy(frame, () => location.reload())
      // The account stays open behind the prompt; Back shows the wallet.
      await untilSeen(frame, '.prove #field-password')
      await frame.click('.round')
      await untilSeen(frame, '.everything')
      await page.context().close()
    },
  )
})

describe('an act that needs the password again', () => {
  test('is done after the password without another click, and not asked for once more', async () => {
    const member = await newCustomer()
    const { page, frame } = await openPartLater(member, 'apps')
    await frame.click('[aria-label="Disconnect Kino Kosmos"]')
    await frame.click('.ask .danger')
    await frame.waitForSelector('.prove >> text=Confirm that it is you')
    await givePassword(page, frame)
    await frame.waitForSelector('text=Kino Kosmos is disconnected.')
    await frame.click('.round')
    await frame.click('[data-part=mails]')
    await frame.uncheck('[name=sign-ins]')
    await frame.click('.round')
    await frame.click('[data-part=email]')
    await frame.fill('#field-email', newEmail())
    await page.keyboard.press('Enter')
    await untilSeen(frame, '#field-newCode')
    expect(await isAsked(frame)).toBeFalse()
    await rig.closePage(page)
  })

  test('keeps what was typed while it asks; Back leaves it undone without an error', async () => {
    const member = await newMember(rig)
    const { page, frame } = await openPartLater(member, 'email')
    const email = newEmail()
    await frame.fill('#field-email', email)
    await page.keyboard.press('Enter')
    await untilReady(frame, '.prove #field-password')
    await frame.click('.prove .round')
    await until(frame, () => document.activeElement?.id === 'field-email')
    expect(await frame.inputValue('#field-email')).toBe(email)
    expect(await frame.locator('.account-part .notice, .account-part .problem').count()).toBe(0)
    await page.keyboard.press('Enter')
    await givePassword(page, frame)
    await frame.waitForSelector(`text=Code sent to ${email}`)
    await rig.closePage(page)
  })

  test('a mail about safety stays on when its user does not give the password, and is stopped when they do', async () => {
    const { page, frame } = await openPartLater(await newMember(rig), 'mails')
    await frame.click('[name=sign-ins]')
    await untilReady(frame, '.prove #field-password')
    await frame.click('.prove .round')
    await untilPromptIsGone(frame)
    expect(await frame.isChecked('[name=sign-ins]')).toBeTrue()
    await frame.click('[name=sign-ins]')
    await givePassword(page, frame)
    await untilPromptIsGone(frame)
    await until(frame, () => document.querySelector<HTMLInputElement>('[name=sign-ins]')?.checked === false)
    await rig.closePage(page)
  })

  test('the data file opens in its window after the password', async () => {
    const { page, frame } = await openPartLater(await newMember(rig), 'data')
    await frame.click('.account-part .button')
    const [opened] = await Promise.all([page.context().waitForEvent('page'), givePassword(page, frame)])
    await untilSeen(opened, '#file')
    expect(await opened.evaluate(() => window.opener)).toBeNull()
    await untilPromptIsGone(frame)
    await rig.closePage(page)
  })
})

test('a paper whose window is blocked is offered as a link, which opens it', async () => {
  const { page, frame } = await openShop(rig, await newCustomer())
  await frame.click('#entry-1')
  await untilReady(frame, '.papers .button')
  await frame.evaluate(() => (window.open = () => null))
  await frame.click('.papers .button')
  await frame.waitForSelector('[role=status] >> text=Did the window not open?')
  const [paper] = await Promise.all([page.context().waitForEvent('page'), frame.click('.papers a')])
  await paper.waitForSelector('main >> text=$100.00')
  await until(frame, () => document.querySelector('.papers a') === null)
  await rig.closePage(page)
})

test('a paper that cannot be ordered closes its window and says why', async () => {
  const { page, frame } = await openShop(rig, await newCustomer())
  await frame.click('#entry-1')
  await untilReady(frame, '.papers .button')
  await page.route('**/api/widget/papers*', (route) => route.abort())
  const [paper] = await Promise.all([page.context().waitForEvent('page'), frame.click('.papers .button')])
  await frame.waitForSelector('[role=alert] >> text=The wallet cannot be reached.')
  if (!paper.isClosed()) await paper.waitForEvent('close')
  await rig.closePage(page)
})

/** The same user on two devices; the second one opens the list of devices. */
async function onTwoDevices() {
  const member = await newCustomer()
  const lost = await openShop(rig, member)
  const kept = await openShop(rig, member)
  await clickPart(kept.frame, 'signedIn')
  await kept.frame.waitForSelector('.entry >> text=This device')
  return { lost, kept }
}

async function endOther({ page, frame }: { page: Page; frame: Frame }): Promise<void> {
  await frame.click('.entry:has(.may):not(:has-text("This device")) .button')
  await focusIs(frame, 'Sign out')
  await tabTo(page, frame, '.ask .danger')
  await page.keyboard.press('Enter')
  await frame.waitForSelector('[role=status] >> text=is signed out.')
  await until(frame, () => document.activeElement?.matches('ul[aria-label=Devices]'))
}

describe('a device that is ended elsewhere', () => {
  test('asks for the password in place, and goes on in the same part of the account', async () => {
    const { lost, kept } = await onTwoDevices()
    await lost.frame.click('button.avatar')
    await untilSeen(lost.frame, '[data-part=email] .muted')
    await endOther(kept)
    await lost.frame.click('[data-part=history]')
    await lost.frame.waitForSelector('text=This device was signed out.')
    await givePassword(lost.page, lost.frame)
    await lost.frame.waitForSelector('.account-part >> text=Account created')
    await Promise.all([rig.closePage(lost.page), rig.closePage(kept.page)])
  })

  test('shows, after Back, the wallet of a session, without an error', async () => {
    const { lost, kept } = await onTwoDevices()
    await lost.frame.click('#all-activity')
    await lost.frame.waitForSelector('text=Nosferatu')
    await endOther(kept)
    await lost.frame.fill('[name=search]', 'tickets')
    await lost.frame.waitForSelector('text=This device was signed out.')
    await lost.frame.click('.prove .round')
    await untilSeen(lost.frame, '.everything')
    await lost.frame.waitForSelector('.entry >> text=Another app')
    expect(await lost.frame.content()).not.toMatch(/Kino|Nosferatu/)
    expect(await lost.frame.locator('.notice.bad').count()).toBe(0)
    await Promise.all([rig.closePage(lost.page), rig.closePage(kept.page)])
  })

  test('this device, ended by its user, shows the wallet of a session', async () => {
    const { page, frame } = await openShop(rig, await newCustomer())
    await clickPart(frame, 'signedIn')
    await frame.click('.entry:has-text("This device") .button')
    await frame.click('.ask .danger')
    await untilSeen(frame, '.everything')
    expect(await isAsked(frame)).toBeFalse()
    await rig.closePage(page)
  })
})
