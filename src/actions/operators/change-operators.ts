/**
 * Changes of operators. Where there is a second admin, one asks and another one approves: who gives access must not decide alone.
 * Taking access away at once needs one admin only. The command line is the way out when no admin can decide.
 */
import { transact, type Transaction } from '../../store/connection/database.ts'
import * as changes from '../../store/operator-access/operator-changes.ts'
import type { Change, WaitingChange } from '../../store/operator-access/operator-changes.ts'
import { deleteInviteById, findInviteById } from '../../store/operator-access/operator-invites.ts'
import { lockOperators, type Operator } from '../../store/operators.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { takeLimit, type Limited } from '../limits.ts'
import { addOperatorMail, sendOperatorMailSoon } from '../mails/operator-letters.ts'
import type { Service } from '../service.ts'
import { newId } from '../tokens.ts'
import {
  applyChange,
  applySuspension,
  findChangeProblem,
  isLastAdmin,
  type ChangeProblem,
  type Way,
} from './apply-change.ts'
import { findDependence, isAdminThrough, isSamePerson, operatorIdOf, type Dependence } from './independence.ts'
import { hasRight } from './rights.ts'

const waitingMs = 7 * 24 * 3_600_000
/** Every change sends mails to other people. */
const changesAnHour = { name: 'operator-changes', limit: 60, windowMs: 3_600_000 }
/** The operators' page shows them all. */
export const maxWaitingChanges = 100

export type Requested =
  | { readonly kind: 'done'; readonly path: string | undefined }
  | { readonly kind: 'waiting'; readonly waiting: WaitingChange }
  | { readonly kind: 'problem'; readonly problem: ChangeProblem | 'no-right' | 'another-waits' | 'too-many-wait' }
  | Limited

/** Makes the change, or lets it wait for a second admin. The same request again returns the one that waits. */
export async function requestChange(
  service: Service,
  actor: Actor,
  change: Change,
  way: Way = 'mail',
): Promise<Requested> {
  const limited = way === 'mail' ? await takeLimit(service, changesAnHour, actor.name) : undefined
  if (limited) return limited
  const requested = await transact(service.db, async (tx): Promise<Requested> => {
    const all = await lockOperators(tx)
    if (!isStillAdmin(all, actor)) return { kind: 'problem', problem: 'no-right' }
    const problem = findChangeProblem(all, change)
    if (problem) return { kind: 'problem', problem }
    if (await needsSecond(service, tx, all, actor, change)) return await insertWaiting(tx, all, actor, change)
    const behind = { actor, askedBy: actor.name, approvedBy: null }
    return { kind: 'done', path: await applyChange(tx, all, behind, change, way) }
  })
  sendOperatorMailSoon(service)
  return requested
}

/** Whether changes by this operator wait for another admin. */
export async function needsSecondAdmin(
  service: Service,
  db: Transaction | Service['db']['pool'],
  all: readonly Operator[],
  actor: Actor,
): Promise<boolean> {
  const me = operatorIdOf(actor.name)
  if (me === undefined || !service.config.operatorChangesNeedTwo) return false
  const others = all.filter((o) => o.id !== me && o.role === 'admin' && (o.isActive || o.suspendedAt !== null))
  // An admin who lately became one through this one is not a second person. Before, this one decided alone.
  for (const other of others) if (!(await isAdminThrough(db, other.id, actor.name))) return true
  return false
}

async function needsSecond(
  service: Service,
  tx: Transaction,
  all: readonly Operator[],
  actor: Actor,
  change: Change,
): Promise<boolean> {
  const isOwn = 'operatorId' in change && `operator:${change.operatorId}` === actor.name
  // An admin gives up their own power alone.
  if (isOwn && (change.kind === 'remove' || change.kind === 'role')) return false
  return await needsSecondAdmin(service, tx, all, actor)
}

/** The session may be older than a suspension that another process just made. */
function isStillAdmin(all: readonly Operator[], actor: Actor): boolean {
  const id = operatorIdOf(actor.name)
  if (id === undefined) return true
  const me = all.find((operator) => operator.id === id)
  return me !== undefined && me.isActive && hasRight(me.role, 'operators')
}

async function insertWaiting(
  tx: Transaction,
  all: readonly Operator[],
  actor: Actor,
  change: Change,
): Promise<Requested> {
  if ((await changes.countWaitingChanges(tx)) >= maxWaitingChanges) return { kind: 'problem', problem: 'too-many-wait' }
  const waiting = await changes.insertChange(tx, { id: newId(), change, askedBy: actor.name, lifetimeMs: waitingMs })
  if (!waiting) {
    const before = (await changes.findWaitingChange(tx, change))!
    const isSame = JSON.stringify(before.change) === JSON.stringify(change) && before.askedBy === actor.name
    return isSame ? { kind: 'waiting', waiting: before } : { kind: 'problem', problem: 'another-waits' }
  }
  await recordAudit(tx, actor, 'operator.change-asked', subjectOf(change), detailOf(waiting))
  for (const { id, role, isActive } of all)
    if (role === 'admin' && isActive && `operator:${id}` !== actor.name)
      await addOperatorMail(tx, { kind: 'change-waiting', operatorId: id, changeId: waiting.id })
  return { kind: 'waiting', waiting }
}

const subjectOf = (change: Change) => ('operatorId' in change ? `operator:${change.operatorId}` : 'operators')

function detailOf({ id, change }: WaitingChange): Record<string, unknown> {
  return {
    changeId: id,
    kind: change.kind,
    ...('email' in change && { for: change.email }),
    ...('role' in change && { role: change.role }),
  }
}

export type DecidedChange =
  | { readonly kind: 'done' }
  | { readonly kind: 'problem'; readonly problem: DecisionProblem }
  | { readonly kind: 'dependent'; readonly dependence: Dependence }

export type DecisionProblem =
  | ChangeProblem
  | 'unknown-change'
  | 'decided'
  | 'expired'
  | 'own'
  | 'not-own'
  | 'no-right'
  | 'asker-left'

const refuse = (problem: DecisionProblem): DecidedChange => ({ kind: 'problem', problem })

/**
 * The decision and the change are one transaction. The row lock lets one caller decide; the others get `decided`. Only an admin who
 * did not ask, and is independent of the one who did, may approve.
 */
export async function decideChange(
  service: Service,
  actor: Actor,
  id: string,
  state: changes.DecidedState,
): Promise<DecidedChange> {
  const decided = await transact(service.db, async (tx): Promise<DecidedChange> => {
    const all = await lockOperators(tx)
    const waiting = await changes.lockChange(tx, id)
    if (!waiting) return refuse('unknown-change')
    if (!isStillAdmin(all, actor)) return refuse('no-right')
    if (waiting.state !== 'waiting') return refuse(waiting.state === 'expired' ? 'expired' : 'decided')
    const isOwn = isSamePerson(waiting.askedBy, actor.name)
    if (isOwn !== (state === 'withdrawn')) return refuse(isOwn ? 'own' : 'not-own')
    if (state === 'approved') {
      const refused = await findRefusal(tx, all, actor, waiting)
      if (refused) return refused
    }
    await changes.updateChangeDecided(tx, id, { state, by: actor.name })
    const detail = { ...detailOf(waiting), askedBy: waiting.askedBy }
    await recordAudit(tx, actor, `operator.change-${state}`, subjectOf(waiting.change), detail)
    const behind = { actor, askedBy: waiting.askedBy, approvedBy: actor.name }
    if (state === 'approved') await applyChange(tx, all, behind, waiting.change)
    return { kind: 'done' }
  })
  sendOperatorMailSoon(service)
  return decided
}

async function findRefusal(
  tx: Transaction,
  all: readonly Operator[],
  actor: Actor,
  { askedBy, change }: WaitingChange,
): Promise<DecidedChange | undefined> {
  if (!isStillAdmin(all, { name: askedBy, address: null })) return refuse('asker-left')
  const dependence = await findDependence(tx, { approver: actor.name, asker: askedBy })
  if (dependence) return { kind: 'dependent', dependence }
  const problem = findChangeProblem(all, change)
  return problem && refuse(problem)
}

/** Taking power away needs one admin: sessions, links and requests of the operator end at once. */
export async function suspendOperator(
  service: Service,
  actor: Actor,
  id: string,
): Promise<'done' | 'unknown' | 'no-access' | 'last-admin' | 'no-right'> {
  const result = await transact(service.db, async (tx) => {
    const all = await lockOperators(tx)
    const operator = all.find((each) => each.id === id)
    if (!operator) return 'unknown'
    if (!isStillAdmin(all, actor)) return 'no-right'
    if (!operator.isActive) return 'no-access'
    if (isLastAdmin(all, operator)) return 'last-admin'
    await applySuspension(tx, actor, operator)
    return 'done'
  })
  sendOperatorMailSoon(service)
  return result
}

/** Mails a new link to the same address; the one before stops working. */
export async function resendLink(service: Service, actor: Actor, id: string): Promise<'done' | 'unknown' | Limited> {
  const limited = await takeLimit(service, changesAnHour, actor.name)
  if (limited) return limited
  const result = await transact(service.db, async (tx) => {
    const invite = await findInviteById(tx, id)
    // A printed link was handed over on the command line; it is not for the mail.
    if (!invite?.createdBy.startsWith('operator:')) return 'unknown'
    const subject = invite.operatorId ? `operator:${invite.operatorId}` : 'operators'
    await recordAudit(tx, actor, 'operator.link-resent', subject, { for: invite.email, madeBy: invite.createdBy })
    await addOperatorMail(tx, { kind: 'link', inviteId: id })
    return 'done'
  })
  sendOperatorMailSoon(service)
  return result
}

/** False when there is no such link, or it was used. */
export async function revokeInvite(service: Service, actor: Actor, id: string): Promise<boolean> {
  return await transact(service.db, async (tx) => {
    const invite = await deleteInviteById(tx, id)
    if (!invite) return false
    const { operatorId, role, email, createdBy } = invite
    const subject = operatorId ? `operator:${operatorId}` : 'operators'
    const detail = { role, ...(email !== null && { for: email }), madeBy: createdBy }
    await recordAudit(tx, actor, 'operator.invite-revoked', subject, detail)
    return true
  })
}
