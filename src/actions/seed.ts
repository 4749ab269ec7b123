/** Creates many users, linked to one app and funded, within seconds. They have no password, so no sign-in is possible. */
import { serviceNamespace } from '../ledger/reference.ts'
import { findApp } from '../store/apps.ts'
import { referenceKeyOf } from '../store/outcomes.ts'
import { analyzeSeeded, insertSeed, type SeedUser } from '../store/seed.ts'
import { recordAudit, type Actor } from './audit.ts'
import type { Service } from './service.ts'
import { newId, newServiceUserId } from './tokens.ts'

export type SeedOrder = { readonly users: number; readonly clientId: string; readonly creditMinor: bigint }

export type SeedResult = { readonly serviceUserIds: string[] } | { readonly refusal: 'in-production' | 'unknown-app' }

/** Large enough to make round trips negligible, small enough to stay far below the statement's time limit. */
const usersPerSlice = 5_000

export async function seedUsers(service: Service, actor: Actor, order: SeedOrder): Promise<SeedResult> {
  // Seeded money could not be distinguished from real money afterwards.
  if (service.config.isProduction) return { refusal: 'in-production' }
  const db = service.db.longRunning
  if (!(await findApp(db.pool, order.clientId))) return { refusal: 'unknown-app' }
  const { clientId, creditMinor } = order
  const detail = { users: order.users, creditMinor: String(creditMinor) }
  // Record before the first slice: each slice commits separately, and no seeded user may lack an audit record.
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
  // One position row per connection, so that the connections do not wait for each other.
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
