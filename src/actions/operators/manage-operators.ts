/** Operators: accounts, accepted links, and what operators change about their own access. */
import type { Config } from '../../config.ts'
import { transact, type Transaction } from '../../store/connection/database.ts'
import * as invites from '../../store/operator-access/operator-invites.ts'
import { insertGrant } from '../../store/operator-access/operator-grants.ts'
import { deleteOperatorSessions } from '../../store/operator-access/operator-sessions.ts'
import * as store from '../../store/operators.ts'
import type { Operator, Role } from '../../store/operators.ts'
import { isEmail, isName, maxNameLength, normaliseEmail } from '../people/create-user.ts'
import { ownPasswords, takeLimit, type Limited } from '../limits.ts'
import { actorOf, startSession, type Device, type SignedInOperator } from './manage-sessions.ts'
import { findPasswordProblem } from '../people/password-rules.ts'
import { hashPassword, isPassword } from '../people/passwords.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { addOperatorMail, sendOperatorMailSoon } from '../mails/operator-letters.ts'
import { linkMs, newLink } from './apply-change.ts'
import { renewRecoveryCodes } from './second-factor.ts'
import type { Service } from '../service.ts'
import { hashSecret, newId } from '../tokens.ts'

export type NewOperator = { readonly email: string; readonly name: string; readonly password: string }

/** All problems, by field; empty when the input is valid. */
export function operatorProblems({ email, name, password }: NewOperator): Record<string, string> {
  const problems: Record<string, string> = {}
  if (!isEmail(email.trim())) problems['email'] = 'write an email address'
  if (!isName(name.trim())) problems['name'] = `write a name of 1 to ${maxNameLength} characters`
  const weakness = passwordProblem(password, email)
  if (weakness) problems['password'] = weakness
  return problems
}

/** Longer than for users: these accounts can move money. */
export function passwordProblem(password: string, email: string): string | undefined {
  if (Array.from(password).length < 12) return 'write at least 12 characters'
  const problem = findPasswordProblem(password, email)
  return problem && `the password ${problem}`
}

/** Undefined when the email is taken. */
export async function createOperator(
  service: Service,
  actor: Actor,
  operator: NewOperator & { role: Role },
): Promise<string | undefined> {
  const passwordHash = await hashPassword(service, operator.password)
  return await transact(service.db, (tx) => insertOperator(service, tx, actor, { ...operator, passwordHash }))
}

export async function insertOperator(
  service: Service,
  tx: Transaction,
  actor: Actor,
  {
    email,
    name,
    role,
    passwordHash,
    approvedBy = null,
  }: { email: string; name: string; role: Role; passwordHash: string | null; approvedBy?: string | null },
): Promise<string | undefined> {
  const id = newId(service.now())
  const operator = { id, email: normaliseEmail(email), name: name.trim(), role, passwordHash }
  if (!(await store.insertOperator(tx, operator))) return undefined
  await recordAudit(tx, actor, 'operator.created', `operator:${id}`, {
    email: operator.email,
    name: operator.name,
    role,
  })
  const kind = actor.name.startsWith('operator:') ? 'invited' : 'created'
  await insertGrant(tx, { operatorId: id, kind, madeBy: actor.name, approvedBy })
  return id
}

const firstActor: Actor = { name: 'system', address: null }

/** For the first start in development: a one-time link that creates the first admin. Undefined once there is an operator. */
export async function firstOperatorLink(service: Service): Promise<string | undefined> {
  if (service.config.isProduction || (await store.hasOperators(service.db.pool))) return undefined
  return await transact(service.db, async (tx) => {
    await invites.deleteInvitesBy(tx, firstActor.name)
    await recordAudit(tx, firstActor, 'operator.invited', 'operators', { role: 'admin' })
    const { path, tokenHash } = newLink()
    const about = { id: newId(), operatorId: null, role: 'admin', email: null, approvedBy: null } as const
    await invites.insertInvite(tx, tokenHash, { ...about, createdBy: firstActor.name, lifetimeMs: linkMs })
    return `${service.config.publicUrl}${path}`
  })
}

/** `email`: the address of a new operator, which cannot be changed. Null for the first one, who chooses it. */
export type OpenInvite = {
  readonly role: Role
  readonly operator: Operator | undefined
  readonly email: string | null
}

export async function findInvite(service: Service, token: string): Promise<OpenInvite | undefined> {
  const invite = await invites.findInvite(service.db.pool, hashSecret(token))
  if (!invite) return undefined
  const operator = invite.operatorId ? await store.findOperator(service.db.pool, invite.operatorId) : undefined
  return { role: invite.role, operator, email: invite.email }
}

export type Accepted = { readonly token: string } | { readonly problem: 'used' | 'email-taken' | 'oidc-only' }

/** Uses the link. The operator is signed in and must set up a second factor. */
export async function acceptInvite(
  service: Service,
  token: string,
  input: NewOperator,
  device: Device,
): Promise<Accepted> {
  const passwordHash = await hashPassword(service, input.password)
  const result = await transact(service.db, async (tx): Promise<Accepted> => {
    const invite = await invites.deleteInvite(tx, hashSecret(token))
    if (!invite) return { problem: 'used' }
    if (!mayUsePassword(service.config, invite)) throw new OidcOnly()
    const actor = { name: invite.createdBy, address: device.address }
    const { role, approvedBy } = invite
    // The link went to this mailbox, so no other address becomes the operator's.
    const fields = { ...input, email: invite.email ?? input.email, role, passwordHash, approvedBy }
    const id = invite.operatorId
      ? await renewOperator(tx, { ...invite, id: invite.operatorId, passwordHash }, device)
      : await insertOperator(service, tx, actor, fields)
    // Throw to roll back, so the link can be used again with another email.
    if (!id) throw new EmailTaken()
    return { token: await startSession(service, tx, id, 'enrol', device) }
  }).catch((error: unknown) => {
    if (error instanceof EmailTaken) return { problem: 'email-taken' as const }
    if (error instanceof OidcOnly) return { problem: 'oidc-only' as const }
    throw error
  })
  sendOperatorMailSoon(service)
  return result
}

class EmailTaken extends Error {}
class OidcOnly extends Error {}

/** With OIDC_ONLY passwords are for admins, as the way in when the provider is away. */
export function mayUsePassword({ oidc }: Pick<Config, 'oidc'>, { role }: { readonly role: Role }): boolean {
  return !oidc?.isOnly || role === 'admin'
}

export async function renewOperator(
  tx: Transaction,
  {
    id,
    role,
    passwordHash,
    createdBy,
    approvedBy,
  }: { id: string; role: Role; passwordHash: string | null; createdBy: string; approvedBy: string | null },
  { address }: Device,
): Promise<string> {
  await store.updateOperatorPassword(tx, id, passwordHash)
  await store.updateTotpCleared(tx, id)
  await deleteOperatorSessions(tx, id)
  await recordAudit(tx, actorOf({ id }, address), 'operator.renewed', `operator:${id}`)
  await insertGrant(tx, { operatorId: id, kind: 'renewed', madeBy: createdBy, approvedBy })
  await addOperatorMail(tx, { kind: 'renewed', operatorId: id, by: createdBy, approvedBy, role })
  return id
}

export type OwnPassword = 'right' | 'wrong' | Limited

export async function checkOwnPassword(service: Service, operator: Operator, password: string): Promise<OwnPassword> {
  const limited = await takeLimit(service, ownPasswords, operator.id)
  if (limited) return limited
  return (await isPassword(service, password, operator.passwordHash)) ? 'right' : 'wrong'
}

/** Ends all other sessions of the operator. */
export async function changeOperatorPassword(
  service: Service,
  { operator, session }: SignedInOperator,
  { before, after }: { before: string; after: string },
  address: string,
): Promise<OwnPassword> {
  const checked = await checkOwnPassword(service, operator, before)
  if (checked !== 'right') return checked
  const passwordHash = await hashPassword(service, after)
  await transact(service.db, async (tx) => {
    await store.updateOperatorPassword(tx, operator.id, passwordHash)
    await deleteOperatorSessions(tx, operator.id, { except: session.id })
    await recordAudit(tx, actorOf(operator, address), 'operator.password-changed', `operator:${operator.id}`)
  })
  return 'right'
}

/** Replaces the recovery codes; the old ones stop working. */
export async function changeRecoveryCodes(
  service: Service,
  operator: Operator,
  password: string,
  address: string,
): Promise<{ codes: string[] } | Exclude<OwnPassword, 'right'>> {
  const checked = await checkOwnPassword(service, operator, password)
  if (checked !== 'right') return checked
  return await transact(service.db, async (tx) => {
    await recordAudit(tx, actorOf(operator, address), 'operator.recovery-codes-renewed', `operator:${operator.id}`)
    return { codes: await renewRecoveryCodes(tx, operator.id) }
  })
}

/** Starts the change to another authenticator. The old one stays valid until a code of the new one is confirmed. */
export async function restartSecondFactor(
  service: Service,
  { operator, session }: SignedInOperator,
  password: string,
  device: Device,
): Promise<{ token: string } | Exclude<OwnPassword, 'right'>> {
  const checked = await checkOwnPassword(service, operator, password)
  if (checked !== 'right') return checked
  return await transact(service.db, async (tx) => {
    await recordAudit(
      tx,
      actorOf(operator, device.address),
      'operator.second-factor-restarted',
      `operator:${operator.id}`,
    )
    await deleteOperatorSessions(tx, operator.id, { only: session.id })
    return { token: await startSession(service, tx, operator.id, 'enrol', device) }
  })
}
