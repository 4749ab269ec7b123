/** The states of what is on hold: in the wallet, and in its list. */
import type { Frame, Page } from '@playwright/test'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { holdClient, holdOf } from '../holds.ts'
import { linkUser, newApp, operator } from '../service.ts'
import { newClient } from '../client.ts'
import { untilSeen } from '../until.ts'
import { clickPart, untilFitted, untilReady, type Tenant } from './shop.ts'
import { asked, ofPart } from './states-account.ts'
import type { StatesOf } from './stage.ts'

const longText = `Complete Works of Jorge Luis Borges, ${'2026-0000-9999-'.repeat(5)}, Reise nach طرابلس الشرق`

/** The wallet has drawn its rows, which load with the view. */
async function withRows(frame: Frame): Promise<Frame> {
  await untilSeen(frame, '.entry.held .amount')
  return frame
}

export const holdStates: StatesOf = (stage) => {
  const { rig, funded, openWallet, answerInstead } = stage

  /** A tenant with holds of its app, and one of another app. */
  async function holding(amounts: readonly number[] = [18, 999_999_999.99, 7.5], from = funded()): Promise<Tenant> {
    const made = await from
    const { clientId, clientSecret, user } = made
    const mine = holdClient(made.client, { clientId, clientSecret })
    const texts = [longText, 'Atlas of Remote Islands', undefined]
    for (const [i, amount] of amounts.entries())
      await mine.place(user.serviceUserId, amount, {
        expiresIn: [3_600, 90_000, 604_800][i % 3],
        ...(texts[i % 3] && { description: texts[i % 3] }),
      })
    const placed = holdOf(await mine.place(user.serviceUserId, 42, { description: 'Escrow: a website' }))
    await mine.capture(placed.id, { amount: 12, final: false, referenceType: 'PART', referenceId: user.userId })
    const other = await newApp(rig.service, { name: rig.names.appName })
    const elsewhere = await linkUser(rig.service, other, user.userId)
    await holdClient(newClient(rig.app.fetch, other), other).place(elsewhere, 30, { description: 'A room for two' })
    return made
  }

  async function openList(
    page: Page,
    made: Tenant,
    query: Record<string, string> = {},
    options: { isDevice?: boolean } = {},
  ): Promise<Frame> {
    const frame = await withRows(await openWallet(page, made, query, options))
    await frame.click('#open-holds')
    await untilReady(frame, '.holds')
    return frame
  }

  async function openPart(page: Page, part: string, lang: string): Promise<Frame> {
    const frame = await withRows(await openWallet(page, await holding(), { lang }))
    await clickPart(frame, part)
    return frame
  }

  /** Before the app of this widget is disconnected. */
  async function askToDisconnect(page: Page, lang: string): Promise<Frame> {
    const frame = await openPart(page, 'apps', lang)
    await untilReady(frame, '.account .entry:nth-child(2) .button')
    await untilFitted(frame)
    await frame.click('.account .entry:nth-child(2) .button')
    await untilSeen(frame, '.ask')
    return frame
  }

  async function askToDelete(page: Page, lang: string): Promise<Frame> {
    const frame = await openPart(page, 'delete', lang)
    await untilSeen(frame, '.account-part .notice button')
    return frame
  }

  const inList = { back: ['#open-holds'] }

  return {
    'on-hold': { show: async (page) => withRows(await openWallet(page, await holding())) },
    'on-hold-right-to-left': {
      sameAs: 'on-hold',
      show: async (page) => withRows(await openWallet(page, await holding(), { lang: 'ar' })),
    },
    'on-hold-frozen': {
      sameAs: 'on-hold',
      show: async (page) => {
        const frozen = await holding()
        await freezeWallet(rig.service, operator, frozen.user.userId, 'A question about an order')
        return withRows(await openWallet(page, frozen))
      },
    },
    'on-hold-in-debt': {
      sameAs: 'on-hold',
      show: async (page) => {
        const made = await rig.newTenant()
        await stage.move(made, 100_00n)
        const owing = await holding([40], Promise.resolve(made))
        await stage.move(owing, -60_00n)
        return withRows(await openWallet(page, owing))
      },
    },
    'on-hold-unknown-app': {
      sameAs: 'on-hold',
      show: async (page) => withRows(await openWallet(page, await holding(), {}, { isDevice: false })),
    },
    'holds-list': { returns: inList, show: async (page) => openList(page, await holding([1, 2, 3, 4, 5, 6])) },
    'holds-list-right-to-left': {
      sameAs: 'holds-list',
      show: async (page) => openList(page, await holding(), { lang: 'he' }),
    },
    'holds-list-unknown-app': {
      sameAs: 'holds-list',
      returns: inList,
      show: async (page) => openList(page, await holding(), {}, { isDevice: false }),
    },
    'holds-list-loading': {
      isLike: 'holds-list-failed',
      returns: inList,
      show: async (page) => {
        answerInstead('/api/widget/holds', () => new Promise(() => {}))
        return openList(page, await holding())
      },
    },
    'holds-list-failed': {
      returns: inList,
      show: async (page) => {
        answerInstead('/api/widget/holds', () => Response.json({ error: 'x', code: 'INTERNAL' }, { status: 500 }))
        const frame = await openList(page, await holding())
        await untilSeen(frame, '.holds .notice.bad')
        return frame
      },
    },
    'on-hold-disconnecting': { isLike: 'disconnecting', returns: asked, show: (page) => askToDisconnect(page, 'en') },
    'on-hold-disconnecting-right-to-left': {
      sameAs: 'on-hold-disconnecting',
      show: (page) => askToDisconnect(page, 'ar'),
    },
    'on-hold-deleting': { isLike: 'account-email', returns: ofPart, show: (page) => askToDelete(page, 'de') },
    'on-hold-deleting-right-to-left': { sameAs: 'on-hold-deleting', show: (page) => askToDelete(page, 'he') },
    'holds-list-empty': {
      isLike: 'holds-list',
      returns: { back: ['.hero-balance'] },
      show: async (page) => {
        const made = await rig.newTenant()
        const { clientId, clientSecret, user } = made
        const mine = holdClient(made.client, { clientId, clientSecret })
        await made.client.credit(user.serviceUserId, 20)
        const placed = holdOf(await mine.place(user.serviceUserId, 5))
        const frame = await openList(page, made)
        await mine.void(placed.id)
        await untilSeen(frame, '.holds .card:last-child > .muted')
        return frame
      },
    },
  }
}
