/** Many users, linked to one app and funded, within seconds. They have no password, so nobody can sign in as one. */
import { serviceNamespace } from '../ledger/reference.ts'
import { findApp } from '../store/apps.ts'
import { referenceKeyOf } from '../store/outcomes.ts'
import { analyzeSeeded, insertSeed, type SeedUser } from '../store/seed.ts'
import { recordAudit, type Actor } from './audit.ts'
import type { Service } from './service.ts'
import { newId, newServiceUserId } from './tokens.ts'

export type SeedOrder = { readonly users: number; readonly clientId: string; readonly creditMinor: bigint }

export type SeedResult = { readonly serviceUserIds: string[] } | { readonly refusal: 'in-production' | 'unknown-app' }

/** Large enough that the round trips do not count, small enough that a slice stays far below the statement's time limit. */
const usersPerSlice = 5_000

export async function seedUsers(service: Service, actor: Actor, order: SeedOrder): Promise<SeedResult> {
  // Play money among real money could never be told apart again.
  if (service.config.isProduction) return { refusal: 'in-production' }
  const db = service.db.longRunning
  if (!(await findApp(db.pool, order.clientId))) return { refusal: 'unknown-app' }
  const { clientId, creditMinor } = order
  const detail = { users: order.users, creditMinor: String(creditMinor) }
  // Before the first slice, each of which commits by itself: no seeded user is ever without an audit record.
  await recordAudit(db.pool, actor, 'users.seed-ordered', `app:${clientId}`, detail)
  const gift = { clientId, creditMinor, counterAccount: 'bonus', referenceType: 'BONUS', description: 'Seed' }
  if (creditMinor > 0n) service.referenceTypes.record(serviceNamespace, gift.referenceType)
  const serviceUserIds: string[] = []
  const work = async (writer: number) => {
    while (serviceUserIds.length < order.users) {
      const count = Math.min(usersPerSlice, order.users - serviceUserIds.length)
      const users = Array.from({ length: count }, (_, i) => newSeedUser(service.now(), serviceUserIds.length + i + 1))
      for (const user of users) serviceUserIds.push(user.serviceUserId)
      await insertSeed(db.pool, users, { ...gift, writer })
    }
  }
  // A row of a position belongs to one connection, or they would wait for each other.
  await Promise.all([work(0), work(-1), work(-2)])
  await analyzeSeeded(db.pool)
  await recordAudit(db.pool, actor, 'users.seeded', `app:${clientId}`, detail)
  return { serviceUserIds }
}

function newSeedUser(now: Date, number: number): SeedUser {
  const userId = newId(now)
  const referenceId = `seed-${userId}`
  return {
    userId,
    email: `seed-${userId}@billfold.example`,
    firstName: String(number),
    serviceUserId: newServiceUserId(),
    referenceId,
    referenceKey: referenceKeyOf({ namespace: serviceNamespace, type: 'BONUS', id: referenceId }),
  }
}
