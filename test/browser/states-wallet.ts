/** The states of the open wallet. */
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { operator } from '../service.ts'
import { untilSeen } from '../until.ts'
import type { StatesOf } from './stage.ts'

export const walletStates: StatesOf = (stage) => {
  const { rig, tenant, wallet, inShop, funded, openWallet, answerInstead } = stage
  return {
    loading: {
      show: async (page) => {
        answerInstead('/api/widget/wallet', () => new Promise(() => {}))
        const frame = await inShop(page, wallet({ session: await tenant.newSession() }))
        await untilSeen(frame, '.hero .bone')
        return frame
      },
    },
    'no-transactions': { isLike: 'ten-transactions', show: (page) => openWallet(page, tenant) },
    'ten-transactions': { show: async (page) => openWallet(page, await funded()) },
    branded: {
      isLike: 'ten-transactions',
      show: async (page) => openWallet(page, await funded({ name: 'Limón & Söhne', accentColor: '#ffd400' })),
    },
    'right-to-left': {
      isLike: 'ten-transactions',
      show: async (page) => openWallet(page, await funded(), { lang: 'ar' }),
    },
    japanese: { sameAs: 'ten-transactions', show: async (page) => openWallet(page, await funded(), { lang: 'ja' }) },
    'frozen-by-operator': {
      show: async (page) => {
        const frozen = await funded()
        await freezeWallet(rig.service, operator, frozen.user.userId, 'A question about an order')
        return await openWallet(page, frozen)
      },
    },
    'frozen-by-debt': {
      sameAs: 'frozen-by-operator',
      show: async (page) => {
        return await openWallet(page, await stage.owing())
      },
    },
    'short-of-money': {
      show: async (page) => openWallet(page, await funded(), { amount: '14.98', reason: 'Order 1042' }),
    },
    'large-balance': {
      sameAs: 'ten-transactions',
      show: async (page) => {
        const rich = await rig.newTenant()
        await stage.move(rich, 999_999_999_999_999n)
        return await openWallet(page, rich)
      },
    },
    'top-up-offered': {
      returns: { reload: { shows: '.hero-balance', because: 'the offer belongs to the click that asked for it' } },
      show: async (page) => {
        const frame = await openWallet(page, await funded())
        await frame.click('button.hero-action')
        await untilSeen(frame, '.topup-offer')
        return frame
      },
    },
  }
}
