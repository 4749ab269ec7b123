/**
 * The deletion of a user by operators, for requests that come by post or from a person who lost the account. One operator asks, another
 * one approves. The approval deletes the account in the same transaction, under the rules of the user's own deletion.
 */
import { formatMinor, type Currency } from '../../ledger/money.ts'
import { magnitude } from '../../ledger/reference.ts'
import { transact, type Queryable, type Transaction } from '../../store/connection/database.ts'
import { lockOperators, type Operator } from '../../store/operators.ts'
import * as store from '../../store/people/deletions.ts'
import type { DecidedDeletion, RequestedDeletion } from '../../store/people/deletions.ts'
import { lockUser } from '../../store/people/users.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { personRequests, takeLimit, type Limited } from '../limits.ts'
import { notify, sendSoon } from '../mails/notify.ts'
import { findDependence, isSamePerson, operatorIdOf, personOf, type Dependence } from '../operators/independence.ts'
import { hasRight } from '../operators/rights.ts'
import type { Service } from '../service.ts'
import { newId } from '../tokens.ts'
import { announceDeletion, cancelOpenTopups, closeAccount, findKeptReason, type KeptReason } from './delete-account.ts'

const waitingMs = 7 * 24 * 3_600_000
/** The list of wallets shows them all on two pages. */
const maxWaitingDeletions = 100

export type AskedDeletion =
  | { readonly kind: 'waiting'; readonly deletion: RequestedDeletion }
  | { readonly kind: 'kept'; readonly reason: KeptReason }
  | { readonly kind: 'gone' | 'another-waits' | 'too-many-wait' }
  | Limited

/** The same request again returns the one that waits. The user is mailed, and can object. */
export async function askDeletion(
  service: Service,
  actor: Actor,
  { userId, reason }: { userId: string; reason: string },
): Promise<AskedDeletion> {
  const limited = await takeLimit(service, personRequests, personOf(actor.name))
  if (limited) return limited
  const asked = await transact(service.db, async (tx): Promise<AskedDeletion> => {
    if (!(await lockUser(tx, userId))) return { kind: 'gone' }
    const before = await store.findNewestDeletion(tx, userId)
    if (before?.state === 'waiting') {
      const isSame = before.askedBy === actor.name && before.reason === reason
      return isSame ? { kind: 'waiting', deletion: before } : { kind: 'another-waits' }
    }
    const kept = await findReasonNow(tx, userId)
    if (kept) return { kind: 'kept', reason: kept }
    if ((await store.countWaitingDeletions(tx)) >= maxWaitingDeletions) return { kind: 'too-many-wait' }
    return { kind: 'waiting', deletion: await insertAsked(service, tx, actor, { userId, reason }) }
  })
  sendSoon(service)
  return asked
}

/** An open top-up is no reason yet: the approval cancels it, unless it was paid. */
export async function findReasonNow(db: Queryable, userId: string): Promise<KeptReason | undefined> {
  const reason = await findKeptReason(db, userId)
  return reason === 'topup' ? undefined : reason
}

async function insertAsked(
  service: Service,
  tx: Transaction,
  actor: Actor,
  { userId, reason }: { userId: string; reason: string },
): Promise<RequestedDeletion> {
  const request = { id: newId(), userId, reason, askedBy: actor.name, lifetimeMs: waitingMs }
  const deletion = await store.insertDeletion(tx, request)
  await recordAudit(tx, actor, 'user.deletion-asked', `user:${userId}`, { deletionId: deletion.id, reason })
  const notification = {
    kind: 'deletion-asked',
    at: service.now().toISOString(),
    until: deletion.expiresAt.toISOString(),
  } as const
  await notify(tx, userId, notification, { id: deletion.id })
  return deletion
}

export type DecidedOnDeletion =
  | { readonly kind: 'done'; readonly deletion: RequestedDeletion }
  | { readonly kind: 'kept'; readonly reason: KeptReason }
  | { readonly kind: 'problem'; readonly problem: DeletionProblem }
  | { readonly kind: 'dependent'; readonly dependence: Dependence }

export type DeletionProblem = 'unknown' | 'decided' | 'expired' | 'own' | 'not-own' | 'no-right' | 'asker-left'

type Decision = { readonly state: DecidedDeletion; readonly reason: string | null }

const refuse = (problem: DeletionProblem): DecidedOnDeletion => ({ kind: 'problem', problem })

/**
 * The decision and the deletion are one transaction. The lock on the user lets one caller decide, or the user delete the account; the
 * others get `decided`. Only an operator who did not ask, and is independent of the one who did, may approve.
 */
export async function decideDeletion(
  service: Service,
  actor: Actor,
  { id, userId }: { id: string; userId: string },
  decision: Decision,
): Promise<DecidedOnDeletion> {
  const { pool } = service.db
  const asked = await store.findDeletion(pool, id)
  if (asked?.userId !== userId) return refuse('unknown')
  if (decision.state === 'approved') {
    // Top-ups are cancelled at the card processor, so not under the locks, and only for a person who may approve.
    const refused = await transact(service.db, async (tx) =>
      findRefusal(tx, await lockOperators(tx), actor, asked, decision.state),
    )
    if (refused) return refused
    // With another reason the account stays, and so do its top-ups. Which one is decided under the locks.
    if (!(await findReasonNow(pool, userId))) await cancelOpenTopups(service, actor, userId)
  }
  const decided = await transact(service.db, (tx) => decideUnderLocks(service, tx, actor, asked, decision))
  if (decided.kind === 'done' && decision.state === 'approved') announceDeletion(service, userId)
  return decided
}

async function decideUnderLocks(
  service: Service,
  tx: Transaction,
  actor: Actor,
  { id, userId }: RequestedDeletion,
  { state, reason }: Decision,
): Promise<DecidedOnDeletion> {
  const all = await lockOperators(tx)
  const user = await lockUser(tx, userId)
  const deletion = (await store.lockDeletion(tx, id))!
  const refused = await findRefusal(tx, all, actor, deletion, state)
  if (refused) return refused
  if (!user) return refuse('decided')
  const detail = { deletionId: id, askedBy: deletion.askedBy, ...(reason !== null && { reason }) }
  if (state === 'approved') {
    const at = service.now().toISOString()
    const whole = { ...detail, reason: deletion.reason }
    const kept = await closeAccount(tx, actor, user, { detail: whole, notification: { kind: 'deleted', at } })
    if (kept) return { kind: 'kept', reason: kept }
  } else await recordAudit(tx, actor, `user.deletion-${state}`, `user:${userId}`, detail)
  await store.updateDeletionDecided(tx, id, { state, by: actor.name, reason })
  return { kind: 'done', deletion: (await store.findDeletion(tx, id))! }
}

/** The operators are locked: a session may be older than a suspension that another process just made. */
async function findRefusal(
  tx: Transaction,
  all: readonly Operator[],
  actor: Actor,
  { askedBy, state: before }: RequestedDeletion,
  state: DecidedDeletion,
): Promise<DecidedOnDeletion | undefined> {
  if (!mayDecide(all, actor.name)) return refuse('no-right')
  if (before !== 'waiting') return refuse(before === 'expired' ? 'expired' : 'decided')
  const isOwn = isSamePerson(askedBy, actor.name)
  if (isOwn !== (state === 'withdrawn')) return refuse(isOwn ? 'own' : 'not-own')
  if (state !== 'approved') return undefined
  if (!mayDecide(all, askedBy)) return refuse('asker-left')
  const dependence = await findDependence(tx, { approver: actor.name, asker: askedBy })
  return dependence && { kind: 'dependent', dependence }
}

/** The command line may always ask. */
function mayDecide(all: readonly Operator[], actor: string): boolean {
  const id = operatorIdOf(actor)
  if (id === undefined) return true
  const operator = all.find((each) => each.id === id)
  return operator !== undefined && operator.isActive && hasRight(operator.role, 'people')
}

/** Why the account stays, and what to do first; in English, for operators. */
export function describeKept(reason: KeptReason, balanceMinor: bigint, currency: Currency): string {
  const amount = `${formatMinor(magnitude(balanceMinor), currency)} ${currency.code}`
  const texts: Readonly<Record<KeptReason, string>> = {
    hold: 'An app holds money of the wallet. Try again when the hold is captured, voided or expired.',
    balance: `The wallet still has ${amount}. Pay it out first: refund the card top-ups, or take the money out with a correction and send it to the user.`,
    debt: `The user owes ${amount}. Until the debt is repaid, or written off with a correction, the account stays.`,
    frozen: 'The wallet is frozen by an operator. Unfreeze it first, if its reason is settled.',
    topup: 'A card top-up is in progress. Try again when it has ended.',
    dispute: 'A card payment is disputed. Try again when the bank has decided.',
  }
  return texts[reason]
}
