/** The company's identity provider (OpenID Connect): where to send the browser, and what its answer proves. */
import type { Configuration, CustomFetch } from 'openid-client'
import type { Log } from '../../../platform/log.ts'
import type { OidcConfig } from '../../../platform/oidc-settings.ts'

export type Identity = {
  readonly issuer: string
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** `away`: it did not answer, or answered with 5xx. `not-proven`: its answer failed a check. */
export type ProviderProblem = 'away' | 'not-proven'

export type Start = { readonly state: string; readonly nonce: string; readonly verifier: string }

export type OidcProvider = {
  readonly authorizationUrl: (start: Start) => Promise<URL | ProviderProblem>
  /** Exchanges the code of the callback's query. */
  readonly identify: (query: URLSearchParams, start: Start) => Promise<Identity | ProviderProblem>
  /** The problem in words; undefined if the provider answers. For the doctor. */
  readonly examine: () => Promise<string | undefined>
}

/** All requests of one step together. The page answers within eight seconds. */
const deadlineMs = 7_000
const maxAnswerBytes = 1_000_000

export function openOidcProvider(
  { publicUrl, isProduction }: { publicUrl: string; isProduction: boolean },
  settings: OidcConfig,
  log: Pick<Log, 'warn'>,
): OidcProvider {
  const redirectUri = `${publicUrl}${callbackPath}`

  /** Every step has its own configuration: the keys are read anew, so that a rotated key counts at once. */
  const withProvider = async <T>(use: (oidc: Oidc, configuration: Configuration) => Promise<T>) => {
    const net = { isAway: false }
    try {
      // Loaded only where a provider is configured.
      const oidc = await import('openid-client')
      const { issuer, clientId, clientSecret } = settings
      const authentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret)
      const configuration = await oidc.discovery(new URL(issuer), clientId, {}, authentication, {
        [oidc.customFetch]: boundedFetch(net, AbortSignal.timeout(deadlineMs)),
        // Without this check the signature of an ID token from the token endpoint is not verified.
        execute: [oidc.enableNonRepudiationChecks, ...(isProduction ? [] : [oidc.allowInsecureRequests])],
      })
      return await use(oidc, configuration)
    } catch (error) {
      log.warn('the identity provider did not identify an operator', { isAway: net.isAway, why: messagesOf(error) })
      return net.isAway ? 'away' : 'not-proven'
    }
  }

  return {
    authorizationUrl: async ({ state, nonce, verifier }) =>
      await withProvider(async (oidc, configuration) => {
        const challenge = await oidc.calculatePKCECodeChallenge(verifier)
        return oidc.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: settings.scopes,
          state,
          nonce,
          code_challenge: challenge,
          code_challenge_method: 'S256',
        })
      }),
    identify: async (query, { state, nonce, verifier }) =>
      await withProvider(async (oidc, configuration) => {
        const answer = new URL(redirectUri)
        answer.search = query.toString()
        const tokens = await oidc.authorizationCodeGrant(configuration, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()!
        if (!isSubject(claims.sub)) throw new Error('the subject is not one')
        const more = await moreClaims(oidc, configuration, settings, tokens.access_token, claims)
        return { issuer: claims.iss, subject: claims.sub, claims: { ...more, ...claims } }
      }),
    examine: async () => {
      const result = await withProvider(() => Promise.resolve('good' as const))
      if (result === 'good') return undefined
      if (result === 'away') return `${settings.issuer} does not answer.`
      return `${settings.issuer} is not a provider of that name: its discovery document is missing, or has another issuer.`
    },
  }
}

/** The library's messages name a check, and no value of a token. The causes themselves hold answers, which are not logged. */
function messagesOf(error: unknown): string {
  const messages: string[] = []
  for (let next = error; next instanceof Error && messages.length < 3; next = next.cause) {
    const code = 'error' in next && typeof next.error === 'string' ? ` (${next.error})` : ''
    messages.push(`${next.message}${code}`)
  }
  return messages.join(': ').slice(0, 300)
}

/** The bounds of the standard: 255 characters of ASCII. */
function isSubject(text: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(text)
}

export const callbackPath = '/admin/sign-in/oidc/callback'

type Oidc = typeof import('openid-client')

/** Some providers leave the groups and the email out of the ID token. The answer must be about the same subject. */
async function moreClaims(
  oidc: Oidc,
  configuration: Configuration,
  { roleRules }: OidcConfig,
  accessToken: string,
  claims: Readonly<Record<string, unknown>> & { readonly sub: string },
): Promise<Readonly<Record<string, unknown>>> {
  const needed = ['email', ...(roleRules ?? []).map(({ claim }) => claim.split('.')[0]!)]
  const isWhole = needed.every((name) => Object.hasOwn(claims, name))
  if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return {}
  return await oidc.fetchUserInfo(configuration, accessToken, claims.sub)
}

function boundedFetch(net: { isAway: boolean }, deadline: AbortSignal): CustomFetch {
  return async (url, { body, headers, method, redirect, signal }) => {
    const signals = signal ? [deadline, signal] : [deadline]
    const init = { headers, method, redirect, signal: AbortSignal.any(signals), ...(body && { body: body as string }) }
    const response = await fetch(url, init).catch((error: unknown) => {
      net.isAway = true
      throw error
    })
    if (response.status >= 500) net.isAway = true
    return new Response(await readBounded(response, net), { status: response.status, headers: response.headers })
  }
}

async function readBounded(response: Response, net: { isAway: boolean }): Promise<Uint8Array<ArrayBuffer> | null> {
  if (!response.body) return null
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body) {
      size += chunk.length
      if (size > maxAnswerBytes) throw new Error('the answer of the identity provider is too large')
      chunks.push(chunk)
    }
  } catch (error) {
    net.isAway ||= size <= maxAnswerBytes
    throw error
  }
  return new Uint8Array(Buffer.concat(chunks))
}
