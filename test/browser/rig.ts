/** The service on one site (127.0.0.1), pages that embed it on others (localhost), and a real Chromium that visits them. */
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import type { WidgetMessage } from '../../sdk/contract.ts'
import type { AppSettings } from '../../src/store/apps.ts'
import { launchChromium } from '../chromium.ts'
import { newClient } from '../client.ts'
import { newApp, newUser, openTestService, type Credentials, type TestUser } from '../service.ts'
import { letPass } from '../time.ts'
import { isThere, until } from '../until.ts'
import { newWindows } from '../windows.ts'

declare global {
  interface Window {
    wasBlocked?: boolean
    received: { data: WidgetMessage; origin: string }[]
    embed(src: string, attributes?: Record<string, string>): void
  }
}

/** The attributes that the contract prescribes. */
const frameAttributes = {
  allow: 'payment *',
  sandbox: 'allow-same-origin allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox',
}

const slot = '<main id="slot"></main>'

/** Its frames have their full height at once: in a growing frame a button can move between mouse down and mouse up. */
const shopPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Shop</title><style>body{margin:0;color-scheme:light dark}iframe{display:block;border:0;width:100%;height:900px}</style>
<script>
// Registered before the frame that a server may have written below, to receive its first message.
window.received = []
addEventListener('message', (event) => {
  received.push({ data: event.data, origin: event.origin })
  if (event.data?.type !== 'SERVICE_RESIZE') return
  for (const frame of document.querySelectorAll('iframe'))
    if (frame.contentWindow === event.source) frame.style.height = event.data.height + 'px'
})
</script>${slot}<script src="/sdk.js"></script><script>
window.embed = (src, attributes = {}) => {
  const frame = document.createElement('iframe')
  for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value)
  frame.title = 'Wallet'
  frame.src = src
  document.getElementById('slot').append(frame)
}
const asked = new URLSearchParams(location.search)
if (asked.has('embed')) embed(asked.get('embed'))
// Opened without a user's click.
if (asked.has('open')) window.wasBlocked = open(asked.get('open')) === null
</script></html>`

/** Delays every answer: races between a page and its test show on a slow line. See CONTRIBUTING.md. */
const slowMs = Number(process.env['TEST_SLOW_MS'] ?? 0)

export type Rig = Awaited<ReturnType<typeof startRig>>

/** The names of the app and the user that tests meet. */
const friendly = { appName: 'Fernweh Books', firstName: 'Ada', lastName: 'Lovelace' }

export async function startRig(
  environment: Record<string, string> = {},
  launch = launchChromium,
  names: typeof friendly = friendly,
) {
  const opened = await openTestService(environment)
  const { service, app, logged } = opened
  /** Set `answer` to answer instead of the service; when it returns undefined the service answers. */
  const trouble: {
    answer?: ((url: URL) => Response | undefined | Promise<Response | undefined>) | undefined
    /** Cookies get lost on the way, as in a browser that keeps none. */
    losesCookies?: boolean
  } = {}
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: async (request) => {
      if (slowMs > 0) await Bun.sleep(Math.random() * slowMs)
      const response = (await trouble.answer?.(new URL(request.url))) ?? (await app.fetch(request))
      if (trouble.losesCookies) response.headers.delete('set-cookie')
      return response
    },
  })
  const script = await Bun.build({
    entrypoints: [join(import.meta.dir, '../../sdk/browser/script.ts')],
    format: 'iife',
  })
  const sdk = await script.outputs[0]!.text()
  const shops = [startShop(sdk), startShop(sdk)] as const
  const [shop, strangerShop] = shops.map(({ port }) => `http://localhost:${port}`) as [string, string]
  const browser = await launch()
  const windows = newWindows(browser, { viewport: { width: 800, height: 900 } })

  /** An app that the shop may embed, with its backend and a user. */
  async function newTenant(changes: Partial<AppSettings> = {}) {
    const settings = { name: names.appName, allowedOrigins: [shop], allowedIframeParents: [shop], ...changes }
    const credentials: Credentials = await newApp(service, settings)
    const user: TestUser = await newUser(service, credentials, names)
    const client = newClient(app.fetch, credentials)
    const newSession = async (parentOrigin?: string, { serviceUserId } = user): Promise<string> => {
      const { body } = await client.post('/api/widget/session', { ...credentials, serviceUserId, parentOrigin })
      return String(body['sessionToken'])
    }
    return { ...credentials, user, client, newSession }
  }

  return {
    service,
    databaseUrl: opened.databaseUrl,
    app,
    logged,
    names,
    pass: (ms: number) => letPass(service.db.pool, ms),
    trouble,
    base: server.url.origin,
    shop,
    strangerShop,
    newTenant,
    openPage: windows.open,
    closePage: windows.giveBack,
    async stop(): Promise<void> {
      await browser.close()
      await Promise.all([server.stop(true), ...shops.map((each) => each.stop(true))])
      await opened.close()
    },
  }
}

function startShop(sdk: string) {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const { pathname, searchParams } = new URL(url)
      if (pathname === '/sdk.js') return new Response(sdk, { headers: { 'content-type': 'text/javascript' } })
      const referrer = searchParams.get('referrer')
      const headers = { 'content-type': 'text/html', ...(referrer && { 'referrer-policy': referrer }) }
      const src = searchParams.get('src')?.replaceAll('&', '&amp;')
      const { allow, sandbox } = { ...frameAttributes, ...Object.fromEntries(searchParams) }
      const frame = `<iframe src="${src}" title="Wallet" allow="${allow}" sandbox="${sandbox}"></iframe>`
      return new Response(src ? shopPage.replace(slot, `<main id="slot">${frame}</main>`) : shopPage, { headers })
    },
  })
}

/** Embeds a page of the service in the open shop page as the contract says, and returns its frame once its document is there. */
export async function embed(page: Page, src: string, attributes: Record<string, string> = frameAttributes) {
  const attached = page.waitForEvent('frameattached')
  await page.evaluate(([src, attributes]) => window.embed(src, attributes), [src, attributes] as const)
  const frame = await attached
  if (!isThere(frame)) await page.waitForEvent('framenavigated', (navigated) => navigated === frame)
  return frame
}

/** Waits for the count-th message of the type. */
export async function waitForMessage(page: Page, type: WidgetMessage['type'], count = 1): Promise<WidgetMessage> {
  await until(page, ([type, count]) => window.received.filter(({ data }) => data?.type === type).length >= count, [
    type,
    count,
  ] as const)
  const all = await messagesReceived(page)
  return all.filter((message) => message.type === type)[count - 1]!
}

export async function messagesReceived(page: Page): Promise<WidgetMessage[]> {
  return await page.evaluate(() => window.received.map(({ data }) => data))
}
