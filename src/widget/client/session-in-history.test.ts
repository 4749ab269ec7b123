import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import type { PageData, TopupOffer } from '../page-data.ts'
import { needToKeep } from './topup/kept-topup.ts'
import { storeSession, takeSession } from './session-in-history.ts'

const token = `ws_${'1'.repeat(8)}-1111-4111-8111-${'1'.repeat(12)}`
const newer = token.replaceAll('1', '2')
const names = ['location', 'history'] as const
const usual = names.map((name) => Reflect.get(globalThis, name) as unknown)

/** A page at this address, and an entry of the history that changes with it. */
function open(search: string, session?: string): void {
  const location = { href: `https://wallet.example/widget?${search}` }
  const history = {
    state: session === undefined ? null : { session },
    replaceState: (state: { session: string }, _: string, url?: URL) => {
      history.state = state
      if (url) location.href = url.href
    },
  }
  Object.assign(globalThis, { location, history })
}

const pageOf = (kind: PageData['kind']) => ({ clientId: 'app_1', kind, page: 'wallet' }) as PageData
const kept = () => (history.state as { session: string | null }).session

beforeEach(() => open(''))
afterEach(() => Object.assign(globalThis, Object.fromEntries(names.map((name, i) => [name, usual[i]]))))

test('a session leaves the address and stays in the entry of the history', () => {
  open(`session=${token}&amount=5&payment_intent=pi_1`)
  expect(takeSession(pageOf('session'))).toEqual({ token, isFromHistory: false })
  expect([kept(), location.href]).toEqual([token, 'https://wallet.example/widget?clientId=app_1'])
})

test('a revoked session is kept neither in the address nor in the history', () => {
  open(`session=${token}`)
  expect(takeSession(pageOf('signed-out'))).toEqual({ token: null, isFromHistory: false })
  expect([kept(), location.href.includes(token)]).toEqual([null, false])
})

test('an expired session is kept, because the page around it may renew it', () => {
  open(`session=${token}`)
  expect(takeSession(pageOf('expired')).token).toBe(token)
  expect(kept()).toBe(token)
})

test('a reload finds the session in the history, and an address with a newer one replaces it', () => {
  open('clientId=app_1', token)
  expect(takeSession(pageOf('session'))).toEqual({ token, isFromHistory: true })
  open(`session=${newer}`, token)
  expect(takeSession(pageOf('session'))).toEqual({ token: newer, isFromHistory: false })
  expect(kept()).toBe(newer)
})

test('the need leaves the address of the top-up page in the same call that keeps it', () => {
  open(`session=${token}&amount=14.98&reason=Order+1042`)
  const writes = spyOn(history, 'replaceState')
  const page = { ...pageOf('session'), topup: { need: 14.98, reason: 'Order 1042' } as TopupOffer }
  takeSession(page, needToKeep(page))
  expect(writes.mock.calls.map(([state, , url]) => [state, String(url)])).toEqual([
    [{ session: token, need: { amount: 14.98, reason: 'Order 1042' } }, 'https://wallet.example/widget?clientId=app_1'],
  ])
})

test('what is no session token in the history is not taken for one', () => {
  open('clientId=app_1', 'javascript:alert(1)')
  expect(takeSession(pageOf('session'))).toEqual({ token: null, isFromHistory: false })
})

test('a session that ends is removed from the history', () => {
  open('clientId=app_1', token)
  storeSession(null)
  expect(kept()).toBeNull()
})
