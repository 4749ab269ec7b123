/**
 * Sign-in to /admin with the company's own account. The start is a row that counts once, for ten minutes, in the browser that began:
 * its cookie is the key from which nonce and PKCE verifier follow, so neither is stored.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { transact, type Transaction } from '../../../store/connection/database.ts'
import * as identities from '../../../store/operator-access/operator-identities.ts'
import type { OidcPurpose, OidcStart } from '../../../store/operator-access/operator-identities.ts'
import { deleteInvite, findInvite } from '../../../store/operator-access/operator-invites.ts'
import { deleteOperatorSessions, findSessionOperator } from '../../../store/operator-access/operator-sessions.ts'
import { lockOperators, type Operator, type Role } from '../../../store/operators.ts'
import { decideRole, type RoleDecision } from '../../../platform/oidc-roles.ts'
import { recordAudit, type Actor } from '../../audit.ts'
import { oidcStarts, takeLimit, type Limited } from '../../limits.ts'
import { addOperatorMail, sendOperatorMailSoon } from '../../mails/operator-letters.ts'
import { isEmail, isName, normaliseEmail } from '../../people/create-user.ts'
import type { Service } from '../../service.ts'
import { hashSecret } from '../../tokens.ts'
import { networkOf } from '../../../platform/address.ts'
import { applyChange, findChangeProblem } from '../apply-change.ts'
import { insertOperator, renewOperator } from '../manage-operators.ts'
import { actorOf, type Device } from '../manage-sessions.ts'
import { startFullSession } from '../sign-in-operator.ts'
import type { Identity, ProviderProblem, Start } from './provider.ts'

const startMs = 10 * 60_000
/** The provider is asked again for the role after a working day. */
const sessionMs = 8 * 3_600_000

export type OidcRefusal =
  /** Used, expired, or begun in another browser. */
  | { readonly reason: 'stale' | ProviderProblem | 'unknown-identity' | 'no-access' | 'no-role' | 'last-admin' }
  | { readonly reason: 'no-email' | 'email-unverified' | 'email-taken' }
  | { readonly reason: 'identity-taken' | 'session-ended' | 'link-used' }
  | { readonly reason: 'provider-refused'; readonly code: string }
  | { readonly reason: 'absent' | 'overage'; readonly claim: string }

export type OidcStarted =
  | { readonly kind: 'go'; readonly url: string; readonly browser: string }
  | { readonly kind: 'refused'; readonly refusal: OidcRefusal }
  | Limited

/** `browser` is the cookie of an earlier start in this browser, so that two open tabs both succeed. */
export async function startOidc(
  service: Service,
  { browser: given, purpose, next }: { browser: string | undefined; purpose: OidcPurpose; next: string },
  device: Device,
): Promise<OidcStarted> {
  const limited = await takeLimit(service, oidcStarts, networkOf(device.address))
  if (limited) return limited
  const browser = given !== undefined && isToken(given) ? given : newToken()
  const start = startOf(browser, newToken())
  const url = await service.oidc!.authorizationUrl(start)
  if (typeof url === 'string') return { kind: 'refused', refusal: { reason: url } }
  await identities.insertOidcStart(service.db.pool, hashesOf(browser, start.state), { ...purpose, next }, startMs)
  return { kind: 'go', url: url.href, browser }
}

function newToken(): string {
  return randomBytes(32).toString('base64url')
}

function isToken(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

function startOf(browser: string, state: string): Start {
  const derive = (what: string) => createHmac('sha256', browser).update(`${what}:${state}`).digest('base64url')
  return { state, nonce: derive('nonce'), verifier: derive('verifier') }
}

function hashesOf(browser: string, state: string) {
  return { stateHash: hashSecret(state), browserHash: hashSecret(browser) }
}

export type OidcFinished =
  | { readonly kind: 'session'; readonly token: string; readonly next: string }
  | { readonly kind: 'connected' }
  | { readonly kind: 'refused'; readonly refusal: OidcRefusal; readonly purpose: OidcStart['purpose'] }

export async function finishOidc(
  service: Service,
  { browser, query }: { browser: string | undefined; query: URLSearchParams },
  device: Device,
): Promise<OidcFinished> {
  const result = await tryToFinish(service, { browser, query }, device)
  if (result.kind !== 'connected') service.metrics.signIn('operator', result.kind === 'session' ? 'right' : 'wrong')
  sendOperatorMailSoon(service)
  return result
}

async function tryToFinish(
  service: Service,
  { browser, query }: { browser: string | undefined; query: URLSearchParams },
  device: Device,
): Promise<OidcFinished> {
  const state = query.get('state') ?? ''
  const isWhole = browser !== undefined && isToken(browser) && isToken(state)
  const start = isWhole ? await identities.deleteOidcStart(service.db.pool, hashesOf(browser, state)) : undefined
  if (!start) return { kind: 'refused', refusal: { reason: 'stale' }, purpose: 'sign-in' }
  const refuse = (refusal: OidcRefusal): OidcFinished => ({ kind: 'refused', refusal, purpose: start.purpose })
  const error = query.get('error')
  if (error !== null) return refuse({ reason: 'provider-refused', code: error.slice(0, 60) })
  const identity = await service.oidc!.identify(query, startOf(browser!, state))
  if (typeof identity === 'string') return refuse({ reason: identity })
  const finished = await transact(service.db, async (tx) => await finishWith(service, tx, start, identity, device))
  if ('reason' in finished) {
    await recordRefusal(service, identity, finished, device)
    return refuse(finished)
  }
  return finished
}

type Finish = Exclude<OidcFinished, { kind: 'refused' }> | OidcRefusal

async function finishWith(
  service: Service,
  tx: Transaction,
  start: OidcStart,
  identity: Identity,
  device: Device,
): Promise<Finish> {
  // Two sign-ins of a new identity at once make one operator.
  const all = await lockOperators(tx)
  if (start.purpose === 'connect') return await connect(tx, start.sessionId, identity, device)
  if (start.purpose === 'accept') return await accept(service, tx, all, start.inviteHash, identity, device)
  const known = await identities.findOperatorByIdentity(tx, identity)
  if (known && !known.isActive) return { reason: 'no-access' }
  if (!known && !service.config.oidc!.roleRules) return { reason: 'unknown-identity' }
  const role = roleOf(service, identity, known)
  if (typeof role !== 'string') {
    if (role.kind === 'no-match' && known) await endSessions(tx, known, device)
    return role.kind === 'no-match' ? { reason: 'no-role' } : { reason: role.kind, claim: role.claim }
  }
  const operator = known
    ? await giveRole(tx, all, known, role, device)
    : await create(service, tx, identity, role, device)
  if ('reason' in operator) return operator
  await identities.updateIdentityUsed(tx, identity)
  return await session(service, tx, operator, start.next, device)
}

/** An identity without a role rule has the role of its operator; one without an operator has none. */
function roleOf(
  { config }: Service,
  { claims }: Identity,
  known: Operator | undefined,
): Role | Exclude<RoleDecision, { kind: 'role' }> {
  const { roleRules } = config.oidc!
  if (!roleRules) return known ? known.role : { kind: 'no-match' }
  const decision = decideRole(roleRules, claims)
  return decision.kind === 'role' ? decision.role : decision
}

const provider = (device: Device): Actor => ({ name: 'oidc', address: device.address })

async function giveRole(
  tx: Transaction,
  all: readonly Operator[],
  operator: Operator,
  role: Role,
  device: Device,
): Promise<Operator | OidcRefusal> {
  if (operator.role === role) return operator
  const change = { kind: 'role', operatorId: operator.id, role } as const
  if (findChangeProblem(all, change) === 'last-admin') return { reason: 'last-admin' }
  await applyChange(tx, all, { actor: provider(device), askedBy: 'oidc', approvedBy: null }, change)
  return { ...operator, role }
}

async function create(
  service: Service,
  tx: Transaction,
  identity: Identity,
  role: Role,
  device: Device,
): Promise<Operator | OidcRefusal> {
  const { claims } = identity
  const email = typeof claims['email'] === 'string' ? normaliseEmail(claims['email']) : ''
  if (!isEmail(email)) return { reason: 'no-email' }
  if (claims['email_verified'] === false) return { reason: 'email-unverified' }
  const given = typeof claims['name'] === 'string' ? claims['name'].trim() : ''
  const name = isName(given) ? given : email
  const actor = provider(device)
  // An operator of this email may be another person: the accounts are connected by that operator, never by the address.
  const id = await insertOperator(service, tx, actor, { email, name, role, passwordHash: null })
  if (id === undefined) return { reason: 'email-taken' }
  await identities.upsertIdentity(tx, identity, id)
  await recordConnected(tx, actor, id, identity)
  return (await identities.findOperatorByIdentity(tx, identity))!
}

async function connect(tx: Transaction, sessionId: string, identity: Identity, device: Device): Promise<Finish> {
  const operator = await findSessionOperator(tx, sessionId)
  if (!operator) return { reason: 'session-ended' }
  if (!(await identities.upsertIdentity(tx, identity, operator.id))) return { reason: 'identity-taken' }
  await recordConnected(tx, actorOf(operator, device.address), operator.id, identity)
  const { id: operatorId, role } = operator
  const by = `operator:${operatorId}`
  await addOperatorMail(tx, { kind: 'connected', operatorId, by, approvedBy: null, role })
  return { kind: 'connected' }
}

/** A one-time link from the operator's mailbox is accepted with the account in place of a password. */
async function accept(
  service: Service,
  tx: Transaction,
  all: readonly Operator[],
  inviteHash: Buffer,
  identity: Identity,
  device: Device,
): Promise<Finish> {
  const invite = await findInvite(tx, inviteHash)
  if (!invite || (invite.operatorId === null && invite.email === null)) return { reason: 'link-used' }
  const { operatorId, createdBy, approvedBy, role } = invite
  const holder = await identities.findOperatorByIdentity(tx, identity)
  // A refused link stays valid, so that it can be used with another account.
  if (holder && holder.id !== operatorId) return { reason: 'identity-taken' }
  const email = invite.email ?? ''
  if (operatorId === null && all.some((operator) => operator.email === email)) return { reason: 'email-taken' }
  await deleteInvite(tx, inviteHash)
  const maker = { name: createdBy, address: device.address }
  const given = typeof identity.claims['name'] === 'string' ? identity.claims['name'].trim() : ''
  const name = isName(given) ? given : email
  const id = operatorId
    ? await renewOperator(tx, { ...invite, id: operatorId, passwordHash: null }, device)
    : (await insertOperator(service, tx, maker, { email, name, role, passwordHash: null, approvedBy }))!
  await identities.upsertIdentity(tx, identity, id)
  await recordConnected(tx, provider(device), id, identity)
  return await session(service, tx, (await identities.findOperatorByIdentity(tx, identity))!, '/admin', device)
}

async function session(
  service: Service,
  tx: Transaction,
  operator: Operator,
  next: string,
  device: Device,
): Promise<Finish> {
  const token = await startFullSession(service, tx, operator, device, { by: service.config.oidc!.name, sessionMs })
  return { kind: 'session', token, next }
}

async function endSessions(tx: Transaction, { id }: Operator, device: Device): Promise<void> {
  const sessions = await deleteOperatorSessions(tx, id)
  if (sessions > 0) await recordAudit(tx, provider(device), 'operator.sessions-ended', `operator:${id}`, { sessions })
}

async function recordConnected(tx: Transaction, actor: Actor, operatorId: string, identity: Identity): Promise<void> {
  const { issuer, subject } = identity
  await recordAudit(tx, actor, 'operator.identity-connected', `operator:${operatorId}`, { issuer, subject })
}

async function recordRefusal(
  service: Service,
  { issuer, subject }: Identity,
  refusal: OidcRefusal,
  { address }: Device,
): Promise<void> {
  const known = await identities.findOperatorByIdentity(service.db.pool, { issuer, subject })
  const about = known ? `operator:${known.id}` : 'operator:unknown'
  const detail = { issuer, subject, ...refusal }
  await recordAudit(service.db.pool, { name: 'stranger', address }, 'operator.identity-refused', about, detail)
}
