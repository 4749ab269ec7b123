/** The settings of sign-in with the company's own account (OpenID Connect). */
import { parseRoleRules, type RoleRule } from './oidc-roles.ts'

export type OidcConfig = {
  readonly issuer: string
  readonly clientId: string
  /** Undefined: a public client, with PKCE alone. */
  readonly clientSecret: string | undefined
  /** The provider as the sign-in page names it. */
  readonly name: string
  readonly scopes: string
  /** Undefined: an operator has the role that an admin gave. */
  readonly roleRules: readonly RoleRule[] | undefined
  /** Passwords are for admins in an emergency. */
  readonly isOnly: boolean
}

type OidcSettings = {
  readonly NODE_ENV?: string | undefined
  readonly OIDC_ISSUER?: string | undefined
  readonly OIDC_CLIENT_ID?: string | undefined
  readonly OIDC_CLIENT_SECRET?: string | undefined
  readonly OIDC_NAME: string
  readonly OIDC_SCOPES: string
  readonly OIDC_ROLES?: string | undefined
  readonly OIDC_ONLY?: '0' | '1' | undefined
}

export function oidcMistakes(s: OidcSettings): string[] {
  const dependent = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES', 'OIDC_ONLY'] as const
  const mistakes: string[] = []
  if (!s.OIDC_ISSUER) {
    const first = dependent.find((name) => s[name] !== undefined && s[name] !== '0')
    return first ? [`${first}: it has no effect without OIDC_ISSUER, the address of the identity provider`] : []
  }
  const { protocol, hostname, search, hash } = new URL(s.OIDC_ISSUER)
  if (search || hash) mistakes.push('OIDC_ISSUER: write the address without ? and #')
  if (protocol === 'http:' && (s.NODE_ENV === 'production' || !isLoopback(hostname)))
    mistakes.push('OIDC_ISSUER: write an https address; http is only for tests on this machine')
  if (!s.OIDC_CLIENT_ID) mistakes.push('OIDC_CLIENT_ID: OIDC_ISSUER needs the id that the provider gave this service')
  return mistakes
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

export function toOidcConfig(s: OidcSettings): OidcConfig | undefined {
  if (!s.OIDC_ISSUER) return undefined
  return {
    issuer: s.OIDC_ISSUER,
    clientId: s.OIDC_CLIENT_ID!,
    clientSecret: s.OIDC_CLIENT_SECRET,
    name: s.OIDC_NAME,
    scopes: s.OIDC_SCOPES,
    roleRules: s.OIDC_ROLES === undefined ? undefined : parseRoleRules(s.OIDC_ROLES),
    isOnly: s.OIDC_ONLY === '1',
  }
}
