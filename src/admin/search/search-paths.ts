/** The pages that the results of a search lead to. */
import type { Found, FoundUse } from '../../actions/search/find-anything.ts'
import { ownerOf } from '../../actions/money/inspect-reference.ts'
import { serviceNamespace } from '../../ledger/reference.ts'
import type { Settlement } from '../../store/books/settlements.ts'
import { holdPath } from '../kit/hold-table.tsx'
import { withQuery } from '../kit/parts.tsx'

export const pathOfUser = (id: string) => `/admin/wallets/${id}`
export const pathOfApp = (clientId: string) => `/admin/client-apps/${clientId}`
/** The list of requested deletions, with this one alone. */
export const pathOfDeletion = (id: string) => withQuery('/admin/deletions', { id })
export const operatorsPath = '/admin/operators'

export function pathOfUse({ namespace, referenceType, referenceId }: FoundUse): string {
  return withQuery('/admin/references', { app: ownerOf(namespace), type: referenceType, id: referenceId })
}

/** The list begins with the payout. */
export function pathOfPayout({ clientId, number }: Settlement): string {
  return withQuery(`${pathOfApp(clientId)}/settlements`, { below: number + 1 })
}

type Match = { readonly path: string; readonly isExact: boolean }

type Results = Omit<Found, 'emails' | 'anyDay' | 'amount' | 'owners' | 'hasMorePeople' | 'hasMoreUses'>

/** The path of the only match, when it is exact; undefined when several things match, or a kind did not answer. */
export function onlyPathOf(found: Results, q: string): string | undefined {
  if (Object.values(found.states).includes('late') || found.states.days === 'searched') return undefined
  const matches = listMatches(found, q.toLowerCase())
  const paths = new Set(matches.map(({ path }) => path))
  return paths.size === 1 && matches.every(({ isExact }) => isExact) ? matches[0]!.path : undefined
}

const exact = (path: string): Match => ({ path, isExact: true })

function listMatches(found: Results, q: string): Match[] {
  const { exactly, uses, topups, corrections } = found
  const match = (path: string, ...keys: (string | null)[]): Match => ({ path, isExact: keys.includes(q) })
  // A ledger entry of a top-up or a correction has its id as the reference, so both match; their pages link to the entry.
  const isOwned = topups.length + corrections.length > 0
  const ownUses = isOwned ? uses.filter((use) => use.namespace !== serviceNamespace) : uses
  const byName = exactly ? [] : found.people.map(({ id }) => match(pathOfUser(id)))
  return [
    ...(exactly ? [exact(pathOfUser(exactly.id))] : byName),
    ...ownUses.map((use) => exact(pathOfUse(use))),
    ...found.holds.map(({ hold }) => exact(holdPath(hold))),
    ...topups.map(({ id }) => exact(`/admin/topups/${id}`)),
    ...corrections.map(({ id }) => exact(`/admin/corrections/${id}`)),
    ...found.payouts.map((payout) => match(pathOfPayout(payout), payout.id, payout.reference.toLowerCase())),
    ...found.apps
      .filter(({ clientId }) => !exactly || clientId === q)
      .map(({ clientId }) => match(pathOfApp(clientId), clientId)),
    ...found.secrets.map(({ app, secret }) => match(pathOfApp(app.clientId), secret.id)),
    ...found.operators.map(({ id, email }) => match(operatorsPath, id, email)),
    ...found.invites.map(({ id, email }) => match(operatorsPath, id, email)),
    ...(found.hasChange ? [exact(operatorsPath)] : []),
    ...found.notes.map(({ userId }) => exact(pathOfUser(userId))),
    ...found.deletions.map(({ id }) => exact(pathOfDeletion(id))),
  ]
}
