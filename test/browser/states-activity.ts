/** The states of the activity list and of the details of an entry. */
import type { Frame, Page } from '@playwright/test'
import { linkUser, newApp } from '../service.ts'
import { newClient } from '../client.ts'
import { until, untilSeen } from '../until.ts'
import { atTheBank, payByCard } from './card-payments.ts'
import type { Tenant } from './shop.ts'
import type { StatesOf } from './stage.ts'

const manyApps = [
  'Kino Kosmos',
  'Donaudampfschifffahrtsgesellschaftskapitänskajüte Wien',
  'متجر الكتب والخرائط القديمة في طرابلس الشرق',
  'Rad & Tat',
  '書店',
  'Coffee',
  'Zoo',
  'Bäckerei',
  'Parken',
]

export const activityStates: StatesOf = (stage) => {
  const { rig, funded, openWallet, answerInstead } = stage

  /** Two apps, a long description, and card payments of every kind. */
  async function busy(): Promise<Tenant> {
    const tenant = await funded()
    const cinema = await newApp(rig.service, { name: 'Kino Kosmos', allowedIframeParents: [] })
    const serviceUserId = await linkUser(rig.service, cinema, tenant.user.userId)
    const client = newClient(rig.app.fetch, cinema)
    await client.post('/api/server/wallet/debit', {
      ...cinema,
      serviceUserId,
      amount: 31.5,
      referenceType: 'TICKETS',
      referenceId: '2026-11-15/19:30/row-G/seats-11-12-13',
      description: `Three tickets, row G, seats 11 to 13. ${'Please show this at the entrance. '.repeat(8)}`,
    })
    const payments = []
    for (const amount of [20, 30, 40, 50]) payments.push(await payByCard(rig, tenant, amount))
    await atTheBank(rig, payments[0]!, 'refund', 5)
    await atTheBank(rig, payments[1]!, 'dispute')
    await atTheBank(rig, payments[2]!, 'dispute')
    await atTheBank(rig, payments[2]!, 'win')
    await payByCard(rig, tenant, 25, '4000000000006066')
    return tenant
  }

  let made: Promise<Tenant> | undefined
  const open = async (page: Page, query: Record<string, string> = {}): Promise<Frame> =>
    await openWallet(page, await (made ??= busy()), query)

  const openAll = async (page: Page, query: Record<string, string> = {}): Promise<Frame> => {
    const frame = await open(page, query)
    await frame.click('#all-activity')
    await untilSeen(frame, '.browse .entry')
    await untilSeen(frame, '.sums li')
    return frame
  }

  let many: Promise<Tenant> | undefined
  /** Nine apps, huge sums, and a name that does not fit into a line. */
  async function hasMany(): Promise<Tenant> {
    const tenant = await funded()
    for (const [n, name] of manyApps.entries()) {
      const app = await newApp(rig.service, { name, allowedIframeParents: [] })
      const serviceUserId = await linkUser(rig.service, app, tenant.user.userId)
      const client = newClient(rig.app.fetch, app)
      const post = async (direction: 'debit' | 'credit', amount: number) =>
        await client.post(`/api/server/wallet/${direction}`, {
          ...app,
          serviceUserId,
          amount,
          referenceType: 'ORDER',
          referenceId: `${direction} ${n}`,
        })
      await post('credit', Math.floor(999_999_999 / (n + 1) ** 4))
      await post('debit', Math.floor(900_000_000 / (n + 1) ** 4))
    }
    return tenant
  }

  const openMany = async (page: Page): Promise<Frame> => {
    const frame = await openWallet(page, await (many ??= hasMany()))
    await frame.click('#all-activity')
    await untilSeen(frame, '.sums li')
    return frame
  }

  const openDetail = async (page: Page, title: string, query: Record<string, string> = {}): Promise<Frame> => {
    const frame = await openAll(page, query)
    await frame.click(`.entry-open >> text=${title}`)
    await untilSeen(frame, '.detail .facts')
    return frame
  }

  const returns = { back: ['.hero-balance'] }
  const typed = { ...returns, reload: { shows: '.browse .entry', because: 'a search is typed, and not kept' } }
  const ofEntry = { back: ['.browse .entry', '.hero-balance'] }

  return {
    'busy-wallet': { isLike: 'ten-transactions', show: (page) => open(page) },
    'busy-wallet-right-to-left': { sameAs: 'busy-wallet', show: (page) => open(page, { lang: 'ar' }) },
    'all-activity': { show: (page) => openAll(page), returns },
    'all-activity-right-to-left': { sameAs: 'all-activity', show: (page) => openAll(page, { lang: 'ar' }) },
    'activity-searched': {
      returns: typed,
      show: async (page) => {
        const frame = await openAll(page)
        await frame.fill('[name=search]', 'kino')
        await until(frame, () => document.querySelectorAll('.browse .entry').length === 1)
        return frame
      },
    },
    'activity-nothing-found': {
      isLike: 'activity-searched',
      returns: typed,
      show: async (page) => {
        const frame = await openAll(page)
        await frame.fill('[name=search]', 'marmalade')
        await frame.waitForSelector('text=Nothing found')
        return frame
      },
    },
    'activity-of-a-month': {
      isLike: 'activity-searched',
      returns: typed,
      show: async (page) => {
        const frame = await openAll(page)
        await frame.fill('[name=search]', 'this month over 20')
        await untilSeen(frame, '.meanings .badge')
        await frame.waitForSelector('text=Found: 16')
        await until(frame, () => document.querySelectorAll('.browse .entry').length === 16)
        return frame
      },
    },
    'activity-of-a-month-right-to-left': {
      sameAs: 'activity-of-a-month',
      show: async (page) => {
        const frame = await openAll(page, { lang: 'ar' })
        await frame.fill('[name=search]', 'أكثر من ٢٠')
        await untilSeen(frame, '.meanings .badge')
        await until(frame, () => document.getElementById('sums-title')!.textContent.includes('النتائج'))
        return frame
      },
    },
    'activity-of-many-apps': { isLike: 'all-activity', show: (page) => openMany(page), returns },
    'activity-still-searching': {
      isLike: 'activity-searched',
      returns: typed,
      show: async (page) => {
        const frame = await openMany(page)
        answerInstead('/api/widget/activity/sums', () => new Promise(() => undefined))
        await frame.fill('[name=search]', 'welcome')
        await until(frame, () => document.querySelectorAll('.browse .entry').length === 1)
        await untilSeen(frame, '.sums-sides[aria-busy=true]')
        return frame
      },
    },
    'activity-failed': {
      isLike: 'all-activity',
      returns,
      show: async (page) => {
        answerInstead('/api/widget/activity', () => Response.json({ error: 'x', code: 'INTERNAL' }, { status: 500 }))
        const frame = await open(page)
        await frame.click('#all-activity')
        await untilSeen(frame, '.browse .bad')
        return frame
      },
    },
    'detail-of-payment': { show: (page) => openDetail(page, 'Three tickets'), returns: ofEntry },
    'detail-of-the-largest-amount': {
      sameAs: 'detail-of-payment',
      returns: { back: ['.hero-balance'] },
      show: async (page) => {
        const rich = await rig.newTenant()
        await stage.move(rich, 999_999_999_999_999n)
        const frame = await openWallet(page, rich)
        await frame.click('.entry-open')
        await untilSeen(frame, '.detail .facts')
        return frame
      },
    },
    'detail-of-dispute': {
      isLike: 'detail-of-payment',
      show: (page) => openDetail(page, 'Card payment disputed'),
      returns: ofEntry,
    },
    'detail-right-to-left': {
      isLike: 'detail-of-payment',
      returns: ofEntry,
      show: (page) => openDetail(page, 'Three tickets', { lang: 'ar' }),
    },
  }
}
