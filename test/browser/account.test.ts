/** The account view inside a shop's page: what a user does there, also by keyboard, and where the focus goes. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { text } from 'node:stream/consumers'
import type { Frame, Page } from '@playwright/test'
import { leaveBy } from '../chromium.ts'
import { eventually } from '../eventually.ts'
import { mailedCode, newEmail } from '../page.ts'
import { linkUser, newApp, newUser } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { embed, waitForMessage, startRig } from './rig.ts'
import {
  clickPart,
  focusIs,
  newMember as makeMember,
  openShop,
  password,
  renew,
  tabTo,
  untilReady,
  walletUrl,
  type Member,
} from './shop.ts'

setDefaultTimeout(240_000)

const rig = await startRig()
afterAll(() => rig.stop())

const newMember = () => makeMember(rig)

async function openPart(member: Member, part: string): Promise<{ page: Page; frame: Frame }> {
  const { page, frame } = await openShop(rig, member)
  await clickPart(frame, part)
  await untilReady(frame, '.account-part')
  return { page, frame }
}

async function signIn(page: Page, frame: Frame, { email }: Member): Promise<void> {
  await untilReady(frame, '#field-password')
  await frame.fill('#field-email', email)
  await frame.fill('#field-password', password)
  await page.keyboard.press('Enter')
}

test('no row of the account moves when its values arrive', async () => {
  const { page, frame } = await openShop(rig, await newMember())
  const answer = Promise.withResolvers<void>()
  await page.route('**/api/widget/account?*', async (route) => {
    await answer.promise
    await route.continue()
  })
  const topOfLast = () =>
    frame.evaluate(() => document.querySelector('[data-part=delete]')!.getBoundingClientRect().top + scrollY)
  await frame.click('button.avatar')
  await untilReady(frame, '[data-part=delete]')
  expect(await frame.locator('.account-row .muted').count()).toBe(0)
  const before = await topOfLast()
  answer.resolve()
  await untilSeen(frame, '[data-part=email] .muted')
  expect(await topOfLast()).toBe(before)
  expect(await frame.textContent('[data-part=language] .muted')).toBe('English')
  await rig.closePage(page)
})

test('names are changed by keyboard alone, and the focus comes back to the row that led there', async () => {
  const { page, frame } = await openShop(rig, await newMember())
  await frame.focus('button.avatar')
  await page.keyboard.press('Enter')
  await until(frame, () => document.activeElement?.matches('.account h1'))
  await tabTo(page, frame, '[data-part=name]')
  await page.keyboard.press('Enter')
  await until(frame, () => document.activeElement?.matches('.account h1'))
  await tabTo(page, frame, '#field-firstName')
  await page.keyboard.press('Control+A')
  await page.keyboard.type('Grace')
  await page.keyboard.press('Enter')
  await frame.waitForSelector('[role=status] >> text=Your changes are saved.')
  await until(frame, () => document.activeElement?.getAttribute('data-part') === 'name')
  expect(await frame.textContent('[data-part=name] .muted')).toBe('Grace Lovelace')
  await frame.click('.round')
  await frame.waitForSelector('text=Hello, Grace')
  await rig.closePage(page)
})

test('the focus comes back to the row when frames are late and the wallet is sent again in between', async () => {
  const { page, frame } = await openPart(await newMember(), 'name')
  await frame.fill('#field-firstName', 'Grace')
  const resent = Promise.withResolvers<void>()
  await page.route('**/api/widget/wallet*', async (route) => {
    await resent.promise
    await route.continue()
  })
  // Preact runs its effects after a frame, behind two timers: each is delayed by this much.
  await frame.evaluate(() => {
    const later = setTimeout
    Object.assign(globalThis, {
      requestAnimationFrame: (then: FrameRequestCallback) => later(then, 1000, 0),
      setTimeout: (then: () => void, ms = 0) => later(then, ms + 1000),
    })
  })
  await page.keyboard.press('Enter')
  await frame.waitForSelector('[role=status] >> text=Your changes are saved.')
  const answer = page.waitForResponse('**/api/widget/wallet*')
  resent.resolve()
  await answer
  await until(frame, () => document.activeElement?.getAttribute('data-part') === 'name')
  // It stays there.
  await frame.evaluate(() => new Promise((resolve) => setTimeout(resolve, 2000)))
  expect(await frame.evaluate(() => document.activeElement?.getAttribute('data-part'))).toBe('name')
  await rig.closePage(page)
})

test('a question takes the focus and gives it back; after a yes the focus is on the remaining view', async () => {
  const member = await newMember()
  const other = await newApp(rig.service, { name: 'Kino Kosmos' })
  await linkUser(rig.service, other, member.user.userId)
  for (const [part, label, answered] of [
    ['signedIn', 'Sign out of Kino Kosmos', 'You are signed out of Kino Kosmos.'],
    ['apps', 'Disconnect Kino Kosmos', 'Kino Kosmos is disconnected.'],
  ] as const) {
    const { page, frame } = await openPart(member, part)
    const button = `[aria-label="${label}"]`
    await frame.focus(button)
    await page.keyboard.press('Enter')
    await focusIs(frame, `${label}?`)
    await tabTo(page, frame, '.ask .quiet')
    await page.keyboard.press('Enter')
    await until(frame, (button) => document.activeElement?.matches(button), button)
    await page.keyboard.press('Enter')
    await focusIs(frame, `${label}?`)
    await tabTo(page, frame, '.ask .danger')
    await page.keyboard.press('Enter')
    await frame.waitForSelector(`text=${answered}`)
    await until(frame, () => document.activeElement?.tagName === 'UL')
    await rig.closePage(page)
  }
})

test('a changed password ends the wallet in another window at once, but not in this one', async () => {
  const member = await newMember()
  const away = await openShop(rig, member)
  const { page, frame } = await openPart(member, 'password')
  await frame.fill('#field-password', 'not this one')
  await frame.fill('#field-newPassword', 'eight merry otters')
  await page.keyboard.press('Enter')
  await untilSeen(frame, '#field-password-problem')
  expect(await frame.evaluate(() => document.activeElement?.id)).toBe('field-password')
  await frame.fill('#field-password', password)
  await page.keyboard.press('Enter')
  await frame.waitForSelector('[role=status] >> text=Your password has been changed')
  await away.frame.waitForSelector('text=Your password was changed')
  await frame.click('.round')
  await untilSeen(frame, '.hero-balance .visually-hidden')
  await Promise.all([rig.closePage(page), rig.closePage(away.page)])
})

test('the email is changed with the codes of both addresses', async () => {
  const member = await newMember()
  const email = newEmail()
  const { page, frame } = await openPart(member, 'email')
  await frame.fill('#field-email', member.email)
  await page.keyboard.press('Enter')
  await frame.waitForSelector('text=This is already your email.')
  await frame.fill('#field-email', email)
  await page.keyboard.press('Enter')
  await frame.waitForSelector(`text=Code sent to ${email}`)
  await frame.fill('#field-oldCode', await mailedCode(member.email, rig.logged))
  const code = await mailedCode(email, rig.logged)
  await frame.fill('#field-newCode', `${code.slice(0, 3)} ${code.slice(3)}`)
  await page.keyboard.press('Enter')
  await frame.waitForSelector('[role=status] >> text=Your email has been changed.')
  expect(await frame.textContent('[data-part=email] .muted')).toBe(email)
  await rig.closePage(page)
})

test('a chosen language applies at once, after a reload, and to a later session; the next person keeps their own', async () => {
  const member = await newMember()
  const { page, frame } = await openPart(member, 'language')
  await frame.click('text=العربية')
  await frame.click('.account-part .button')
  await frame.waitForSelector('h1 >> text=الحساب')
  expect(await frame.evaluate(() => [document.documentElement.lang, document.documentElement.dir])).toEqual([
    'ar',
    'rtl',
  ])
  await leaveBy(frame, () => location.reload())
  await untilSeen(frame, 'html[lang=ar] [data-part=language]')
  await page.goto(rig.shop)
  const signedOut = await embed(page, walletUrl(rig, { clientId: member.clientId }))
  // The form is there before its script runs: wait for the first message, which the script sends.
  await waitForMessage(page, 'SERVICE_AUTH_REQUIRED')
  await untilSeen(signedOut, '#field-password')
  await renew(rig, page, await member.newSession())
  await untilSeen(signedOut, 'html[lang=ar] .hero-balance .visually-hidden')
  // Another person in the same frame has chosen no language, and gets the language of the browser.
  await renew(rig, page, await member.newSession(undefined, await newUser(rig.service, member)))
  await untilSeen(signedOut, 'html[lang=en] .hero-balance .visually-hidden')
  const given = await embed(page, walletUrl(rig, { session: await member.newSession(), lang: 'de' }))
  await untilSeen(given, 'html[lang=de] .hero-balance .visually-hidden')
  await clickPart(given, 'language')
  await given.waitForSelector('text=legt die Sprache dieser Seite fest')
  await rig.closePage(page)
})

test('my data opens in a separate window without a session, and downloads as a file there', async () => {
  const member = await newMember()
  const { page, frame } = await openPart(member, 'data')
  const [opened] = await Promise.all([page.context().waitForEvent('page'), frame.click('.account-part .button')])
  await untilSeen(opened, '#file')
  expect(opened.url()).not.toMatch(/ws_[0-9a-f]{8}-/)
  const [download] = await Promise.all([opened.waitForEvent('download'), opened.click('#file')])
  // The browser runs in another process, so a path of the download is of no use here.
  const data = JSON.parse(await text(await download.createReadStream())) as { account: { email: string } }
  expect(data.account.email).toBe(member.email)
  await opened.close()
  await rig.closePage(page)
})

test('signing out everywhere ends the session, notifies the shop, and the shop cannot open the wallet again', async () => {
  const member = await newMember()
  const { page, frame } = await openPart(member, 'signedIn')
  await frame.waitForSelector('.browsers >> text=This browser')
  await frame.click('.account-part > .button')
  await frame.click('.ask .danger')
  await waitForMessage(page, 'SERVICE_LOGOUT_REQUEST')
  await untilSeen(frame, '#field-password')
  expect(await member.newSession()).toBe('undefined')
  await signIn(page, frame, member)
  await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
  expect(await member.newSession()).toStartWith('ws_')
  await rig.closePage(page)
})

test.each([200, 503])(
  'the button that signs out everywhere appears once the list above it has loaded or failed (%d), and never moves',
  async (status) => {
    const { page, frame } = await openShop(rig, await newMember())
    const held = Promise.withResolvers<void>()
    await page.route('**/api/widget/account/signed-in?*', async (route) => {
      await held.promise
      await (status === 200 ? route.continue() : route.fulfill({ status }))
    })
    await clickPart(frame, 'signedIn')
    await untilSeen(frame, '.account-part .skeleton')
    expect(await frame.locator('.account-part button').count()).toBe(0)
    held.resolve()
    await frame.click('.account-part > .button')
    await untilSeen(frame, '.ask .danger')
    await page.unrouteAll()
    await rig.closePage(page)
  },
)

test.each([
  ['sign-out-everywhere', 'signedIn', ['.account-part > .button', '.ask .danger'], 'You are signed out everywhere'],
  ['delete', 'delete', ['.danger'], 'Your account was deleted'],
])(
  'the shop is notified to forget the link after account/%s, also when the session ends before the answer arrives',
  async (path, part, buttons, ended) => {
    const member = await newMember()
    const { page, frame } = await openPart(member, part)
    await page.route(`**/api/widget/account/${path}?*`, async (route) => {
      const response = await route.fetch()
      await frame.waitForSelector(`text=${ended}`)
      await route.fulfill({ response })
    })
    if (part === 'delete') await frame.fill('#field-password', password)
    for (const button of buttons) await frame.click(button)
    await waitForMessage(page, 'SERVICE_LOGOUT_REQUEST')
    await untilReady(frame, '#field-password')
    await page.unrouteAll()
    await rig.closePage(page)
  },
)

test('two choices of mails in quick succession are sent one after the other, and both are kept', async () => {
  const { page, frame } = await openPart(await newMember(), 'mails')
  const bothChosen = Promise.withResolvers<void>()
  let [sent, underWay, most] = [0, 0, 0]
  await page.route(/\/account\/mails/, async (route) => {
    most = Math.max(most, ++underWay)
    sent++
    await bothChosen.promise
    const response = await route.fetch()
    underWay--
    await route.fulfill({ response })
  })
  await untilSeen(frame, '[name=payments]:checked')
  await frame.locator('[name=receipts]').press('Space')
  await eventually(() => sent, 1)
  await frame.locator('[name=payments]').press('Space')
  bothChosen.resolve()
  await eventually(() => sent, 2)
  await page.unrouteAll({ behavior: 'wait' })
  await until(frame, () => document.querySelectorAll('.account-part [type=checkbox]:checked').length === 1)
  expect(most).toBe(1)
  await rig.closePage(page)
})

test('a user chooses mails and reads the whole history; the account is kept while it has money, and then deleted', async () => {
  const member = await newMember()
  await member.client.credit(member.user.serviceUserId, 5)
  const rich = await openPart(member, 'delete')
  await rich.frame.waitForSelector('text=There is money in your wallet.')
  await member.client.debit(member.user.serviceUserId, 5)
  const { page, frame } = await openPart(member, 'mails')
  const kept = page.waitForResponse(
    (answer) => answer.url().includes('/account/mails') && answer.request().method() === 'POST',
  )
  await frame.uncheck('[name=receipts]')
  await kept
  await frame.click('.round')
  await frame.click('[data-part=mails]')
  await untilSeen(frame, '[name=payments]:checked')
  expect(await frame.isChecked('[name=receipts]')).toBe(false)
  await frame.click('.round')
  await frame.click('[data-part=history]')
  await frame.waitForSelector('text=Account created')
  const gaps = await frame.evaluate(() =>
    [...document.querySelectorAll('.entry-when.parts > * + *')].map((part) => {
      const [before, after] = [part.previousElementSibling!, part].map((each) => each.getBoundingClientRect())
      return after!.top > before!.top || after!.left - before!.right > 4
    }),
  )
  expect([gaps.length > 0, gaps.every(Boolean)]).toEqual([true, true])
  await frame.click('.round')
  await frame.click('[data-part=delete]')
  await frame.fill('#field-password', password)
  await frame.click('.danger')
  await waitForMessage(page, 'SERVICE_LOGOUT_REQUEST')
  await signIn(page, frame, member)
  await frame.waitForSelector('text=The email and password do not match.')
  await Promise.all([rig.closePage(page), rig.closePage(rich.page)])
})
