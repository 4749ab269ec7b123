/** The states of the top-up page, up to the card form. */
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { newClient } from '../client.ts'
import { newApp, newUser, openTestService, operator } from '../service.ts'
import { newPage } from '../page.ts'
import { cards, formIn, typeCard } from '../topup/card-form.ts'
import { untilSeen } from '../until.ts'
import { payByCard } from './card-payments.ts'
import type { StatesOf } from './stage.ts'

/** The page around the frame loads the top-up anew. */
const anew = (shows: string, because: string) => ({ reload: { shows, because } })

export const topupStates: StatesOf = (stage) => {
  const { rig, tenant, topup, inShop } = stage
  const returns = { back: ['.presets'] }
  return {
    'top-up': {
      show: async (page) => {
        await page.goto(topup({ session: await tenant.newSession() }))
        await untilSeen(page, '.presets')
        return page
      },
    },
    'top-up-in-the-frame': {
      show: async (page) => {
        const frame = await inShop(page, topup({ session: await tenant.newSession() }))
        await untilSeen(frame, '.top .round')
        return frame
      },
    },
    'top-up-in-the-frame-card': {
      returns: anew('.presets', 'the payment is not paid, and the next one replaces it'),
      show: async (page) => {
        const frame = await inShop(page, topup({ session: await tenant.newSession() }))
        await frame.click('.preset:nth-child(3)')
        await frame.click('form > .button')
        await untilSeen(frame, '.card-frame')
        return frame
      },
    },
    'top-up-in-the-frame-done': {
      returns: anew('.presets', 'the payment is done, and nothing is missing'),
      show: async (page) => {
        const { client, user, newSession } = await rig.newTenant()
        await client.credit(user.serviceUserId, 3)
        const frame = await inShop(page, topup({ session: await newSession() }))
        await frame.click('.preset.other')
        await frame.fill('#field-other', '12.34')
        await frame.click('form > .button')
        await typeCard(frame, cards.good)
        await untilSeen(frame, '.panel .button')
        return frame
      },
    },
    'top-up-in-the-frame-expired': {
      show: async (page) => {
        const session = await tenant.newSession()
        await rig.pass(6 * 60_000)
        const frame = await inShop(page, topup({ session }))
        await untilSeen(frame, '.panel [role=status]')
        return frame
      },
    },
    'top-up-declined': {
      returns: {
        ...returns,
        forward: { shows: '.card-frame', because: 'the reload ordered a new payment, which no card has declined' },
      },
      show: async (page) => {
        await page.goto(
          topup({ session: await tenant.newSession(), lang: 'ar', amount: '14.98', reason: 'Order 1042' }),
        )
        await page.click('form > .button')
        await typeCard(page, cards.declined)
        await untilSeen(page, '.notice.bad')
        return page
      },
    },
    'top-up-bank': {
      returns,
      show: async (page) => {
        const { newSession } = await rig.newTenant()
        await page.goto(topup({ session: await newSession(), amount: '14.98', reason: 'Order 1042' }))
        await page.click('form > .button')
        await typeCard(page, cards.challenge)
        await untilSeen(page, '.notice.info')
        await page.reload()
        await untilSeen(page, '.notice.info')
        await formIn(page).locator('button').first().waitFor()
        return page
      },
    },
    'top-up-too-many': {
      sameAs: 'top-up-replaced',
      returns: anew('.presets', 'the service refused, so no payment is kept'),
      show: async (page) => {
        const { newSession } = await rig.newTenant()
        const session = await newSession()
        const own = newPage(rig.app.fetch, rig.base)
        for (let time = 0; time < 10; time++) {
          const order = { amount: 5, replaces: null }
          const { body } = await own.post(`/api/widget/topup/create-intent?session=${session}`, order)
          const { paymentIntentId, clientSecret } = body
          const card = { number: cards.challenge, expiry: '12/40', cvc: '123' }
          await own.post('/sandbox/confirm', { paymentIntentId, clientSecret, ...card })
        }
        await page.goto(topup({ session }))
        await untilSeen(page, '.notice.info')
        await page.click('.button.quiet')
        await untilSeen(page, '.presets')
        await page.click('form > .button')
        await untilSeen(page, '.panel .button.quiet')
        return page
      },
    },
    'top-up-replaced': {
      isLike: 'top-up-declined',
      show: async (page) => {
        const { newSession } = await rig.newTenant()
        const session = await newSession()
        await page.goto(topup({ session }))
        await page.click('form > .button')
        await untilSeen(page, '.card-frame')
        const own = newPage(rig.app.fetch, rig.base)
        await own.post(`/api/widget/topup/create-intent?session=${session}`, { amount: 5, replaces: null })
        await typeCard(page, cards.good)
        await untilSeen(page, '.panel .button')
        return page
      },
    },
    'top-up-repaid': {
      isLike: 'top-up-declined',
      returns,
      show: async (page) => {
        await page.goto(topup({ session: await (await stage.owing()).newSession() }))
        await untilSeen(page, '.notice.warn')
        await page.click('.preset:nth-child(2)')
        await page.click('form > .button')
        await typeCard(page, cards.good)
        await untilSeen(page, '.panel .papers')
        return page
      },
    },
    'top-up-on-its-way': {
      isLike: 'top-up-needed',
      show: async (page) => {
        const slow = await rig.newTenant()
        await payByCard(rig, slow, 20, cards.slow)
        await page.goto(topup({ session: await slow.newSession(), amount: '14.98' }))
        await untilSeen(page, '.notice.info')
        return page
      },
    },
    'wallet-failed-top-ups': {
      isLike: 'ten-transactions',
      show: async (page) => {
        const unlucky = await rig.newTenant()
        await unlucky.client.credit(unlucky.user.serviceUserId, 12.5)
        for (const number of [cards.declined, cards.challenge, cards.poor])
          await payByCard(rig, unlucky, 25, number, { replaces: null })
        await page.goto(`${rig.base}/widget/wallet?session=${await unlucky.newSession()}`)
        await untilSeen(page, '.entry.failed')
        return page
      },
    },
    'top-up-needed': {
      show: async (page) => {
        const query = { amount: '0.5', reason: 'Order 1042: a postcard from the Faroe Islands, with a stamp' }
        await page.goto(topup({ session: await tenant.newSession(), ...query }))
        await untilSeen(page, '.topup-head p')
        return page
      },
    },
    'top-up-owed': {
      sameAs: 'top-up-needed',
      show: async (page) => {
        await page.goto(topup({ session: await (await stage.owing()).newSession() }))
        await untilSeen(page, '.notice.warn')
        return page
      },
    },
    'top-up-wrong-amount': {
      returns: anew('.presets', 'what is typed is not kept'),
      show: async (page) => {
        await page.goto(topup({ session: await tenant.newSession() }))
        await page.click('.preset.other')
        await page.fill('#field-other', '0.001')
        await page.click('form > .button')
        await untilSeen(page, '.problem')
        return page
      },
    },
    'top-up-not-available': {
      isLike: 'top-up-in-the-frame-expired',
      isLast: true,
      show: async (page) => {
        const plain = await openTestService({ CARD_PROCESSOR: 'none' })
        const app = await newApp(plain.service, { name: 'Fernweh Books' })
        const { serviceUserId } = await newUser(plain.service, app)
        const { body } = await newClient(plain.app.fetch, app).post('/api/widget/session', { ...app, serviceUserId })
        // The browser sends its requests to one service, and another answers them.
        await page.route(`${rig.base}/**`, async (route) => {
          // A stream does not end, so there is no whole answer to wait for.
          if (route.request().url().includes('/events')) return await route.abort()
          const answer = await plain.app.fetch(
            new Request(route.request().url(), { headers: { 'sec-fetch-site': 'same-origin' } }),
          )
          const headers = Object.fromEntries(answer.headers)
          await route.fulfill({ status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()) })
        })
        page.on('close', () => void plain.close())
        await page.goto(topup({ session: String(body['sessionToken']) }))
        await page.waitForSelector('text=Top-ups are not available')
        return page
      },
    },
    'top-up-expired': {
      sameAs: 'top-up-in-the-frame-expired',
      show: async (page) => {
        const session = await tenant.newSession()
        await rig.pass(6 * 60_000)
        await page.goto(topup({ session }))
        await untilSeen(page, '.panel')
        return page
      },
    },
    'top-up-frozen': {
      isLike: 'top-up-in-the-frame-expired',
      show: async (page) => {
        const frozen = await rig.newTenant()
        await freezeWallet(rig.service, operator, frozen.user.userId, 'A question about an order')
        await page.goto(topup({ session: await frozen.newSession() }))
        await untilSeen(page, '.panel')
        return page
      },
    },
  }
}
