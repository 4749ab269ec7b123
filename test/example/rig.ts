/** A real service, the real shop on another site, and a real Chromium between them. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from '@playwright/test'
import { Billfold } from '@billfold/sdk/server'
import { launchChromium } from '../chromium.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newApp, openTestService, type Credentials, type TestService } from '../service.ts'
import { freePort } from '../free-port.ts'
import { newWindows } from '../windows.ts'
import { prepareVisit } from './visit.ts'

export type StoredUser = { readonly id: string; readonly name: string; readonly serviceUserId?: string }

export type ShopRig = Awaited<ReturnType<typeof startShopRig>>

export async function startShopRig() {
  const dataDir = await mkdtemp(join(tmpdir(), 'billfold-shop-'))
  const [shopPort, servicePort] = await Promise.all([freePort(), freePort()])
  const shopOrigin = `http://localhost:${shopPort}`
  const serviceOrigin = `http://127.0.0.1:${servicePort}`
  const opened = await openTestService({ DATA_DIR: dataDir })
  const parents = [shopOrigin, `http://127.0.0.1:${shopPort}`]
  const app = await newApp(opened.service, {
    name: 'Small Hours',
    allowedOrigins: parents,
    allowedIframeParents: parents,
  })
  const startService = () =>
    startProcess({ DATABASE_URL: opened.databaseUrl, DATA_DIR: dataDir, PORT: String(servicePort) })
  const startTheShop = () => startShop({ port: shopPort, dataDir, serviceOrigin, app })
  let service = await startService()
  let shop = await startTheShop()
  const browser = await launchChromium()
  const windows = newWindows(browser, { viewport: { width: 1280, height: 1000 } }, prepareVisit)
  const billfold = new Billfold({ baseUrl: serviceOrigin, ...app })

  return {
    opened,
    app,
    billfold,
    windows,
    shopOrigin,
    serviceOrigin,
    mailedCode: (email: string) => mailedCode(dataDir, email),
    /** Read from the shop's own file; undefined for a person who never entered. */
    storedUser: async (name: string): Promise<StoredUser | undefined> => {
      const text = await readFile(join(dataDir, 'shop/shop.json'), 'utf8')
      return (JSON.parse(text) as { users: StoredUser[] }).users.find((user) => user.name === name)
    },
    stopService: async () => {
      await service.stop()
    },
    startService: async () => {
      service = await startService()
    },
    restartShop: async () => {
      await stopShop(shop)
      shop = await startTheShop()
    },
    stop: () => stopAll(browser, shop, service, opened, dataDir),
  }
}

async function stopAll(
  browser: Browser,
  shop: Shop,
  service: ServiceProcess,
  opened: TestService,
  dataDir: string,
): Promise<void> {
  await browser.close()
  await stopShop(shop)
  await service.stop()
  await opened.close()
  await rm(dataDir, { recursive: true, force: true })
}

export type Shop = Bun.Subprocess<'ignore', 'pipe', 'inherit'>
type ShopSetup = { port: number; dataDir: string; serviceOrigin: string; app: Credentials; webhookSecret?: string }

export async function startShop({ port, dataDir, serviceOrigin, app, webhookSecret = '' }: ShopSetup): Promise<Shop> {
  const { PATH = '', HOME = '' } = process.env
  const shop = Bun.spawn([process.execPath, 'example/server.ts'], {
    cwd: new URL('../..', import.meta.url).pathname,
    env: {
      PATH,
      HOME,
      PORT: String(port),
      DATA_DIR: dataDir,
      BILLFOLD_URL: serviceOrigin,
      BILLFOLD_CLIENT_ID: app.clientId,
      BILLFOLD_CLIENT_SECRET: app.clientSecret,
      BILLFOLD_WEBHOOK_SECRET: webhookSecret,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  await untilSaid(shop.stdout, 'ready on')
  return shop
}

export async function stopShop(shop: Shop): Promise<void> {
  shop.kill()
  await shop.exited
}

export async function untilSaid(output: ReadableStream<Uint8Array>, words: string): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true })
    if (text.includes(words)) return
  }
  throw new Error(`It ended without saying "${words}": ${text}`)
}

/** Without a mail server the service writes its mails to files. Works for the first code of an email: a second one might arrive later. */
export async function mailedCode(dataDir: string, email: string): Promise<string> {
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt; await Bun.sleep(50)) {
    const folder = join(dataDir, 'mail')
    for (const name of (await readdir(folder).catch((): string[] => [])).sort().reverse()) {
      const text = await readFile(join(folder, name), 'utf8')
      const code = /^Subject: .*?\b(\d{6})\b/m.exec(text)?.[1]
      if (text.includes(`To: ${email}\n`) && code) return code
    }
  }
  throw new Error(`No code was mailed to ${email}.`)
}
