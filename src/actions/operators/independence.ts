/**
 * Whether two actors count as two people. An operator whose access another one gave lately may be the same person under a second
 * name, so neither of the two approves what the other asked for.
 */
import type { Queryable } from '../../store/connection/database.ts'
import { listRecentGrants, type Grant, type RecentGrant } from '../../store/operator-access/operator-grants.ts'

/** How long a grant connects the operator with its giver. */
export const grantDays = 7
/** How long an operator approves nothing after a reset of their access. */
const freshHours = 24

export type Dependence = {
  /** `fresh`: a reset of the approver was used lately. `given`: one gave access to the other, or a third operator gave it to both. */
  readonly kind: 'fresh' | 'given'
  /** The grants that connect the two. */
  readonly grants: readonly Grant[]
  readonly endsAt: Date
}

export function isSamePerson(one: string, other: string): boolean {
  return personOf(one) === personOf(other)
}

/** The command line can use any name, so all its actors are one person. */
export function personOf(actor: string): string {
  return actor.startsWith('cli:') ? 'cli' : actor
}

/** Undefined when the approver may decide on what the asker asked for. Two names of one person are checked elsewhere. */
export async function findDependence(
  db: Queryable,
  { approver, asker }: { approver: string; asker: string },
): Promise<Dependence | undefined> {
  return decideDependence({ approver, asker }, await grantsBehind(db, approver), await grantsBehind(db, asker))
}

async function grantsBehind(db: Queryable, actor: string): Promise<RecentGrant[]> {
  const id = operatorIdOf(actor)
  return id === undefined ? [] : await listRecentGrants(db, id, { days: grantDays, freshHours })
}

/** True when the operator lately became an admin through the other one, directly or through others. */
export async function isAdminThrough(db: Queryable, operatorId: string, giver: string): Promise<boolean> {
  const actor = `operator:${operatorId}`
  // A reset does not count: an admin who approves the reset of another one would turn them into such an admin.
  const grants = (await grantsBehind(db, actor)).filter(({ kind }) => kind === 'invited' || kind === 'role')
  return giversOf(actor, grants).has(personOf(giver))
}

export function operatorIdOf(actor: string): string | undefined {
  return /^operator:([0-9a-f]{8}-[0-9a-f-]{27})$/.exec(actor)?.[1]
}

/** The dependence that ends last. */
export function decideDependence(
  { approver, asker }: { approver: string; asker: string },
  approverGrants: readonly RecentGrant[],
  askerGrants: readonly RecentGrant[],
): Dependence | undefined {
  const found: Dependence[] = []
  const fresh = approverGrants.find(
    (grant) => grant.isFresh && grant.kind === 'renewed' && `operator:${grant.operatorId}` === approver,
  )
  if (fresh)
    found.push({ kind: 'fresh', grants: [fresh], endsAt: new Date(fresh.at.getTime() + freshHours * 3_600_000) })
  const askerGivers = giversOf(asker, askerGrants)
  for (const [person, way] of giversOf(approver, approverGrants)) {
    const other = askerGivers.get(person)
    // The command line creates every first operator, and can do everything anyway: it connects only those it asks and approves with.
    if (!other || (person === 'cli' && other.grants.length > 0) || way.grants.length + other.grants.length === 0)
      continue
    found.push({
      kind: 'given',
      grants: [...way.grants, ...other.grants],
      endsAt: new Date(Math.min(way.endsAtMs, other.endsAtMs)),
    })
  }
  return found.toSorted((a, b) => b.endsAt.getTime() - a.endsAt.getTime())[0]
}

type Way = { readonly grants: readonly Grant[]; readonly endsAtMs: number }

/**
 * The actor and all actors behind its access, each with the chain of grants that lasts longest. A chain lasts as long as its
 * shortest link.
 */
function giversOf(actor: string, grants: readonly RecentGrant[]): ReadonlyMap<string, Way> {
  const ways = new Map<string, Way>([[personOf(actor), { grants: [], endsAtMs: Infinity }]])
  const waiting = [personOf(actor)]
  for (let person = waiting.shift(); person !== undefined; person = waiting.shift()) {
    const way = ways.get(person)!
    for (const grant of grants.filter(({ operatorId }) => `operator:${operatorId}` === person)) {
      const endsAtMs = Math.min(way.endsAtMs, grant.endsAt.getTime())
      for (const giver of [grant.madeBy, grant.approvedBy ?? grant.madeBy].map(personOf)) {
        const isCounted = giver === 'cli' || operatorIdOf(giver) !== undefined
        // Only a chain that lasts longer replaces another one, so the walk ends.
        if (!isCounted || endsAtMs <= (ways.get(giver)?.endsAtMs ?? -Infinity)) continue
        ways.set(giver, { grants: [...way.grants, grant], endsAtMs })
        waiting.push(giver)
      }
    }
  }
  return ways
}
