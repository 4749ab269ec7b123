/** The states of signing up and in. */
import { untilSeen } from '../until.ts'
import type { StatesOf } from './stage.ts'

export const signInStates: StatesOf = (stage) => {
  const { tenant, wallet, signedOut, answerInstead } = stage
  const returns = { reload: { shows: '#field-password', because: 'no step but the one that waits for a code is kept' } }
  return {
    'sign-in': { show: (page) => signedOut(page) },
    'sign-in-wrong': {
      isLike: 'sign-up-with-problems',
      returns,
      show: async (page) => {
        const frame = await signedOut(page)
        await frame.fill('#field-email', 'ada@example.com')
        await frame.fill('#field-password', 'not the right one')
        await frame.click('.reveal')
        await frame.click('form > .button')
        await untilSeen(frame, '.notice.bad')
        return frame
      },
    },
    'sign-up-with-problems': {
      returns,
      show: async (page) => {
        const frame = await signedOut(page)
        await frame.click('.under .link-button')
        await frame.fill('#field-firstName', 'Ada')
        await frame.fill('#field-email', 'ada')
        await frame.fill('#field-password', 'short')
        await frame.click('form > .button')
        await untilSeen(frame, '.problem')
        return frame
      },
    },
    'sign-up-german': {
      sameAs: 'sign-up-with-problems',
      returns,
      show: async (page) => {
        const frame = await signedOut(page, { lang: 'de' })
        await frame.click('.under .link-button')
        await untilSeen(frame, '#field-firstName')
        return frame
      },
    },
    'confirm-email': {
      show: async (page) => {
        const frame = await signedOut(page)
        await frame.click('.under .link-button')
        await frame.fill('#field-firstName', 'Ada')
        await frame.fill('#field-lastName', 'Lovelace')
        await frame.fill('#field-email', 'a-long-address-without-a-single-place-to-break-it@example.com')
        await frame.fill('#field-password', 'seven tired llamas')
        await frame.click('form > .button')
        await untilSeen(frame, '#field-code')
        return frame
      },
    },
    forgot: {
      isLike: 'reset-password',
      returns,
      show: async (page) => {
        const frame = await signedOut(page)
        await frame.click('.forgot .link-button')
        await frame.waitForSelector('text=Reset your password')
        return frame
      },
    },
    'reset-password': {
      show: async (page) => {
        const frame = await signedOut(page)
        await frame.click('.forgot .link-button')
        await frame.waitForSelector('text=Reset your password')
        await frame.fill('#field-email', 'ada@example.com')
        await frame.click('form > .button')
        await untilSeen(frame, '#field-code')
        return frame
      },
    },
    connecting: {
      isLike: 'sign-up-with-problems',
      returns,
      show: async (page) => {
        answerInstead('/api/widget/auth/login', () =>
          Response.json({ serviceUserId: 'su_00000000000000000000', linkCode: 'lc_x' }),
        )
        const frame = await signedOut(page)
        await frame.fill('#field-email', 'ada@example.com')
        await frame.fill('#field-password', 'seven tired llamas')
        await frame.click('form > .button')
        await untilSeen(frame, '.panel')
        return frame
      },
    },
    'outside-signed-out': {
      show: async (page) => {
        await page.goto(wallet({ clientId: tenant.clientId }))
        await untilSeen(page, '.sign-in .notice')
        return page
      },
    },
  }
}
