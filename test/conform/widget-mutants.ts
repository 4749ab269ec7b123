/** Services with wrong sessions and widget calls. */
import {
  answering,
  confirm,
  hasSession,
  intent,
  postOf,
  readAsked,
  session,
  tokenOf,
  widgetWallet,
  without,
  type Around,
  type Asked,
  type Body,
  type Mutant,
} from './proxy.ts'

const created = (change: (body: Body) => Body) =>
  answering(({ path, status, body }) => (path === session && status === 200 ? { body: change(body) } : undefined))

const shown = (change: (body: Body) => Body) =>
  answering(({ path, status, body }) => (path === widgetWallet && status === 200 ? { body: change(body) } : undefined))

const believing = (path: string, isMeant: (asked: Asked) => boolean = () => true) =>
  answering((seen) =>
    seen.path === path && seen.body['code'] === 'INVALID_SESSION' && isMeant(seen)
      ? { status: 200, body: { balance: 0 } }
      : undefined,
  )

/** Uses a token that was issued in place of one that is similar to it. */
const similar = (path: string, isSimilar: (asked: string, issued: string) => boolean) => (around: Around) => {
  const issued: string[] = []
  const send = answering(({ path: asked, body }) => {
    if (asked === session && typeof body['sessionToken'] === 'string') issued.push(body['sessionToken'])
    return undefined
  })(around)
  return async (request: Request) => {
    const asked = await readAsked(request)
    const found = asked.path === path ? issued.find((token) => isSimilar(tokenOf(asked), token)) : undefined
    if (found === undefined) return await send(request)
    asked.url.searchParams.set('session', found)
    return await send(asked.method === 'POST' ? postOf(request, asked.sent, asked.url) : new Request(asked.url))
  }
}

const widgetJson = 'Every refusal of /api/widget is JSON with error, which is text'
const expiring = (path: string, changed: { status?: number; body?: Body }) =>
  answering((seen) => (seen.path === path && seen.body['code'] === 'SESSION_EXPIRED' ? changed : undefined))

const neverIssued = (route: string) => `${route} is refused with a token that was never issued, and without one`
const foreign = 'https://conformance-foreign.example'

export const widgetMutants: readonly Mutant[] = [
  {
    name: 'a token without its prefix',
    send: (around) => {
      const send = created((body) => ({ ...body, sessionToken: String(body['sessionToken']).slice(3) }))(around)
      return async (request) => {
        const { url } = await readAsked(request)
        const token = url.searchParams.get('session')
        if (token && !token.startsWith('ws_')) url.searchParams.set('session', `ws_${token}`)
        return await send(new Request(url, request))
      }
    },
    breaks: ['A session token is ws_ followed by a UUID'],
  },
  {
    name: 'a session of ten minutes',
    send: created((body) => ({
      ...body,
      expiresAt: new Date(Date.parse(String(body['expiresAt'])) + 300_000).toISOString(),
    })),
    breaks: ['A session expires five minutes after its creation, and expiresAt says so'],
  },
  {
    name: 'a session without expiresAt',
    send: created((body) => without(body, 'expiresAt')),
    breaks: ['A session expires five minutes after its creation, and expiresAt says so'],
  },
  {
    name: 'every session the same token',
    send: (around) => {
      let first: unknown
      return created((body) => ({ ...body, sessionToken: (first ??= body['sessionToken']) }))(around)
    },
    breaks: ['Every session has its own token'],
  },
  {
    name: 'a session that ends with the next one',
    send: (around) => {
      let newest: unknown
      const send = answering(({ path, body }) => {
        if (path === session && 'sessionToken' in body) newest = body['sessionToken']
        return undefined
      })(around)
      return async (request) => {
        const asked = await readAsked(request)
        const isOld =
          asked.path === widgetWallet && /^ws_[0-9a-f-]{36}$/.test(tokenOf(asked)) && tokenOf(asked) !== newest
        return isOld ? Response.json({ error: 'x', code: 'INVALID_SESSION' }, { status: 401 }) : await send(request)
      }
    },
    breaks: [
      'A new session does not end an earlier one',
      'A session works until its five minutes are over',
      'An expired session has the code SESSION_EXPIRED',
    ],
  },
  {
    name: 'a parentOrigin refused',
    send: answering(({ path, sent }) =>
      path === session && 'parentOrigin' in sent && sent['parentOrigin'] !== foreign
        ? { status: 403, body: { error: 'x' } }
        : undefined,
    ),
    breaks: [
      'A session may name the origin of the embedding page',
      'The page that a session is for can embed the widget',
    ],
  },
  {
    name: 'a session with a wrong secret',
    send: (around) => async (request) => {
      const { path, sent } = await readAsked(request)
      const isMeant = path === session && sent['clientSecret'] === 'not-the-secret'
      return await around.answer(isMeant ? postOf(request, { ...sent, ...around.app }) : request)
    },
    breaks: ['No session is created with a wrong secret'],
  },
  {
    name: 'a session for an unknown user',
    send: answering(({ path, body }) =>
      path === session && body['code'] === 'USER_NOT_FOUND'
        ? {
            status: 200,
            body: {
              sessionToken: `ws_${crypto.randomUUID()}`,
              expiresAt: new Date(Date.now() + 300_000).toISOString(),
            },
          }
        : undefined,
    ),
    breaks: ['Another app cannot create a session for this user', 'No session is created for an unknown user'],
  },
  {
    name: 'a session without a user',
    send: answering(({ path, sent, status }) =>
      path === session && status === 400 && 'clientSecret' in sent && !('serviceUserId' in sent)
        ? { status: 200, body: { sessionToken: `ws_${crypto.randomUUID()}`, expiresAt: '' } }
        : undefined,
    ),
    breaks: ['No session is created without a serviceUserId'],
  },
  {
    name: 'a widget that believes any token',
    send: believing(widgetWallet),
    breaks: [neverIssued(`GET ${widgetWallet}`), `GET ${widgetWallet} is refused with a token that is almost right`],
  },
  {
    name: 'a top-up that needs no session',
    send: believing(intent, (asked) => !hasSession(asked)),
    breaks: [neverIssued(`POST ${intent}`)],
  },
  {
    name: 'a confirmation that needs no session',
    send: believing(confirm, (asked) => !hasSession(asked)),
    breaks: [neverIssued(`POST ${confirm}`)],
  },
  {
    name: 'a token of which the first characters count',
    send: similar(widgetWallet, (asked, issued) => asked.length > 20 && asked.slice(0, 20) === issued.slice(0, 20)),
    breaks: [`GET ${widgetWallet} is refused with a token that is almost right`],
  },
  {
    name: 'a token that may have more characters',
    send: similar(intent, (asked, issued) => asked.startsWith(issued)),
    breaks: [`POST ${intent} is refused with a token that is almost right`],
  },
  {
    name: 'a widget with another balance',
    send: shown((body) => ({ ...body, balance: Number(body['balance']) + 1 })),
    breaks: ['GET /api/widget/wallet has the balance of the wallet'],
  },
  {
    name: 'a widget whose balance stays as long as the session',
    send: (around) => {
      const first = new Map<string, unknown>()
      return answering((seen) => {
        if (seen.path !== widgetWallet || seen.status !== 200) return undefined
        if (!first.has(tokenOf(seen))) first.set(tokenOf(seen), seen.body['balance'])
        return { body: { ...seen.body, balance: first.get(tokenOf(seen)) } }
      })(around)
    },
    breaks: ['In one session the balance of GET /api/widget/wallet changes with every debit and credit'],
  },
  {
    name: 'a widget whose list never changes',
    send: (around) => {
      const first = new Map<string, unknown>()
      return answering((seen) => {
        if (seen.path !== widgetWallet || seen.status !== 200) return undefined
        if (!first.has(tokenOf(seen))) first.set(tokenOf(seen), seen.body['transactions'])
        return { body: { ...seen.body, transactions: first.get(tokenOf(seen)) } }
      })(around)
    },
    breaks: ['In one session the transactions of GET /api/widget/wallet change with a new one'],
  },
  {
    name: 'a widget that lists nine',
    send: shown((body) => ({ ...body, transactions: (body['transactions'] as unknown[]).slice(0, 9) })),
    breaks: ['GET /api/widget/wallet returns only the last 10 transactions'],
  },
  {
    name: 'a widget that lists eleven',
    send: shown((body) => {
      const transactions = body['transactions'] as unknown[]
      return { ...body, transactions: transactions.length === 10 ? [...transactions, transactions[9]] : transactions }
    }),
    breaks: ['GET /api/widget/wallet returns only the last 10 transactions'],
  },
  {
    name: 'a widget whose isActive is missing',
    send: shown((body) => without(body, 'isActive')),
    breaks: ['GET /api/widget/wallet has transactions (a list of records) and isActive (a boolean)'],
  },
  {
    name: 'a user without a name',
    send: shown((body) => ({ ...body, user: {} })),
    breaks: ['GET /api/widget/wallet has user with firstName and lastName'],
  },
  {
    name: 'a top-up that is credited before it is paid',
    send: (around) => async (request) => {
      const asked = await readAsked(request)
      const response = await around.answer(request)
      if (asked.path === intent && response.status === 200) await payIn(around, request)
      return response
    },
    breaks: ['POST /api/widget/topup/create-intent starts a top-up, which adds nothing before it is paid'],
  },
  {
    name: 'a top-up of less than nothing',
    send: answering(({ path, status, sent }) =>
      path === intent && status === 400 && Number(sent['amount']) < 0
        ? { status: 200, body: { id: 'pi_1' } }
        : undefined,
    ),
    breaks: [`POST ${intent} is refused with a negative amount`],
  },
  {
    name: 'a top-up without an amount as 500',
    send: answering(({ path, status, sent }) =>
      path === intent && status === 400 && !('amount' in sent) ? { status: 500 } : undefined,
    ),
    breaks: [`POST ${intent} is refused with no amount`],
  },
  {
    name: 'a confirmation of a payment that does not exist',
    send: answering(({ path, status }) =>
      path === confirm && status === 404 ? { status: 200, body: { status: 'succeeded' } } : undefined,
    ),
    breaks: ['POST /api/widget/topup/confirm is refused for a payment that does not exist, and adds nothing'],
  },
  {
    name: 'a confirmation without a payment as 500',
    send: answering(({ path, status, sent }) =>
      path === confirm && status === 400 && !('paymentIntentId' in sent) ? { status: 500 } : undefined,
    ),
    breaks: ['POST /api/widget/topup/confirm is refused without a paymentIntentId'],
  },
  {
    name: 'widget errors that are not JSON',
    send: (around) => async (request) => {
      const asked = await readAsked(request)
      const response = await around.answer(request)
      if (!asked.path.startsWith('/api/widget/') || response.status !== 401) return response
      return new Response('<h1>Unauthorized</h1>', { status: 401, headers: { 'content-type': 'text/html' } })
    },
    breaks: [widgetJson, 'An expired session has the code SESSION_EXPIRED'],
  },
  {
    name: 'a session that never expires',
    send: expiring(widgetWallet, { status: 200 }),
    breaks: [
      `GET ${widgetWallet} is refused with an expired session`,
      'An expired session has the code SESSION_EXPIRED',
    ],
  },
  {
    name: 'a top-up in an expired session',
    send: expiring(intent, { status: 200 }),
    breaks: [`POST ${intent} is refused with an expired session`],
  },
  {
    name: 'an expired session with another code',
    send: expiring(widgetWallet, { body: { error: 'x', code: 'INVALID_SESSION' } }),
    breaks: ['An expired session has the code SESSION_EXPIRED'],
  },
  {
    name: 'a session that ends after four minutes',
    send: answering(({ path, body }) => {
      if (path !== widgetWallet || !('serverTime' in body)) return undefined
      const leftMs = Date.parse(String(body['expiresAt'])) - Date.parse(String(body['serverTime']))
      return leftMs > 60_000 ? undefined : { status: 401, body: { error: 'x', code: 'SESSION_EXPIRED' } }
    }),
    breaks: ['A session works until its five minutes are over'],
  },
]

async function payIn({ answer, app, serviceUserId }: Around, request: Request): Promise<void> {
  const { origin } = new URL(request.url)
  const body = { ...app, serviceUserId, amount: 10, referenceType: 'X', referenceId: crypto.randomUUID() }
  await answer(postOf(request, body, `${origin}/api/server/wallet/credit`))
}
