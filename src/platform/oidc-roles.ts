/** Which role an operator has by the claims of the identity provider. Pure. */
import { roles, type Role } from '../store/operators.ts'

/** `role = claim path : value`. */
export type RoleRule = { readonly role: Role; readonly claim: string; readonly value: string }

/**
 * The text of OIDC_ROLES, such as `admin=groups:wallet-admins, viewer=realm_access.roles:staff`. The claim may be an address with
 * colons, so the value begins after the last one. Undefined if the text is none.
 */
export function parseRoleRules(text: string): readonly RoleRule[] | undefined {
  const rules = text.split(',').map((part) => {
    const [equals, colon] = [part.indexOf('='), part.lastIndexOf(':')]
    const role = part.slice(0, Math.max(0, equals)).trim()
    const claim = part.slice(equals + 1, Math.max(0, colon)).trim()
    return { role: roles.find((known) => known === role), claim, value: part.slice(colon + 1).trim() }
  })
  const isRule = (rule: (typeof rules)[number]): rule is RoleRule =>
    rule.role !== undefined && rule.claim !== '' && rule.value !== ''
  return rules.every(isRule) ? rules : undefined
}

export type RoleDecision =
  | { readonly kind: 'role'; readonly role: Role }
  /** Every claim that was sent has other values. */
  | { readonly kind: 'no-match' }
  /** The provider sent none of the claims, so nothing is known about the role. */
  | { readonly kind: 'absent'; readonly claim: string }
  /** Entra sends a reference in place of more than 200 groups. */
  | { readonly kind: 'overage'; readonly claim: string }

/**
 * The highest role that matches. An absent claim is no statement: if it could give a higher role than those that match, the role is
 * not known, and a lower one would be a silent demotion.
 */
export function decideRole(rules: readonly RoleRule[], claims: Readonly<Record<string, unknown>>): RoleDecision {
  const matching = rules.filter(({ claim, value }) => valuesOf(claims, claim)?.includes(value))
  const [role] = matching.map((rule) => rule.role).toSorted((a, b) => roles.indexOf(b) - roles.indexOf(a))
  const rank = role === undefined ? -1 : roles.indexOf(role)
  const missing = rules.find((rule) => roles.indexOf(rule.role) > rank && valuesOf(claims, rule.claim) === undefined)
  if (!missing) return role === undefined ? { kind: 'no-match' } : { kind: 'role', role }
  return { kind: isOverage(claims, missing.claim) ? 'overage' : 'absent', claim: missing.claim }
}

/** Undefined if the claim is absent. A list may be empty, which is a statement. */
function valuesOf(claims: Readonly<Record<string, unknown>>, path: string): readonly string[] | undefined {
  const value = findClaim(claims, path)
  if (value === undefined || value === null) return undefined
  return (Array.isArray(value) ? value : [value]).filter(isPlain).map(String)
}

/** A claim of that very name comes first: names such as `https://example.com/roles` have points in them. */
function findClaim(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function isPlain(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function isOverage(claims: Readonly<Record<string, unknown>>, claim: string): boolean {
  const elsewhere = claims['_claim_names']
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim)
  return isElsewhere || (claim === 'groups' && claims['hasgroups'] === true)
}
