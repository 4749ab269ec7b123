/** The states of a wallet on a device where the user has not signed in, and of the prompt for the password. */
import type { Frame, Page } from '@playwright/test'
import { newClient } from '../client.ts'
import { linkUser, newApp } from '../service.ts'
import { untilSeen } from '../until.ts'
import { clickPart, newMember, password, signInOnDevice, type Tenant } from './shop.ts'
import type { StatesOf } from './stage.ts'

const tooMany = (reason?: string) => () =>
  Response.json({ error: 'x', code: 'RATE_LIMITED', reason }, { status: 429, headers: { 'retry-after': '300' } })

export const proofStates: StatesOf = (stage) => {
  const { rig, funded, openWallet, answerInstead } = stage

  /** A user with entries of this app and of another one. */
  async function newCustomer(): Promise<Tenant> {
    const member = await newMember(rig, await funded(), { firstName: 'Wilhelmina-Konstantinopolina' })
    const cinema = await newApp(rig.service, { name: 'Kino Kosmos', allowedIframeParents: [] })
    const serviceUserId = await linkUser(rig.service, cinema, member.user.userId)
    await member.client.credit(member.user.serviceUserId, 120)
    await newClient(rig.app.fetch, cinema).debit(serviceUserId, 31.5)
    await member.client.debit(member.user.serviceUserId, 12)
    return member
  }

  const open = async (page: Page, query: Record<string, string> = {}): Promise<Frame> => {
    const frame = await openWallet(page, await newCustomer(), query, { isDevice: false })
    await untilSeen(frame, '.everything')
    return frame
  }

  const prompted = async (page: Page, by: string, query: Record<string, string> = {}): Promise<Frame> => {
    const frame = await open(page, query)
    await frame.click(by)
    await untilSeen(frame, '.prove #field-password')
    return frame
  }

  const answered = async (page: Page, typed: string, until: string): Promise<Frame> => {
    const frame = await prompted(page, '.everything button')
    await frame.fill('#field-password', typed)
    await frame.click('.prove form .button')
    await untilSeen(frame, until)
    return frame
  }

  const returns = { back: ['.hero-balance'] }
  const typed = { reload: { shows: '.everything', because: 'the prompt belongs to the click that asked for it' } }
  const ofAccount = {
    ...returns,
    reload: { shows: '.prove #field-password', because: 'an answer is asked again only after a click' },
  }

  return {
    'new-device': { show: (page) => open(page) },
    'new-device-right-to-left': { sameAs: 'new-device', show: (page) => open(page, { lang: 'ar' }) },
    'new-device-without-transactions': {
      isLike: 'new-device',
      show: async (page) => openWallet(page, await newMember(rig), {}, { isDevice: false }),
    },
    prompt: { show: (page) => prompted(page, '.everything button'), returns: typed },
    'prompt-right-to-left': {
      isLike: 'prompt',
      returns: typed,
      show: (page) => prompted(page, '.everything button', { lang: 'he' }),
    },
    'prompt-for-account': { show: (page) => prompted(page, 'button.avatar'), returns },
    'prompt-leaving-app': {
      isLike: 'prompt-for-account',
      returns: ofAccount,
      show: async (page) => {
        const frame = await prompted(page, 'button.avatar')
        await frame.click('.account-exits >> text=Disconnect')
        await untilSeen(frame, '.ask')
        return frame
      },
    },
    'prompt-wrong-password': {
      show: (page) => answered(page, 'not this one', '#field-password-problem'),
      returns: typed,
    },
    'prompt-too-many-tries': {
      isLike: 'prompt-wrong-password',
      returns: typed,
      show: (page) => {
        answerInstead('/api/widget/account/prove', tooMany())
        return answered(page, password, '.prove .notice.bad')
      },
    },
    'prompt-busy': {
      sameAs: 'prompt-wrong-password',
      returns: typed,
      show: (page) => {
        answerInstead('/api/widget/account/prove', tooMany('busy'))
        return answered(page, password, '.prove .notice.bad')
      },
    },
    'prompt-without-network': {
      sameAs: 'prompt-wrong-password',
      returns: typed,
      show: async (page) => {
        await page.route('**/api/widget/account/prove*', (route) => route.abort())
        return await answered(page, password, '.prove .notice.bad')
      },
    },
    'prompt-before-an-act': {
      returns: {
        back: ['[data-part=email]', '.hero-balance'],
        reload: { shows: '.account-part', because: 'the prompt belongs to the click that asked for it' },
      },
      show: async (page) => {
        const member = await newMember(rig)
        await signInOnDevice(rig, page, member, { hasPassword: false })
        const frame = await openWallet(page, member, {}, { isDevice: false })
        await clickPart(frame, 'data')
        await frame.click('.account-part .button')
        await untilSeen(frame, '.prove #field-password')
        return frame
      },
    },
  }
}
