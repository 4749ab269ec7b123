/** Makes a change of an operator, in the transaction that decided on it. */
import { randomBytes } from 'node:crypto'
import type { Transaction } from '../../store/connection/database.ts'
import {
  updateChangeOvertaken,
  updateChangesAskedBy,
  type Change,
} from '../../store/operator-access/operator-changes.ts'
import { insertGrant } from '../../store/operator-access/operator-grants.ts'
import * as invites from '../../store/operator-access/operator-invites.ts'
import { deleteOperatorSessions } from '../../store/operator-access/operator-sessions.ts'
import * as store from '../../store/operators.ts'
import type { Operator, Role } from '../../store/operators.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { addOperatorMail } from '../mails/operator-letters.ts'
import { hashSecret, newId } from '../tokens.ts'
import { hasRight } from './rights.ts'

export type ChangeProblem = 'unknown' | 'email-taken' | 'last-admin' | 'no-access' | 'has-access' | 'has-role'

/** The operators are locked. Undefined when the change can be made. */
export function findChangeProblem(all: readonly Operator[], change: Change): ChangeProblem | undefined {
  if (change.kind === 'invite') return all.some(({ email }) => email === change.email) ? 'email-taken' : undefined
  const operator = all.find(({ id }) => id === change.operatorId)
  if (!operator) return 'unknown'
  if (change.kind === 'restore') return operator.isActive ? 'has-access' : undefined
  if (change.kind === 'remove') {
    if (!operator.isActive && !operator.suspendedAt) return 'no-access'
    return isAdminLeft(all, operator.id, { role: operator.role, isActive: false }) ? undefined : 'last-admin'
  }
  if (!operator.isActive) return 'no-access'
  if (change.kind !== 'role') return undefined
  if (operator.role === change.role) return 'has-role'
  return isAdminLeft(all, operator.id, { role: change.role, isActive: true }) ? undefined : 'last-admin'
}

function isAdminLeft(all: readonly Operator[], id: string, access: { role: Role; isActive: boolean }): boolean {
  return all.map((o) => (o.id === id ? access : o)).some(({ role, isActive }) => role === 'admin' && isActive)
}

/** `approvedBy` is null for a change that one person made alone. */
export type Behind = { readonly actor: Actor; readonly askedBy: string; readonly approvedBy: string | null }

/** How the link reaches its operator. The path is only for the command line, which prints it. */
export type Way = 'mail' | 'command line'

/** The caller checked the change with `findChangeProblem`, under the same lock. Returns the path of a link to print. */
export async function applyChange(
  tx: Transaction,
  all: readonly Operator[],
  behind: Behind,
  change: Change,
  way: Way = 'mail',
): Promise<string | undefined> {
  if (behind.approvedBy === null) await updateChangeOvertaken(tx, change, behind.actor.name)
  if (change.kind === 'invite') return await applyInvite(tx, behind, change, way)
  const operator = all.find(({ id }) => id === change.operatorId)!
  if (change.kind === 'reset') return await applyReset(tx, behind, operator, way)
  const role = change.kind === 'role' ? change.role : operator.role
  await applyAccess(tx, behind, operator, { role, isActive: change.kind !== 'remove' })
  return undefined
}

async function applyInvite(
  tx: Transaction,
  behind: Behind,
  { email, role }: { email: string; role: Role },
  way: Way,
): Promise<string | undefined> {
  await invites.deleteInvitesFor(tx, email)
  await recordAudit(tx, behind.actor, 'operator.invited', 'operators', {
    role,
    for: email,
    via: way,
    ...askedOf(behind),
  })
  return await insertLink(tx, behind, { operatorId: null, role, email }, way)
}

async function applyReset(tx: Transaction, behind: Behind, operator: Operator, way: Way): Promise<string | undefined> {
  const { id, role, email } = operator
  await invites.deleteInvitesOf(tx, id)
  await recordAudit(tx, behind.actor, 'operator.reset', `operator:${id}`, { via: way, ...askedOf(behind) })
  await insertGrant(tx, { operatorId: id, kind: 'reset', madeBy: behind.askedBy, approvedBy: behind.approvedBy })
  // The mail with a link says the same.
  if (way === 'command line') await addNotice(tx, behind, 'reset', operator)
  return await insertLink(tx, behind, { operatorId: id, role, email }, way)
}

const askedOf = ({ askedBy, approvedBy }: Behind) => (approvedBy === null ? {} : { askedBy })

export const linkMs = 24 * 3_600_000

/**
 * A mailed link gets its token when the mail is sent, so that no token is stored, even for a while. Until then the row has the hash
 * of a token that no person knows.
 */
async function insertLink(
  tx: Transaction,
  { askedBy, approvedBy }: Behind,
  about: { operatorId: string | null; role: Role; email: string },
  way: Way,
): Promise<string | undefined> {
  const { path, tokenHash } = newLink()
  const id = newId()
  await invites.insertInvite(tx, tokenHash, { ...about, id, createdBy: askedBy, approvedBy, lifetimeMs: linkMs })
  if (way === 'command line') return path
  await addOperatorMail(tx, { kind: 'link', inviteId: id })
  return undefined
}

export function newLink(): { path: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('base64url')
  return { path: `/admin/welcome?token=${token}`, tokenHash: hashSecret(token) }
}

async function applyAccess(
  tx: Transaction,
  behind: Behind,
  before: Operator,
  access: { role: Role; isActive: boolean },
): Promise<void> {
  const { id } = before
  await store.updateOperatorAccess(tx, id, access)
  const from = { role: before.role, isActive: before.isActive }
  const subject = `operator:${id}`
  await recordAudit(tx, behind.actor, 'operator.access-changed', subject, { from, to: access, ...askedOf(behind) })
  const kind = access.role !== before.role ? 'role' : access.isActive ? 'restored' : 'removed'
  if (kind !== 'removed')
    await insertGrant(tx, { operatorId: id, kind, madeBy: behind.askedBy, approvedBy: behind.approvedBy })
  await addNotice(tx, behind, kind, { ...before, ...access })
  await endPowers(tx, behind.actor, id, access)
}

/** One admin alone takes the access away, until it is given back or removed. */
export async function applySuspension(tx: Transaction, actor: Actor, operator: Operator): Promise<void> {
  await store.updateOperatorSuspended(tx, operator.id)
  await recordAudit(tx, actor, 'operator.suspended', `operator:${operator.id}`)
  await addNotice(tx, { actor, askedBy: actor.name, approvedBy: null }, 'suspended', operator)
  await endPowers(tx, actor, operator.id, { role: operator.role, isActive: false })
}

export function isLastAdmin(all: readonly Operator[], { id, role }: Operator): boolean {
  return !isAdminLeft(all, id, { role, isActive: false })
}

async function addNotice(
  tx: Transaction,
  { askedBy, approvedBy }: Behind,
  kind: 'reset' | 'role' | 'removed' | 'suspended' | 'restored',
  { id, role }: Pick<Operator, 'id' | 'role'>,
): Promise<void> {
  await addOperatorMail(tx, { kind, operatorId: id, by: askedBy, approvedBy, role })
}

/**
 * Sessions of an operator without access end at once. So do the links and requests made by an operator who is no longer an active
 * admin: they would be a way back in.
 */
async function endPowers(
  tx: Transaction,
  actor: Actor,
  id: string,
  access: { role: Role; isActive: boolean },
): Promise<void> {
  const subject = `operator:${id}`
  if (!access.isActive) await deleteOperatorSessions(tx, id)
  const mayInvite = access.isActive && hasRight(access.role, 'operators')
  const made = mayInvite ? 0 : await invites.deleteInvitesBy(tx, subject)
  const links = made + (access.isActive ? 0 : await invites.deleteInvitesOf(tx, id))
  if (links > 0) await recordAudit(tx, actor, 'operator.links-ended', subject, { links })
  const requests = mayInvite ? 0 : await updateChangesAskedBy(tx, subject, actor.name)
  if (requests > 0) await recordAudit(tx, actor, 'operator.requests-ended', subject, { requests })
}
