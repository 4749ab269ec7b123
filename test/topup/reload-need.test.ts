/** A reload of the top-up page at each step of its start: what the app says is missing stays. Every step is held until the reload. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { startRig, type Rig } from '../browser/rig.ts'
import { eventually } from '../eventually.ts'
import { frameIn, until, untilSeen } from '../until.ts'
import { wantsAll } from '../wants-all.ts'

setDefaultTimeout(240_000)

let rig: Rig
let tenant: Awaited<ReturnType<Rig['newTenant']>>
let page: Page
let gates: Gates

beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
})
beforeEach(async () => {
  tenant = await rig.newTenant()
  // Not a window that was used before: its cache has the script, which would not be requested.
  page = await rig.openPage({ locale: 'en' })
  gates = holdAnswers()
})
afterEach(async () => {
  for (const { open } of Object.values(gates)) open()
  rig.trouble.answer = undefined
  await rig.closePage(page)
})
afterAll(() => rig.stop())

type Step = 'document' | 'script' | 'wallet' | 'stream'
type Gates = ReturnType<typeof holdAnswers>

/** Holds the answers to matching requests from `close` to `open`, and counts the requests. */
function newGate(matches: RegExp) {
  let held = Promise.withResolvers<void>()
  held.resolve()
  return {
    matches,
    requests: 0,
    close: () => void (held = Promise.withResolvers()),
    open: () => held.resolve(),
    passed: () => held.promise,
  }
}

/** A gate for each step. */
function holdAnswers() {
  const made = {
    document: newGate(/^\/widget\/topup$/),
    script: newGate(/^\/assets\/topup-page\./),
    wallet: newGate(/^\/api\/widget\/wallet$/),
    // Requested when the page has read the wallet.
    stream: newGate(/^\/api\/widget\/events$/),
  } satisfies Record<Step, object>
  rig.trouble.answer = async ({ pathname }) => {
    const gate = Object.values(made).find(({ matches }) => matches.test(pathname))
    if (gate) {
      gate.requests++
      await gate.passed()
    }
    return undefined
  }
  return made
}

const knowsWallet = (shown: Page | Frame) => untilSeen(shown, '.topup-head bdi')

const places = {
  'in a frame': {
    open: async (url: string) => {
      await page.goto(`${rig.shop}/plain?${new URLSearchParams({ src: url })}`, { waitUntil: 'commit' })
      return await frameIn(page)
    },
    // In a timer, so that the script gets its answer: during the reload Playwright gets none from the document.
    reload: (shown: Page | Frame) => shown.evaluate(() => void setTimeout(() => location.reload())),
  },
  'in a window': {
    open: async (url: string) => {
      await page.goto(url, { waitUntil: 'commit' })
      return page
    },
    // By the browser's button, which reloads the address that the browser's process knows.
    reload: async () => void page.reload({ waitUntil: 'commit' }).catch(() => {}),
  },
}

type Scene = {
  /** The answers that are held from the beginning. */
  readonly held: readonly Step[]
  /** Until when the first document goes on before the reload. */
  readonly before: (shown: Page | Frame) => Promise<void>
  /** In a frame Chromium does not run a script that arrives after `location.reload()`. */
  readonly isOnlyInWindow?: true
  /** Where it is tried by default; a long run tries both places. */
  readonly place: keyof typeof places
  /** What the first document still does while the answer to the reload is held, seen by its requests. */
  readonly meanwhile?: () => Promise<void>
}

const scenes: Record<string, Scene> = {
  'before its script runs': {
    place: 'in a frame',
    held: ['script'],
    before: () => eventually(() => gates.script.requests, 1),
  },
  'whose script starts meanwhile': {
    place: 'in a window',
    isOnlyInWindow: true,
    held: ['script', 'wallet'],
    before: () => eventually(() => gates.script.requests, 1),
    meanwhile: async () => {
      gates.script.open()
      await eventually(() => gates.wallet.requests, 1)
    },
  },
  'after its script started and before the wallet’s answer': {
    place: 'in a window',
    held: ['wallet'],
    before: () => eventually(() => gates.wallet.requests, 1),
  },
  'to which the wallet’s answer comes meanwhile': {
    place: 'in a frame',
    held: ['wallet'],
    before: () => eventually(() => gates.wallet.requests, 1),
    meanwhile: async () => {
      gates.wallet.open()
      await eventually(() => gates.stream.requests, 1)
    },
  },
  'after the wallet’s answer': { place: 'in a window', held: [], before: knowsWallet },
}

describe.each(Object.entries(places))('%s', (place, { open, reload }) => {
  const possible = Object.entries(scenes).filter(([, scene]) =>
    wantsAll ? !scene.isOnlyInWindow || place === 'in a window' : scene.place === place,
  )
  test.each(possible)('a reload of a page %s keeps the need', async (_, { held, before, meanwhile }) => {
    const session = await tenant.newSession(rig.shop)
    const query = new URLSearchParams({ session, lang: 'en', amount: '14.98', reason: 'Order 1042' })
    for (const step of held) gates[step].close()
    const shown = await open(`${rig.base}/widget/topup?${query}`)
    await until(shown, () => document.body?.textContent.includes('You need $14.98 more for Order 1042.'))
    await before(shown)

    await shown.evaluate(() => void (document.body.dataset['mark'] = 'old'))
    gates.document.close()
    await reload(shown)
    await eventually(() => gates.document.requests, 2)
    await meanwhile?.()
    for (const { open } of Object.values(gates)) open()
    await until(shown, () => document.body && document.body.dataset['mark'] === undefined)

    await knowsWallet(shown)
    await untilSeen(shown, 'form > .button:enabled')
    const seen = await shown.evaluate(() => ({
      need: document.querySelector('.notice')?.textContent,
      chosen: document.querySelector<HTMLInputElement>('[name=amount]:checked')?.value,
      address: [...new URLSearchParams(location.search).keys()].sort(),
    }))
    expect(seen).toEqual({
      need: 'You need $14.98 more for Order 1042.',
      chosen: '14.98',
      address: ['clientId', 'lang'],
    })
    // It is counted from the balance of the first answer, once: what is added counts.
    await tenant.client.credit(tenant.user.serviceUserId, 4.98)
    await until(shown, () => document.body.textContent.includes('You need $10.00 more for Order 1042.'))
  })
})
