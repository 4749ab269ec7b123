/** Signing in on a device in a browser that blocks third-party cookies and pop-ups, as many people have it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame } from '@playwright/test'
import { launchChromiumWithoutThirdPartyCookies } from '../chromium.ts'
import { untilSeen } from '../until.ts'
import { embed, startRig, waitForMessage, type Rig } from './rig.ts'
import { clickPart, newMember, openSignIn, password, signInOnDevice, untilReady, walletUrl } from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig({}, launchChromiumWithoutThirdPartyCookies)
})
afterAll(() => rig.stop())

/** Which of two cookies the frame keeps: one that is partitioned by the embedding site, and one that is not. */
const cookiesKept = (frame: Frame) =>
  frame.evaluate(() => {
    document.cookie = 'plain=1; Path=/; Secure; SameSite=None'
    document.cookie = 'parted=1; Path=/; Secure; SameSite=None; Partitioned'
    const kept = document.cookie
    document.cookie = 'parted=; Path=/; Secure; SameSite=None; Partitioned; Max-Age=0'
    return kept
  })

test('a user who signs in inside the widget is not asked again there, and in another site that embeds it they are', async () => {
  const elsewhere = rig.shop.replace('localhost', '127.0.0.1')
  const member = await newMember(rig, await rig.newTenant({ allowedIframeParents: [rig.shop, elsewhere] }))
  const { page, frame } = await openSignIn(rig, member)
  expect(await cookiesKept(frame)).toBe('parted=1')
  await untilReady(frame, '#field-password')
  await frame.fill('#field-email', member.email)
  await frame.fill('#field-password', password)
  await page.keyboard.press('Enter')
  await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
  for (const [site, lines] of [
    [rig.shop, 0],
    [elsewhere, 1],
  ] as const) {
    await page.goto(site)
    const opened = await embed(page, walletUrl(rig, { session: await member.newSession(site) }))
    await untilSeen(opened, '.hero-balance .visually-hidden')
    expect([site, await opened.locator('.everything').count()]).toEqual([site, lines])
  }
  await rig.closePage(page)
})

test.each([
  ['with the password given just now', true],
  ['with the password asked for in between', false],
])('the data file opens in a window that no blocker stops, %s', async (_, hasPassword) => {
  const member = await newMember(rig)
  const page = await rig.openPage()
  await signInOnDevice(rig, page, member, { hasPassword })
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await member.newSession(rig.shop) }))
  await clickPart(frame, 'data')
  const opens = page.context().waitForEvent('page')
  await frame.click('.account-part .button')
  if (!hasPassword) {
    await untilReady(frame, '.prove #field-password')
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')
  }
  const paper = await opens
  await untilSeen(paper, '#file')
  expect(await paper.evaluate(() => [window.opener, document.referrer, document.cookie])).toEqual([null, '', ''])
  expect(await frame.locator('.papers a').count()).toBe(0)
  await rig.closePage(page)
})
