/** The account in a shop's page: what its user does there, by keyboard too, and where the focus is afterwards. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { text } from 'node:stream/consumers'
import type { Frame, Page } from '@playwright/test'
import { createUser } from '../../src/actions/people/create-user.ts'
import { leaveBy } from '../chromium.ts'
import { mailedCode, newEmail } from '../page.ts'
import { linkUser, newApp, newUser, operator, type TestUser } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { embed, hear, startRig } from './rig.ts'
import { focusIs, openShop, renew, tabTo, untilReady, walletUrl, type Tenant } from './shop.ts'

setDefaultTimeout(120_000)

const rig = await startRig()
afterAll(() => rig.stop())

const password = 'seven tired llamas'

type Member = Tenant & { readonly email: string }

async function newMember(): Promise<Member> {
  const tenant = await rig.newTenant()
  const email = newEmail()
  const person = { email, password, firstName: 'Ada', lastName: 'Lovelace', clientId: tenant.clientId }
  const created = (await createUser(rig.service, operator, person))!
  const user = { userId: created.userId, serviceUserId: created.serviceUserId! }
  const newSession = (origin?: string, who: TestUser = user) => tenant.newSession(origin, who)
  return { ...tenant, user, email, newSession }
}

async function openPart(member: Member, part: string): Promise<{ page: Page; frame: Frame }> {
  const { page, frame } = await openShop(rig, member)
  await frame.click('button.avatar')
  await frame.click(`[data-part=${part}]`)
  await untilReady(frame, '.account-part')
  return { page, frame }
}

/** The sign-in form in place of the wallet. */
async function signIn(page: Page, frame: Frame, { email }: Member): Promise<void> {
  await untilReady(frame, '#field-password')
  await frame.fill('#field-email', email)
  await frame.fill('#field-password', password)
  await page.keyboard.press('Enter')
}

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

test('the focus comes back to the row where frames come late and the wallet is told anew in between', async () => {
  const { page, frame } = await openPart(await newMember(), 'name')
  await frame.fill('#field-firstName', 'Grace')
  const told = Promise.withResolvers<void>()
  await page.route('**/api/widget/wallet*', async (route) => {
    await told.promise
    await route.continue()
  })
  // What Preact does after a frame waits for two timers, each this late.
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
  told.resolve()
  await answer
  await frame.evaluate(() => new Promise((resolve) => setTimeout(resolve, 2000)))
  expect(await frame.evaluate(() => document.activeElement?.getAttribute('data-part'))).toBe('name')
  await rig.closePage(page)
})

test('a question takes the focus and gives it back; after a yes the focus is on what is left', async () => {
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

test('a changed password ends the wallet in another window at once, and not here', async () => {
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
  await away.frame.waitForSelector('text=You are signed out')
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

test('a chosen language is there at once, after a reload, and for a session that comes later; the next person has their own', async () => {
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
  await untilSeen(frame, 'html[lang=ar] .hero-balance .visually-hidden')
  await page.goto(rig.shop)
  const signedOut = await embed(page, walletUrl(rig, { clientId: member.clientId }))
  // Only then does the frame listen: its form is there before its script.
  await hear(page, 'SERVICE_AUTH_REQUIRED')
  await untilSeen(signedOut, '#field-password')
  await renew(rig, page, await member.newSession())
  await untilSeen(signedOut, 'html[lang=ar] .hero-balance .visually-hidden')
  // Somebody else in the same frame, who has chosen nothing, has the language of the browser.
  await renew(rig, page, await member.newSession(undefined, await newUser(rig.service, member)))
  await untilSeen(signedOut, 'html[lang=en] .hero-balance .visually-hidden')
  const given = await embed(page, walletUrl(rig, { session: await member.newSession(), lang: 'de' }))
  await untilSeen(given, 'html[lang=de] .hero-balance .visually-hidden')
  await given.click('button.avatar')
  await given.click('[data-part=language]')
  await given.waitForSelector('text=legt die Sprache dieser Seite fest')
  await rig.closePage(page)
})

test('my data opens in a window of its own, which has no session, and is a file from there', async () => {
  const member = await newMember()
  const { page, frame } = await openPart(member, 'data')
  const [opened] = await Promise.all([page.context().waitForEvent('page'), frame.click('.account-part .button')])
  await untilSeen(opened, '#file')
  expect(opened.url()).not.toMatch(/ws_[0-9a-f]{8}-/)
  const [download] = await Promise.all([opened.waitForEvent('download'), opened.click('#file')])
  // The run's browser is another process's, which has no path to give.
  const data = JSON.parse(await text(await download.createReadStream())) as { account: { email: string } }
  expect(data.account.email).toBe(member.email)
  await opened.close()
  await rig.closePage(page)
})

test('signing out everywhere leaves, tells the shop, and the shop cannot open the wallet again', async () => {
  const member = await newMember()
  const { page, frame } = await openPart(member, 'signedIn')
  await frame.waitForSelector('.browsers >> text=This browser')
  await frame.click('.account-part > .button')
  await frame.click('.ask .danger')
  await hear(page, 'SERVICE_LOGOUT_REQUEST')
  await untilSeen(frame, '#field-password')
  expect(await member.newSession()).toBe('undefined')
  await signIn(page, frame, member)
  await hear(page, 'SERVICE_AUTH_SUCCESS')
  expect(await member.newSession()).toStartWith('ws_')
  await rig.closePage(page)
})

test.each([200, 503])(
  'what signs out everywhere is there when the list above it has come or failed (%d), and does not move under the finger before',
  async (status) => {
    const { page, frame } = await openShop(rig, await newMember())
    const held = Promise.withResolvers<void>()
    await page.route('**/api/widget/account/signed-in?*', async (route) => {
      await held.promise
      await (status === 200 ? route.continue() : route.fulfill({ status }))
    })
    await frame.click('button.avatar')
    await frame.click('[data-part=signedIn]')
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
  ['sign-out-everywhere', 'signedIn', ['.account-part > .button', '.ask .danger']],
  ['delete', 'delete', ['.danger']],
])(
  'the shop is told to forget the link after account/%s, also when the end of the session is heard before the answer',
  async (path, part, buttons) => {
    const member = await newMember()
    const { page, frame } = await openPart(member, part)
    await page.route(`**/api/widget/account/${path}?*`, async (route) => {
      const response = await route.fetch()
      await frame.waitForSelector('text=You are signed out')
      await route.fulfill({ response })
    })
    if (part === 'delete') await frame.fill('#field-password', password)
    for (const button of buttons) await frame.click(button)
    await hear(page, 'SERVICE_LOGOUT_REQUEST')
    await untilReady(frame, '#field-password')
    await page.unrouteAll()
    await rig.closePage(page)
  },
)

test('mails are chosen; the history tells it all; the account is kept while there is money, and then deleted', async () => {
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
  await frame.click('.round')
  await frame.click('[data-part=delete]')
  await frame.fill('#field-password', password)
  await frame.click('.danger')
  await hear(page, 'SERVICE_LOGOUT_REQUEST')
  await signIn(page, frame, member)
  await frame.waitForSelector('text=The email and password do not match.')
  await Promise.all([rig.closePage(page), rig.closePage(rich.page)])
})
