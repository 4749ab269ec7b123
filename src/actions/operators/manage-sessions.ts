/** Sessions of operators: a random token in a cookie, its hash in the database, an idle and an absolute limit. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { transact, type Queryable } from '../../store/connection/database.ts'
import { bindForm, type Binding, type FormOrder } from '../../store/operator-access/operator-forms.ts'
import * as store from '../../store/operator-access/operator-sessions.ts'
import type { OperatorSession, Stage } from '../../store/operator-access/operator-sessions.ts'
import type { Operator } from '../../store/operators.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Service, WithDb } from '../service.ts'
import { hashSecret, newId } from '../tokens.ts'

export type SignedInOperator = { readonly session: OperatorSession; readonly operator: Operator }

/** Origin of a request, as shown in the operator's list of sessions. */
export type Device = { readonly address: string; readonly browser: string }

const idleMs = 30 * 60_000
const absoluteMs = 12 * 3_600_000
/** Time to find the phone with the authenticator. */
const unfinishedMs = 10 * 60_000
/** The last use of a session is written at most this often, so that a busy page does not write with every request. */
const recordEveryMs = 30_000

export function actorOf({ id, role }: Pick<Operator, 'id'> & Partial<Operator>, address: string): Actor {
  return { name: `operator:${id}`, address, ...(role && { role }) }
}

/** Always makes a new token, so a token planted in a browser never becomes a session (session fixation). */
export async function startSession(
  service: Pick<Service, 'now'>,
  db: Queryable,
  operatorId: string,
  stage: Stage,
  { address, browser }: Device,
  fullMs = absoluteMs,
): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  const lifetimeMs = stage === 'full' ? fullMs : unfinishedMs
  const session = { id: newId(service.now()), stage, lifetimeMs, address, browser }
  await store.insertOperatorSession(db, operatorId, hashSecret(token), session)
  return token
}

export async function findSignedInOperator(
  service: WithDb,
  token: string,
  { isByHand }: { isByHand: boolean },
): Promise<SignedInOperator | undefined> {
  if (!/^[\w-]{43}$/.test(token)) return undefined
  const found = await store.findLiveOperatorSession(service.db.pool, hashSecret(token), idleMs)
  if (!found) return undefined
  // An automatic refresh must not extend the session of an operator who has left.
  if (isByHand && found.unseenMs > recordEveryMs)
    await store.updateOperatorSessionSeen(service.db.pool, found.session.id)
  return found
}

export async function listOperatorSessions(service: WithDb, operatorId: string): Promise<OperatorSession[]> {
  return await store.listOperatorSessions(service.db.pool, operatorId, idleMs)
}

export async function signOutOperator(
  service: WithDb,
  { operator, session }: SignedInOperator,
  address: string,
): Promise<void> {
  await transact(service.db, async (tx) => {
    await store.deleteOperatorSessions(tx, operator.id, { only: session.id })
    await recordAudit(tx, actorOf(operator, address), 'operator.signed-out', `operator:${operator.id}`)
  })
}

/** Ends one, all but one, or all sessions of an operator. */
export async function endSessions(
  service: WithDb,
  actor: Actor,
  operatorId: string,
  which: { only?: string; except?: string } = {},
): Promise<number> {
  return await transact(service.db, async (tx) => {
    const ended = await store.deleteOperatorSessions(tx, operatorId, which)
    if (ended > 0)
      await recordAudit(tx, actor, 'operator.sessions-ended', `operator:${operatorId}`, { sessions: ended })
    return ended
  })
}

/** Derived from the session's token: it is valid in this session only, and is not stored. */
export function formTokenOf(token: string): string {
  return createHmac('sha256', token).update('form').digest('base64url')
}

export function isFormToken(token: string, presented: string): boolean {
  const [expected, given] = [hashSecret(formTokenOf(token)), hashSecret(presented)]
  return timingSafeEqual(expected, given)
}

/** A form whose answer shows a secret cannot redirect, and the secret is not stored: only the first one is done. */
export async function takeForm(service: WithDb, form: FormOrder): Promise<Binding['kind']> {
  return await transact(service.db, async (tx) => (await bindForm(tx, form)).kind)
}
