import { describe, expect, test } from 'bun:test'
import { send, tokens, widgetIn } from './test/browser-rig.ts'
import { eventually, visitShop } from './test/shop-visit.ts'

const shop = visitShop()
const link = { serviceUserId: 'su_0123456789abcdef', linkCode: 'lc_0123456789abcdef' }
const [first] = tokens

async function insert(): Promise<void> {
  await shop.page().evaluate((baseUrl) => {
    const element = document.createElement('billfold-wallet')
    document.getElementById('a')!.append(element)
    const attributes = {
      'base-url': baseUrl,
      'client-id': 'app_1',
      'session-endpoint': '/session',
      'link-endpoint': '/link',
      'unlink-endpoint': '/unlink',
      lang: 'de',
    }
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
    for (const name of ['updated', 'event', 'error']) {
      element.addEventListener(`billfold-${name}`, (event) => {
        const { code, type } = ((event as CustomEvent).detail ?? {}) as { code?: string; type?: string }
        const log = document.body.dataset
        log.events = `${log.events ?? ''}${name} ${code ?? type ?? ''}\n`
      })
    }
  }, shop.rig().serviceOrigin)
}

async function dispatched(): Promise<string[]> {
  return (await shop.page().evaluate(() => document.body.dataset.events ?? '')).trim().split('\n')
}

function session(sessionToken: string): () => Response {
  return () => Response.json({ sessionToken, expiresAt: '2025-03-01T10:00:00Z' })
}

describe('the element', () => {
  test('<billfold-wallet> links, shows and unlinks through the endpoints of the shop', async () => {
    shop
      .rig()
      .answerSession(() =>
        Response.json({ error: 'x', code: 'ACCOUNT_NOT_LINKED', requiresAuth: true }, { status: 401 }),
      )
    await insert()
    const signIn = await widgetIn(shop.page(), 'a', 'clientId=app_1&lang=de')
    shop.rig().answerSession(session(first))
    await send(signIn, { type: 'SERVICE_AUTH_SUCCESS', version: 1, ...link })
    const wallet = await widgetIn(shop.page(), 'a', first)
    await send(wallet, { type: 'SERVICE_WALLET_UPDATED', version: 1 })
    await eventually(dispatched, [
      'event SERVICE_AUTH_REQUIRED',
      'event SERVICE_AUTH_SUCCESS',
      'event SERVICE_WALLET_LOADED',
      'event SERVICE_WALLET_UPDATED',
      'updated',
    ])
    await send(wallet, { type: 'SERVICE_LOGOUT_REQUEST', version: 1 })
    await eventually(
      async () => shop.rig().shopRequests.map(({ path }) => path),
      ['/session', '/link', '/session', '/unlink'],
    )
    expect(shop.rig().shopRequests[0]?.body).toEqual({ parentOrigin: shop.rig().shopOrigin })
    expect(shop.rig().shopRequests[1]?.body).toEqual(link)
  })

  test('<billfold-wallet> mounts once, however many attributes are set, and goes away with its element', async () => {
    shop.rig().answerSession(session(first))
    await insert()
    await widgetIn(shop.page(), 'a', first)
    expect(shop.rig().shopRequests).toHaveLength(1)
    await shop.page().evaluate(() => document.querySelector('billfold-wallet')!.remove())
    await eventually(() => shop.page().locator('iframe').count(), 0)
  })

  test('<billfold-wallet> reports a backend that fails', async () => {
    shop.rig().answerSession(() => new Response('<h1>500</h1>', { status: 500 }))
    await insert()
    await eventually(dispatched, ['error SESSION_FAILED'])
  })
})
