/**
 * The rights of the admin area, in one table. Every admin route names its right, pages check it before they show a form, and
 * the operators' page shows the table.
 */
import { roles, type Role } from '../../store/operators.ts'

const allRoles = roles
const support = ['support', 'admin'] as const
const finance = ['finance', 'admin'] as const
const admin = ['admin'] as const

const table = {
  view: { about: 'See every page and every file, and manage their own account', roles: allRoles },
  freeze: { about: 'Freeze and unfreeze wallets', roles: support },
  notes: { about: 'Write notes about users', roles: support },
  mails: { about: 'Send a mail to a user again', roles: support },
  people: { about: 'Download a user’s data, request a deletion, and approve another operator’s', roles: support },
  work: { about: 'Run failed background work again', roles: support },
  bonus: { about: 'Grant a bonus', roles: finance },
  refund: { about: 'Refund a card top-up', roles: finance },
  holds: { about: 'Void a hold of an app', roles: finance },
  correct: { about: 'Request a correction, and approve another operator’s', roles: finance },
  settle: { about: 'Mark a period as paid out to an app, resolve a difference', roles: finance },
  apps: { about: 'Register apps, change them, activate and deactivate them', roles: admin },
  secrets: { about: 'Create and revoke secrets of apps', roles: admin },
  operators: { about: 'Invite operators, and change what they may do', roles: admin },
} as const satisfies Record<string, { about: string; roles: readonly Role[] }>

export type Right = keyof typeof table

export const rights = Object.entries(table).map(([right, { about, roles: holders }]) => ({
  right: right as Right,
  about,
  roles: holders as readonly Role[],
}))

export function hasRight(role: Role, right: Right): boolean {
  return (table[right].roles as readonly Role[]).includes(role)
}

/** The message for an operator without the right. */
export function lacking(role: Role, right: Right): string {
  const { about, roles: holders } = table[right]
  return `Your role is ${role}. “${about}” is for ${holders.join(' and ')}.`
}

/** What each role is for, as invitations say it. */
export const roleTexts: Readonly<Record<Role, string>> = {
  viewer: 'sees everything, changes nothing',
  support:
    'helps users: freezes wallets, writes notes, sends mails again, exports and deletes accounts; moves no money',
  finance: 'moves money: corrections, refunds, bonuses, settlements',
  admin: 'may do everything, apps, secrets and operators included',
}

export const roleNames: Readonly<Record<Role, string>> = {
  viewer: 'a viewer',
  support: 'support',
  finance: 'finance',
  admin: 'an admin',
}
