/** A shop on one site, a stub of the hosted pages on another, and a real Chromium that visits the shop. */
import { join } from 'node:path'
import type { Frame, Page } from '@playwright/test'
import { launchChromium } from '../../test/chromium.ts'
import { newWindows } from '../../test/windows.ts'
import type { WalletError, WalletHandle } from '../browser.ts'
import type { WidgetMessage } from '../contract.ts'

/** Records the calls, events and errors of one widget on the page, for the tests to read. */
export type Wallet = {
  handle: WalletHandle
  calls: string[]
  events: WidgetMessage[]
  errors: Pick<WalletError, 'code' | 'serviceCode'>[]
  /** The texts and the backend's answers of the same errors. */
  reasons: Pick<WalletError, 'message' | 'status' | 'answer'>[]
  /**
   * The results of the next calls of fetchSession: a token, null for no link, `FAILS`, `ORIGIN_NOT_ALLOWED`, JSON, or `FETCHES`
   * for the shop's Response.
   */
  sessions: (string | null)[]
  linkAnswer: 'OK' | 'THROWS' | 'ANSWERS_500' | 'FETCHES'
}

declare global {
  interface Window {
    wallets: Record<string, Wallet>
    inbound: { data: unknown; origin: string }[]
    send(message: unknown): void
  }
}

export const tokens = [1, 2, 3].map((digit) => `ws_3f0c1f9e-6f5b-4d7e-9f55-00000000000${digit}`) as [
  string,
  string,
  string,
]

const html = { 'content-type': 'text/html' }
const walletPage = (shop: string) => `<!doctype html><title>Wallet</title><input autofocus><script>
  window.inbound = []
  addEventListener('message', (event) => inbound.push({ data: event.data, origin: event.origin }))
  window.send = (message) => parent.postMessage(message, '${shop}')
  const hasSession = new URLSearchParams(location.search).has('session')
  if (location.pathname === '/widget/wallet') send({ type: hasSession ? 'SERVICE_WALLET_LOADED' : 'SERVICE_AUTH_REQUIRED', version: 1 })
</script>`

const shopPage = `<!doctype html><title>Shop</title><div id="a"></div><div id="b"></div>
<script>window.wallets = {}</script><script src="/billfold.js"></script>`

function notLinked(): Response {
  return Response.json(null)
}

function stored(): Response {
  return new Response(null)
}

export async function startBrowserRig() {
  const script = await Bun.build({ entrypoints: [join(import.meta.dir, '../browser/script.ts')], format: 'iife' })
  const scriptText = await script.outputs[0]!.text()
  const shopRequests: { path: string; body: unknown }[] = []
  let shopSession = notLinked
  let linkAnswer = stored

  const shop = Bun.serve({
    port: 0,
    hostname: 'localhost',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/billfold.js')
        return new Response(scriptText, { headers: { 'content-type': 'text/javascript' } })
      if (pathname === '/strict') {
        return new Response(shopPage, { headers: { ...html, 'content-security-policy': "frame-src 'none'" } })
      }
      if (request.method !== 'POST') return new Response(shopPage, { headers: html })
      shopRequests.push({ path: pathname, body: await request.json() })
      return pathname === '/session' ? shopSession() : linkAnswer()
    },
  })
  const shopOrigin = `http://localhost:${shop.port}`

  const service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch(request) {
      const { searchParams, pathname } = new URL(request.url)
      const clientId = searchParams.get('clientId')
      if (clientId === 'slow') return new Promise<Response>(() => {})
      const headers = clientId === 'refused' ? { ...html, 'content-security-policy': "frame-ancestors 'none'" } : html
      return new Response(pathname.startsWith('/widget/') ? walletPage(shopOrigin) : '<!doctype html>ok', { headers })
    },
  })

  const browser = await launchChromium()
  return {
    shopOrigin,
    serviceOrigin: service.url.origin,
    windows: newWindows(browser, {}),
    shopRequests,
    answerSession: (answer: () => Response) => {
      shopSession = answer
    },
    answerLink: (answer: () => Response) => {
      linkAnswer = answer
    },
    async stop(): Promise<void> {
      await browser.close()
      await Promise.all([shop.stop(true), service.stop(true)])
    },
  }
}

export type MountSetup = {
  clientId?: string
  baseUrl: string
  sessions?: Wallet['sessions']
  loadTimeoutMs?: number
}

export async function mount(page: Page, id: string, setup: MountSetup): Promise<void> {
  await page.evaluate(
    ({ id, setup }) => {
      const wallet: Omit<Wallet, 'handle'> = {
        calls: [],
        events: [],
        errors: [],
        reasons: [],
        sessions: setup.sessions ?? [],
        linkAnswer: 'OK',
      }
      const handle = window.Billfold.mountWallet(document.getElementById(id)!, {
        baseUrl: setup.baseUrl,
        clientId: setup.clientId ?? 'app_1',
        ...(setup.loadTimeoutMs && { loadTimeoutMs: setup.loadTimeoutMs }),
        fetchSession: async ({ parentOrigin }) => {
          wallet.calls.push(`fetchSession ${parentOrigin}`)
          await new Promise((resolve) => setTimeout(resolve, 20))
          const next = wallet.sessions.shift() ?? null
          if (next === 'FETCHES') return await fetch('/session', { method: 'POST', body: '{}' })
          if (next?.startsWith('{')) return JSON.parse(next) as never
          if (next === 'FAILS') throw new Error('offline')
          if (next === 'ORIGIN_NOT_ALLOWED') throw Object.assign(new Error('no'), { code: next })
          return next === null ? null : { sessionToken: next, expiresAt: '2025-03-01T10:00:00Z' }
        },
        onLinked: async (link) => {
          wallet.calls.push(`onLinked ${JSON.stringify(link)}`)
          await new Promise((resolve) => setTimeout(resolve, 50))
          if (wallet.linkAnswer === 'THROWS') throw new Error('not stored')
          if (wallet.linkAnswer === 'FETCHES') return await fetch('/link', { method: 'POST', body: '{}' })
          wallet.calls.push('stored')
          return new Response(null, { status: wallet.linkAnswer === 'OK' ? 204 : 500 })
        },
        onUnlinked: async () => {
          await new Promise((resolve) => setTimeout(resolve, 50))
          wallet.calls.push('onUnlinked')
        },
        onUpdated: () => wallet.calls.push('onUpdated'),
        onEvent: (message) => wallet.events.push(message),
        onError: ({ code, serviceCode, message, status, answer }) => {
          wallet.errors.push(serviceCode === undefined ? ({ code } as never) : { code, serviceCode })
          wallet.reasons.push({ message, status, answer })
        },
      })
      window.wallets[id] = Object.assign(wallet, { handle })
    },
    { id, setup },
  )
}

/** Waits for the widget's frame until its page has loaded and its address contains `part`. */
export async function widgetIn(page: Page, id: string, part: string): Promise<Frame> {
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt; await Bun.sleep(50)) {
    const element = await page.$(`#${id} iframe`)
    const frame = await element?.contentFrame()
    const isReady = frame?.url().includes(part) && (await frame.evaluate(() => 'send' in window).catch(() => false))
    if (frame && isReady) return frame
  }
  throw new Error(`No widget with ${part} in #${id}.`)
}

export async function send(frame: Frame, message: WidgetMessage | object): Promise<void> {
  await frame.evaluate((data) => window.send(data), message)
}
