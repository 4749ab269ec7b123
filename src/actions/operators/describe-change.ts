/** A change of an operator as text, for pages and mails. */
import type { Change } from '../../store/operator-access/operator-changes.ts'
import type { Operator } from '../../store/operators.ts'
import { roleNames } from './rights.ts'

export function describeChange(change: Change, operators: readonly Operator[]): string {
  if (change.kind === 'invite') return `invite ${change.email} as ${roleNames[change.role]}`
  const found = operators.find(({ id }) => id === change.operatorId)
  // Isolated, so that direction marks in a name do not turn the rest of the sentence around.
  const name = found ? `\u2068${found.name}\u2069 (${found.email})` : change.operatorId
  switch (change.kind) {
    case 'reset':
      return `mail ${name} a link for a new password and second factor`
    case 'role':
      return `make ${name} ${roleNames[change.role]}`
    case 'remove':
      return `remove the access of ${name}`
    case 'restore':
      break
  }
  return `give ${name} access again`
}

/** The name of an actor in a mail. */
export function nameActor(actor: string, operators: readonly Operator[]): string {
  const found = operators.find(({ id }) => `operator:${id}` === actor)
  if (found) return found.name
  if (actor === 'oidc') return 'the identity provider'
  return actor.startsWith('cli') ? 'a person on the command line of the server' : actor
}
