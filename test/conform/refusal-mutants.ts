/** Services that refuse what they should not, accept what they should refuse, or refuse in the wrong way. */
import {
  answering,
  asking,
  check,
  credit,
  debit,
  isPosting,
  postOf,
  readAsked,
  session,
  wallet,
  without,
  type Around,
  type Body,
  type Mutant,
  type Send,
} from './proxy.ts'

/** Answers this to some requests, in place of the service. */
const insteadOf =
  (isMeant: (asked: Awaited<ReturnType<typeof readAsked>>, text: string) => boolean, make: () => Response) =>
  ({ answer }: Around): Send =>
  async (request) => {
    const text = await request.clone().text()
    return isMeant(await readAsked(request), text) ? make() : await answer(request)
  }

const html = () =>
  new Response('<h1>Internal Server Error</h1>', { status: 500, headers: { 'content-type': 'text/html' } })

function isBadBody(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value !== 'object' || value === null || Array.isArray(value)
  } catch {
    return true
  }
}

/** Fills in or changes the fields of a POST. */
const repairing = (path: string, repair: (sent: Body) => Body | undefined) =>
  asking((asked) => {
    const repaired = asked.path === path ? repair(asked.sent) : undefined
    return repaired && [repaired]
  })

/** Replaces the credentials of a request by the right ones, if the request is meant. */
const trusting =
  (isMeant: (asked: Awaited<ReturnType<typeof readAsked>>, around: Around) => boolean) =>
  (around: Around): Send =>
  async (request) => {
    const asked = await readAsked(request)
    if (!isMeant(asked, around)) return await around.answer(request)
    if (asked.method === 'POST') return await around.answer(postOf(request, { ...asked.sent, ...around.app }))
    const { url } = asked
    for (const [name, value] of Object.entries(around.app)) url.searchParams.set(name, value)
    return await around.answer(new Request(url))
  }

const onCode = (path: string, code: string, changed: { status?: number; code?: string }) =>
  answering(({ path: asked, body }) => {
    if (asked !== path || body['code'] !== code) return undefined
    const { status, code: other } = changed
    return { ...(status && { status }), body: { ...body, ...(other && { code: other }) } }
  })

const isWrong = (sent: Body) => sent['clientSecret'] === 'not-the-secret'

const post = { debit: `POST ${debit}`, credit: `POST ${credit}` }
const serverJson = 'Every refusal of /api/server is JSON with error, which is text'

export const refusalMutants: readonly Mutant[] = [
  {
    name: 'no money as 402',
    send: onCode(debit, 'INSUFFICIENT_BALANCE', { status: 402 }),
    breaks: [
      'A debit may take the whole balance, and the next one is 400 INSUFFICIENT_BALANCE',
      'A debit beyond the balance is 400 INSUFFICIENT_BALANCE',
    ],
  },
  {
    name: 'no money with another code',
    send: onCode(debit, 'INSUFFICIENT_BALANCE', { code: 'NO_FUNDS' }),
    breaks: [
      'A debit may take the whole balance, and the next one is 400 INSUFFICIENT_BALANCE',
      'A debit beyond the balance is 400 INSUFFICIENT_BALANCE',
    ],
  },
  {
    name: 'a debit beyond the balance that takes one all the same',
    send: (around) => async (request) => {
      const { path, sent } = await readAsked(request)
      const response = await around.answer(request)
      if (path === debit && response.status === 400 && Number(sent['amount']) > 20)
        await around.answer(postOf(request, { ...sent, amount: 1, referenceId: crypto.randomUUID() }))
      return response
    },
    breaks: [
      'Of four debits sent at the same time, each of more than half of the balance, one moves',
      'A debit beyond the balance moves nothing',
    ],
  },
  {
    name: 'an unknown user as 404 where a wallet is read',
    send: onCode(wallet, 'USER_NOT_FOUND', { status: 404 }),
    breaks: [`An unknown user is 401 on GET ${wallet}`],
  },
  {
    name: 'an unknown user as 403 where a balance is checked',
    send: onCode(check, 'USER_NOT_FOUND', { status: 403 }),
    breaks: [`An unknown user is 401 on GET ${check}`],
  },
  {
    name: 'an unknown user as 401 on a credit',
    send: onCode(credit, 'USER_NOT_FOUND', { status: 401 }),
    breaks: [`An unknown user is 404 USER_NOT_FOUND on ${post.credit}`],
  },
  {
    name: 'an unknown user without a code on a debit',
    send: answering(({ path, body }) =>
      path === debit && body['code'] === 'USER_NOT_FOUND' ? { body: without(body, 'code') } : undefined,
    ),
    breaks: [`An unknown user is 404 USER_NOT_FOUND on ${post.debit}`],
  },
  {
    name: 'a wrong secret without a code',
    send: answering(({ path, sent, body }) =>
      path === check && isWrong(sent) ? { body: without(body, 'code') } : undefined,
    ),
    breaks: [`A wrong secret is 401 INVALID_CLIENT on GET ${check}`],
  },
  {
    name: 'an unknown clientId as 404',
    send: answering(({ path, sent }) =>
      path === wallet && String(sent['clientId']).startsWith('su_') ? { status: 404 } : undefined,
    ),
    breaks: [`An unknown clientId is 401 INVALID_CLIENT on GET ${wallet}`],
  },
  {
    name: 'a wallet that is readable without a secret',
    send: trusting(
      ({ path, sent }, { app }) => path === wallet && sent['clientId'] === app.clientId && !('clientSecret' in sent),
    ),
    breaks: [`A call without a secret is 401 INVALID_CLIENT on GET ${wallet}`],
  },
  {
    name: 'a call without credentials as 400',
    send: answering(({ path, sent, headers, url }) =>
      path === credit && !('clientId' in sent) && 'amount' in sent && !headers.has('x-client-id') && url.search === ''
        ? { status: 400 }
        : undefined,
    ),
    breaks: [`A call without credentials is 401 INVALID_CLIENT on ${post.credit}`],
  },
  {
    name: 'a secret of which the first characters count',
    send: trusting(
      ({ sent }, { app }) =>
        sent['clientId'] === app.clientId &&
        String(sent['clientSecret']).length > 8 &&
        app.clientSecret.startsWith(String(sent['clientSecret'])),
    ),
    breaks: ['A secret that is almost right is 401 INVALID_CLIENT'],
  },
  {
    name: 'a secret without regard to case',
    send: trusting(
      ({ sent }, { app }) =>
        sent['clientId'] === app.clientId &&
        String(sent['clientSecret']).toLowerCase() === app.clientSecret.toLowerCase(),
    ),
    breaks: ['A secret that is almost right is 401 INVALID_CLIENT'],
  },
  {
    name: 'a debit that moves before the secret is checked',
    send: (around) => async (request) => {
      const { path, sent } = await readAsked(request)
      if (path === debit && isWrong(sent)) await around.answer(postOf(request, { ...sent, ...around.app }))
      return await around.answer(request)
    },
    breaks: [`A wrong secret moves nothing on ${post.debit}`],
  },
  {
    name: 'a user that is searched before the secret is checked',
    send: (around) =>
      answering(({ path, sent }) =>
        isPosting(path) && isWrong(sent) && sent['serviceUserId'] !== around.serviceUserId
          ? { status: 404, body: { error: 'x', code: 'USER_NOT_FOUND' } }
          : undefined,
      )(around),
    breaks: ['A wrong secret is 401 INVALID_CLIENT also where the user is unknown'],
  },
  ...(['GET wallet', 'POST debit', 'POST credit'] as const).map((route): Mutant => {
    const [method, name] = route.split(' ')
    const path = name === 'wallet' ? wallet : `${wallet}/${name}`
    return {
      name: `credentials that count in a header: ${route}`,
      send: trusting(({ path: asked, headers }) => asked === path && headers.has('x-client-secret')),
      breaks: [`Credentials in a header do not count on ${method} ${path}`],
    }
  }),
  {
    name: 'credentials that count in the query of a debit',
    send: trusting(({ path, url }) => path === debit && url.searchParams.has('clientSecret')),
    breaks: [`Credentials in the query do not count on ${post.debit}`],
  },
  {
    name: 'credentials that count in the query of a session',
    send: trusting(({ path, url }) => path === session && url.searchParams.has('clientSecret')),
    breaks: ['No session is created with credentials in the query'],
  },
  {
    name: 'credentials that count in the header of a session',
    send: trusting(({ path, headers }) => path === session && headers.has('authorization')),
    breaks: ['No session is created with credentials in a header'],
  },
  {
    name: 'a debit without a referenceId',
    send: repairing(debit, (sent) =>
      sent['referenceId'] == null && 'amount' in sent ? { ...sent, referenceId: crypto.randomUUID() } : undefined,
    ),
    breaks: [`${post.debit} is refused without referenceId, and moves nothing`],
  },
  {
    name: 'a debit without a referenceType',
    send: repairing(debit, (sent) =>
      sent['referenceType'] == null && 'amount' in sent ? { ...sent, referenceType: 'DEFAULT' } : undefined,
    ),
    breaks: [`${post.debit} is refused without referenceType, and moves nothing`],
  },
  {
    name: 'a credit without a referenceId',
    send: repairing(credit, (sent) =>
      sent['referenceId'] == null && 'amount' in sent ? { ...sent, referenceId: crypto.randomUUID() } : undefined,
    ),
    breaks: [`${post.credit} is refused without referenceId, and moves nothing`],
  },
  {
    name: 'a negative debit that pays out',
    send: (around) => async (request) => {
      const { path, sent } = await readAsked(request)
      if (path !== debit || !(Number(sent['amount']) < 0)) return await around.answer(request)
      return await around.answer(
        postOf(request, { ...sent, amount: -Number(sent['amount']) }, request.url.replace(debit, credit)),
      )
    },
    breaks: [`${post.debit} is refused with a negative amount, and moves nothing`],
  },
  {
    name: 'a negative credit that takes',
    send: (around) => async (request) => {
      const { path, sent } = await readAsked(request)
      if (path !== credit || !(Number(sent['amount']) < 0)) return await around.answer(request)
      return await around.answer(
        postOf(request, { ...sent, amount: -Number(sent['amount']) }, request.url.replace(credit, debit)),
      )
    },
    breaks: [`${post.credit} is refused with a negative amount, and moves nothing`],
  },
  {
    name: 'a credit without an amount that credits one',
    send: repairing(credit, (sent) =>
      sent['amount'] == null && 'referenceId' in sent ? { ...sent, amount: 1 } : undefined,
    ),
    breaks: [`${post.credit} is refused with no amount, and moves nothing`],
  },
  {
    name: 'an amount that is no number, answered with success',
    send: answering(({ path, sent }) =>
      path === debit && sent['amount'] === 'one'
        ? { status: 200, body: { balance: 0, message: 'Debited.' } }
        : undefined,
    ),
    breaks: [`${post.debit} is refused with an amount that is no number, and moves nothing`],
  },
  {
    name: '500 in HTML on a bad body of a debit',
    send: insteadOf(({ path, method }, text) => path === debit && method === 'POST' && isBadBody(text), html),
    breaks: [`${post.debit} is refused with a body that is no JSON object`, serverJson],
  },
  {
    name: '500 on a bad body of a session',
    send: insteadOf(
      ({ path, method }, text) => path === session && method === 'POST' && isBadBody(text),
      () => Response.json({ error: 'x' }, { status: 500 }),
    ),
    breaks: ['POST /api/widget/session is refused with a body that is no JSON object'],
  },
  {
    name: 'bad bodies refused in plain text',
    send: insteadOf(
      ({ path, method }, text) => path === credit && method === 'POST' && isBadBody(text),
      () => new Response('Bad Request', { status: 400 }),
    ),
    breaks: [serverJson],
  },
  {
    name: 'a debit by GET',
    send: (around) => async (request) => {
      const { path, method, sent, url } = await readAsked(request)
      if (path !== debit || method !== 'GET') return await around.answer(request)
      return await around.answer(postOf(request, { ...sent, amount: Number(sent['amount']) }, new URL(debit, url)))
    },
    breaks: [`GET ${debit} moves nothing: a debit or credit is a POST`],
  },
  {
    name: 'check-balance without a requiredAmount as 500',
    send: insteadOf(
      ({ path, sent }) => path === check && !('requiredAmount' in sent),
      () => Response.json({ error: 'x' }, { status: 500 }),
    ),
    breaks: ['check-balance is refused without a requiredAmount, and with one that is no number'],
  },
  {
    name: 'an HTML page for a path that does not exist',
    send: insteadOf(
      ({ path }) => path.endsWith('no-such-path'),
      () => new Response('<h1>Not found</h1>', { status: 404, headers: { 'content-type': 'text/html' } }),
    ),
    breaks: [serverJson],
  },
  {
    name: 'refusals without an error',
    send: answering(({ status, body }) => (status === 404 ? { body: without(body, 'error') } : undefined)),
    breaks: [serverJson, 'Every refusal of /api/widget is JSON with error, which is text'],
  },
  {
    name: 'a code that is a number',
    send: answering(({ path, body }) =>
      path === session && body['code'] === 'USER_NOT_FOUND' ? { body: { ...body, code: 404 } } : undefined,
    ),
    breaks: ['code, if a refusal has it, is text'],
  },
  {
    name: 'requiresAuth as text',
    send: answering(({ body }) => ('requiresAuth' in body ? { body: { ...body, requiresAuth: 'yes' } } : undefined)),
    breaks: ['requiresAuth, if a refusal has it, is a boolean'],
  },
  {
    name: 'one app that reads another’s user',
    send: trusting(
      ({ path, sent }, { other }) =>
        path === wallet && sent['clientSecret'] === other.clientSecret && sent['clientId'] === other.clientId,
    ),
    breaks: [`Another app cannot read this user’s wallet with GET ${wallet}`],
  },
  {
    name: 'one app that checks another’s balance',
    send: trusting(({ path, sent }, { other }) => path === check && sent['clientId'] === other.clientId),
    breaks: [`Another app cannot read this user’s wallet with GET ${check}`],
  },
  {
    name: 'one app that spends another’s money',
    send: trusting(({ path, sent }, { other }) => path === debit && sent['clientId'] === other.clientId),
    breaks: [`Another app moves no money of this user with ${post.debit}`],
  },
  {
    name: 'one app that gets the outcome of another’s pair',
    send: (around) => {
      const used = new Set<unknown>()
      return async (request) => {
        const { path, sent } = await readAsked(request)
        const isOther = sent['clientId'] === around.other.clientId
        if (path === credit && isOther && used.has(sent['referenceId']))
          return await around.answer(postOf(request, { ...sent, ...around.app }))
        used.add(sent['referenceId'])
        return await around.answer(request)
      }
    },
    breaks: ['Another app does not get the outcome of this app’s pair'],
  },
  {
    name: 'one app that opens another’s widget',
    send: trusting(({ path, sent }, { other }) => path === session && sent['clientId'] === other.clientId),
    breaks: ['Another app cannot create a session for this user'],
  },
  {
    name: 'a secret that opens every app',
    send: trusting(
      ({ sent }, { app, other }) => sent['clientSecret'] === other.clientSecret && sent['clientId'] === app.clientId,
    ),
    breaks: ['The secret of another app is 401 INVALID_CLIENT'],
  },
]
