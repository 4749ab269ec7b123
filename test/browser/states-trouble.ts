/** The states in which the page cannot show the wallet. */
import type { Page } from '@playwright/test'
import type { SessionEndReason } from '../../sdk/contract.ts'
import { setAppActive } from '../../src/actions/apps/manage-apps.ts'
import { transact } from '../../src/store/connection/database.ts'
import { lockUser, updateUserDeleted } from '../../src/store/people/users.ts'
import { updateSessionsRevoked, type RevokedFor } from '../../src/store/people/widget-sessions.ts'
import { leaveBy } from '../chromium.ts'
import { operator } from '../service.ts'
import { untilSeen } from '../until.ts'
import { waitForMessage, type Rig } from './rig.ts'
import { accountScript, comeBackOnline, type Tenant } from './shop.ts'
import type { StatesOf } from './stage.ts'

/** How another window, an operator or the app ends the session of an open wallet. */
type End = (rig: Rig, tenant: Tenant, session: string) => Promise<unknown>

const postTo = (path: string, body: (tenant: Tenant) => object): End => {
  return (rig, tenant, session) =>
    rig.app.fetch(
      new Request(`${rig.base}/api/widget/${path}?session=${session}`, {
        method: 'POST',
        body: JSON.stringify(body(tenant)),
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      }),
    )
}

const revokeFor = (reason: RevokedFor): End => {
  return async ({ service }, { user }) => {
    await updateSessionsRevoked(service.db.pool, user.userId, reason)
    service.live.poke(user.userId)
  }
}

const ends: Record<SessionEndReason, End> = {
  'signed-out': postTo('logout', () => ({})),
  'signed-out-everywhere': revokeFor('signed-out-everywhere'),
  'password-changed': revokeFor('password-changed'),
  disconnected: postTo('links/disconnect', ({ clientId }) => ({ clientId })),
  'app-off': ({ service }, { clientId }) => setAppActive(service, operator, clientId, false),
  deleted: async ({ service }, { user: { userId } }) => {
    await transact(service.db, async (tx) => updateUserDeleted(tx, (await lockUser(tx, userId))!))
    service.live.poke(userId)
  },
}

const over = (shows: string) => ({
  reload: { shows, because: 'the session is over, and only the open page knew why' },
})

const endedStates: StatesOf = ({ rig, wallet, topup, inShop }) => {
  const show = async (page: Page, reason: SessionEndReason, url = wallet, ready = '.hero-balance .visually-hidden') => {
    const tenant = await rig.newTenant()
    const session = await tenant.newSession()
    const frame = await inShop(page, url({ session }))
    await untilSeen(frame, ready)
    await ends[reason](rig, tenant, session)
    await untilSeen(frame, '.panel .button')
    return frame
  }
  const refused = { reload: { shows: null, because: 'no page may frame an app that is switched off' } }
  const unknown = { reload: { shows: '.remedy', because: 'the session is deleted, and the address names no app' } }
  const reasons = Object.keys(ends) as SessionEndReason[]
  return {
    ...Object.fromEntries(
      reasons.map((reason) => [
        `ended-${reason}`,
        {
          show: (page: Page) => show(page, reason),
          returns: over('#field-password'),
          ...(reason !== 'signed-out' && { sameAs: 'ended-signed-out' }),
          // Another session of an app that is switched off opens nothing.
          ...(reason === 'app-off' && { isLast: true as const, sameAs: undefined, returns: refused }),
          ...(reason === 'deleted' && { sameAs: undefined, returns: unknown }),
        },
      ]),
    ),
    'topup-ended': {
      show: (page) => show(page, 'signed-out-everywhere', topup, '.topup-head bdi'),
      returns: over('.panel'),
    },
  }
}

export const troubleStates: StatesOf = (stage) => {
  const { rig, tenant, wallet, inShop, funded, openWallet, answerInstead } = stage
  return {
    expired: {
      show: async (page) => {
        const session = await tenant.newSession()
        await rig.pass(6 * 60_000)
        const frame = await inShop(page, wallet({ session }))
        await untilSeen(frame, '.panel[aria-busy=true]')
        return frame
      },
    },
    'expired-and-nobody-answers': {
      isLast: true,
      returns: { reload: { shows: '.panel', because: 'the page asks for a session again' } },
      show: async (page) => {
        const session = await tenant.newSession()
        await rig.pass(6 * 60_000)
        await page.clock.install()
        const frame = await inShop(page, wallet({ session }))
        // From this message on it waits for a new session from the page.
        await waitForMessage(page, 'SERVICE_SESSION_EXPIRED')
        await untilSeen(frame, '.panel[aria-busy=true]')
        await page.clock.runFor(11_000)
        await untilSeen(frame, '.panel .button')
        return frame
      },
    },
    ...endedStates(stage),
    offline: {
      returns: { reload: { shows: '.hero-balance', because: 'a reload needs the network' } },
      show: async (page) => {
        const frame = await openWallet(page, await funded())
        await page.context().setOffline(true)
        await untilSeen(frame, '.connection .warn')
        return frame
      },
    },
    'back-online': {
      isLike: 'offline',
      returns: { reload: { shows: '.hero-balance', because: 'the network is no longer news' } },
      show: async (page) => {
        const frame = await openWallet(page, await funded())
        await page.context().setOffline(true)
        await untilSeen(frame, '.connection .warn')
        await comeBackOnline(page, frame)
        return frame
      },
    },
    'no-network': {
      show: async (page) => {
        await page.route('**/api/widget/wallet*', (route) => route.abort())
        const frame = await inShop(page, wallet({ session: await tenant.newSession() }))
        await untilSeen(frame, '.panel .icon-cloud')
        return frame
      },
    },
    failed: {
      isLike: 'no-network',
      show: async (page) => {
        answerInstead('/api/widget/wallet', () => Response.json({ error: 'x', code: 'INTERNAL' }, { status: 500 }))
        const frame = await inShop(page, wallet({ session: await tenant.newSession() }))
        await untilSeen(frame, '.panel.bad')
        return frame
      },
    },
    'view-loading': {
      returns: { back: ['.hero-balance'] },
      show: async (page) => {
        await page.route(accountScript, () => {})
        const frame = await openWallet(page, tenant)
        await frame.click('button.avatar')
        await untilSeen(frame, '.account[aria-busy=true]')
        return frame
      },
    },
    'view-failed': {
      isLike: 'view-loading',
      returns: { back: ['.hero-balance'] },
      show: async (page) => {
        await page.route(accountScript, (route) => route.abort())
        const frame = await openWallet(page, tenant)
        await frame.click('button.avatar')
        await untilSeen(frame, '.account [role=alert] .bad')
        return frame
      },
    },
    outside: {
      isLike: 'which-app',
      show: async (page) => {
        // With a single app, the page would assume that one.
        await rig.newTenant()
        await page.goto(`${rig.base}/widget/wallet`)
        return page
      },
    },
    'which-app': {
      show: async (page) => {
        await rig.newTenant()
        await page.goto(rig.shop)
        await leaveBy(page, (src) => void (location.href = src), `${rig.base}/widget/wallet`)
        await untilSeen(page, '.remedy')
        return page
      },
    },
    'not-allowed': {
      isLike: 'which-app',
      show: async (page) => {
        await page.goto(wallet({ clientId: 'app_unknown' }))
        return page
      },
    },
    'scripts-alone': {
      isLast: true,
      show: async (page) => {
        const frame = await inShop(page, wallet({ session: await tenant.newSession() }), { sandbox: 'allow-scripts' })
        await frame.waitForSelector('text=allow-same-origin')
        return frame
      },
    },
    'script-blocked': {
      hasScript: false,
      show: async (page) => {
        await page.goto(wallet({ session: await tenant.newSession() }))
        await untilSeen(page, '.explain')
        return page
      },
    },
  }
}
