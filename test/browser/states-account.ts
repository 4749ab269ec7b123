/** The states of the account view. */
import type { Frame, Page } from '@playwright/test'
import { freezeWallet, unfreezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { updateUserLanguage } from '../../src/store/people/users.ts'
import { newEmail } from '../page.ts'
import { linkUser, newApp, operator } from '../service.ts'
import { untilSeen } from '../until.ts'
import { newMember as makeMember, type Tenant } from './shop.ts'
import type { StatesOf } from './stage.ts'

export const ofPart = { back: ['[data-part=email]', '.hero-balance'] }
const withAnswer = (because: string) => ({ ...ofPart, reload: { shows: '.account-part', because } })
const typed = withAnswer('what is typed is not kept, and the part is open')
export const asked = withAnswer('a question is asked again only after a click')

export const accountStates: StatesOf = (stage) => {
  const { rig, openWallet, funded } = stage

  /** A user with a password, a long name and a long email. */
  const newMember = (base?: Tenant) =>
    makeMember(rig, base, {
      email: `a.rather-long-mailbox-name-without-any-space.${newEmail()}`,
      firstName: 'Wilhelmina-Konstantinopolina',
      lastName: 'von und zu Hohenlohe-Schillingsfürst',
    })

  async function openAccount(page: Page, tenant: Tenant, query: Record<string, string> = {}): Promise<Frame> {
    const frame = await openWallet(page, tenant, query)
    await frame.click('button.avatar')
    await untilSeen(frame, '[data-part=email] .muted')
    return frame
  }

  async function openPart(
    page: Page,
    part: string,
    tenant: Tenant,
    query: Record<string, string> = {},
  ): Promise<Frame> {
    const frame = await openAccount(page, tenant, query)
    await frame.click(`[data-part=${part}]`)
    await untilSeen(frame, '.account-part')
    return frame
  }

  async function withApps(): Promise<Tenant> {
    const tenant = await newMember(await funded())
    const other = await newApp(rig.service, { name: 'Kino Kosmos', allowedIframeParents: [], scopes: ['wallet:read'] })
    await linkUser(rig.service, other, tenant.user.userId)
    await tenant.client.credit(tenant.user.serviceUserId, 20)
    await tenant.client.debit(tenant.user.serviceUserId, 12.5)
    return tenant
  }

  const returns = { back: ['.hero-balance'] }
  const parts = ['name', 'email', 'password', 'language', 'mails', 'data', 'delete'].map(
    (part) =>
      [
        `account-${part}`,
        {
          ...((part === 'name' || part === 'password') && { sameAs: `account-${part}-wrong` }),
          ...(!['name', 'email', 'password'].includes(part) && { isLike: 'account-email' }),
          show: async (page: Page) => openPart(page, part, await newMember()),
          returns: ofPart,
        },
      ] as const,
  )

  return {
    account: { show: async (page) => openAccount(page, await newMember()), returns },
    'account-right-to-left': {
      isLike: 'account',
      returns,
      show: async (page) => openAccount(page, await newMember(), { lang: 'ar' }),
    },
    ...Object.fromEntries(parts),
    'account-name-wrong': {
      isLike: 'account-email-codes',
      returns: typed,
      show: async (page) => {
        const frame = await openPart(page, 'name', await newMember())
        await frame.fill('#field-lastName', '')
        await frame.click('.account-part .button')
        await untilSeen(frame, '#field-lastName-problem')
        return frame
      },
    },
    'account-email-codes': {
      returns: typed,
      show: async (page) => {
        const frame = await openPart(page, 'email', await newMember())
        await frame.fill('#field-email', `another-very-long-address-for-the-second-code.${newEmail()}`)
        await frame.click('.account-part .button')
        await untilSeen(frame, '#field-newCode')
        await frame.fill('#field-oldCode', '123456')
        await frame.fill('#field-newCode', '123456')
        await frame.click('.account-part .button')
        await untilSeen(frame, '#field-oldCode-problem')
        return frame
      },
    },
    'account-password-wrong': {
      isLike: 'account-email-codes',
      returns: typed,
      show: async (page) => {
        const frame = await openPart(page, 'password', await newMember())
        await frame.fill('#field-password', 'not this one')
        await frame.fill('#field-newPassword', 'eight merry otters')
        await frame.click('.account-part .button:not(.quiet)')
        await untilSeen(frame, '#field-password-problem')
        return frame
      },
    },
    'account-language-chosen': {
      sameAs: 'account-email',
      returns: ofPart,
      show: async (page) => {
        const tenant = await newMember()
        await updateUserLanguage(rig.service.db.pool, tenant.user.userId, 'ar')
        return await openPart(page, 'language', tenant)
      },
    },
    'account-apps': {
      returns: ofPart,
      show: async (page) => {
        const frame = await openPart(page, 'apps', await withApps())
        await untilSeen(frame, '.account .entry:nth-child(2)')
        return frame
      },
    },
    disconnecting: {
      returns: asked,
      show: async (page) => {
        const frame = await openPart(page, 'apps', await withApps())
        await frame.click('.account .entry:nth-child(2) .button')
        await untilSeen(frame, '.ask')
        return frame
      },
    },
    'account-signed-in': {
      sameAs: 'account-apps',
      returns: ofPart,
      show: async (page) => {
        const frame = await openPart(page, 'signedIn', await withApps())
        await untilSeen(frame, '.browsers')
        return frame
      },
    },
    'account-sign-out-asked': {
      isLike: 'disconnecting',
      returns: asked,
      show: async (page) => {
        const frame = await openPart(page, 'signedIn', await withApps())
        await frame.click('.account-part > .button')
        await untilSeen(frame, '.ask')
        return frame
      },
    },
    'account-history': {
      returns: ofPart,
      show: async (page) => {
        const tenant = await withApps()
        for (let i = 0; i < 11; i++) {
          await freezeWallet(rig.service, operator, tenant.user.userId, 'A question about an order')
          await unfreezeWallet(rig.service, operator, tenant.user.userId, 'It is answered')
        }
        const frame = await openPart(page, 'history', tenant)
        await untilSeen(frame, '.account .entry:nth-child(20)')
        return frame
      },
    },
    'account-kept': {
      isLike: 'account-email',
      returns: ofPart,
      show: async (page) => {
        const frame = await openPart(page, 'delete', await withApps())
        await untilSeen(frame, '.account-part .notice')
        return frame
      },
    },
    'account-away': {
      isLike: 'account-history',
      returns: ofPart,
      show: async (page) => {
        const tenant = await newMember()
        const frame = await openAccount(page, tenant)
        stage.answerInstead('/api/widget/account/history', () => new Response('', { status: 503 }))
        await frame.click('[data-part=history]')
        await untilSeen(frame, '.account [role=alert] .bad')
        return frame
      },
    },
  }
}
