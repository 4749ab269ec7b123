/** A stand-in for an identity provider, which can be made to send wrong answers. The good ways are tested with `oidc-provider`. */

type Json = Record<string, unknown>

/** What one sign-in gets: claims on top of the right ones, and deviations from what a provider must do. */
export type Answer = {
  readonly claims?: Json
  /** Claims that are left out. */
  readonly without?: readonly string[]
  readonly header?: Json
  /** `unknown`: a key that the provider does not publish. `none`: no signature. `public-key`: HMAC with the text of the public key. */
  readonly signedWith?: 'current' | 'unknown' | 'none' | 'public-key' | 'empty' | 'other-token'
  readonly tokenAnswer?: (good: Json) => Response
  readonly userinfo?: Json
}

export type StandIn = Awaited<ReturnType<typeof openOidcStandIn>>

let discovery: ReturnType<typeof Bun.serve> | undefined

/** Settings with a provider that only answers discovery: enough to begin a sign-in. One for all tests of a process. */
export function oidcEnvironment(): Record<string, string> {
  discovery ??= Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const issuer = new URL(url).origin
      return Response.json({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` })
    },
  })
  discovery.unref()
  return { OIDC_ISSUER: discovery.url.origin, OIDC_CLIENT_ID: 'billfold' }
}

const refuse = (error: string) => Response.json({ error }, { status: 400 })

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

async function newKey(kid: string) {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) }
  const pair = await crypto.subtle.generateKey({ ...algorithm, hash: 'SHA-256' }, true, ['sign', 'verify'])
  const jwk = { ...(await crypto.subtle.exportKey('jwk', pair.publicKey)), kid, use: 'sig', alg: 'RS256' }
  return { kid, jwk, privateKey: pair.privateKey }
}

export async function openOidcStandIn(clientId: string, clientSecret?: string) {
  let key = await newKey('first')
  const unknownKey = await newKey('unknown')
  const codes = new Map<
    string,
    { nonce: string; challenge: string; redirectUri: string; subject: string; answer: Answer }
  >()
  const state = { isSilent: false, status: 0, discovery: (document: Json): Json => document, requests: [] as string[] }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      state.requests.push(pathname)
      if (state.isSilent) return await new Promise<Response>(() => {})
      if (state.status > 0) return new Response('<h1>no</h1>', { status: state.status })
      if (pathname === '/.well-known/openid-configuration') return Response.json(state.discovery(discoveryDocument()))
      if (pathname === '/keys') return Response.json({ keys: [key.jwk] })
      if (pathname === '/token') return await exchange(request)
      if (pathname === '/userinfo') return Response.json(userinfo)
      return new Response('not found', { status: 404 })
    },
  })
  let userinfo: Json = {}
  const issuer = `http://127.0.0.1:${server.port}`

  const discoveryDocument = (): Json => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    authorization_response_iss_parameter_supported: true,
  })

  async function exchange(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    const header = (request.headers.get('authorization') ?? '').replace('Basic ', '')
    const basic = decodeURIComponent(Buffer.from(header, 'base64').toString().replaceAll('+', ' '))
    const id = clientSecret === undefined ? form.get('client_id') : basic
    if (id !== (clientSecret === undefined ? clientId : `${clientId}:${clientSecret}`)) return refuse('invalid_client')
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    if (!code || form.get('redirect_uri') !== code.redirectUri) return refuse('invalid_grant')
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(form.get('code_verifier') ?? ''))
    if (Buffer.from(digest).toString('base64url') !== code.challenge) return refuse('invalid_grant')
    const { answer } = code
    userinfo = { sub: code.subject, ...answer.userinfo }
    const good = { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: await idToken(code) }
    return answer.tokenAnswer ? answer.tokenAnswer(good) : Response.json(good)
  }

  async function idToken({
    nonce,
    subject,
    answer,
  }: {
    nonce: string
    subject: string
    answer: Answer
  }): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const right: Json = { iss: issuer, sub: subject, aud: clientId, exp: now + 300, iat: now, nonce, ...answer.claims }
    for (const name of answer.without ?? []) delete right[name]
    const { signedWith = 'current' } = answer
    const alg = { none: 'none', 'public-key': 'HS256' }[signedWith as string] ?? 'RS256'
    const kid = signedWith === 'unknown' ? unknownKey.kid : key.kid
    const signed = `${encode({ alg, kid, typ: 'JWT', ...answer.header })}.${encode(right)}`
    return `${signed}.${await signature(signed, signedWith)}`
  }

  async function signature(signed: string, signedWith: NonNullable<Answer['signedWith']>): Promise<string> {
    if (signedWith === 'none' || signedWith === 'empty') return ''
    const bytes = new TextEncoder().encode(signedWith === 'other-token' ? `${signed} ` : signed)
    if (signedWith === 'public-key') {
      const raw = new TextEncoder().encode(JSON.stringify(key.jwk))
      const hmac = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
      return Buffer.from(await crypto.subtle.sign('HMAC', hmac, bytes)).toString('base64url')
    }
    const { privateKey } = signedWith === 'unknown' ? unknownKey : key
    return Buffer.from(await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, bytes)).toString('base64url')
  }

  return {
    issuer,
    state,
    rotateKey: async () => void (key = await newKey(crypto.randomUUID())),
    /** What the provider does once the person has signed in there: the query with which the browser comes back. */
    authorize: (url: string, subject: string, answer: Answer = {}): URLSearchParams => {
      const query = new URL(url).searchParams
      const code = crypto.randomUUID()
      codes.set(code, {
        nonce: query.get('nonce') ?? '',
        challenge: query.get('code_challenge') ?? '',
        redirectUri: query.get('redirect_uri') ?? '',
        subject,
        answer,
      })
      return new URLSearchParams({ code, state: query.get('state') ?? '', iss: issuer })
    },
    close: async () => await server.stop(true),
  }
}
