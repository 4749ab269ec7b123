/**
 * What a call of the widget proves about its user. A session proves only that an app asked for it: the app's backend creates
 * sessions alone. A device proves the person, and a password given on it within ten minutes proves that the person is present.
 */
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import type { ActivityEntry } from '../money/read-activity.ts'

/** From the least to the most. */
export const userProofs = ['session', 'person', 'presence'] as const

export type UserProof = (typeof userProofs)[number]

export function proofOf({ deviceId, presenceUntil }: Session): UserProof {
  if (deviceId === null) return 'session'
  return presenceUntil === null ? 'person' : 'presence'
}

export function hasProof(session: Session, needed: UserProof): boolean {
  return userProofs.indexOf(proofOf(session)) >= userProofs.indexOf(needed)
}

/** A session alone sees what its app sees: entries of the app and on the service's accounts, and no correction of another app. */
export function maySee(session: Session, { transfer }: ActivityEntry): boolean {
  const { counterAccount } = transfer
  if (hasProof(session, 'person') || !counterAccount.startsWith('app:')) return true
  return counterAccount === counterAccountOfApp(session.clientId)
}

/** A session alone sees only the holds of its app. */
export function maySeeHold(session: Session, { clientId }: { readonly clientId: string }): boolean {
  return hasProof(session, 'person') || clientId === session.clientId
}
