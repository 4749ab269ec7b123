/** Operators of the admin area on the command line. */
import { normaliseEmail } from '../actions/people/create-user.ts'
import {
  changeAccess,
  createOperator,
  operatorProblems,
  resetOperator,
  revokeInvite,
} from '../actions/operators/manage-operators.ts'
import { roleTexts } from '../actions/operators/rights.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import { listInvites } from '../store/operator-invites.ts'
import { findOperatorByEmail, listOperators, roles, type Operator, type Role } from '../store/operators.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Invocation, type Command } from './command.ts'
import { withService } from './data.ts'
import { readPassword } from './password.ts'
import { formatFields, formatTime } from './table.ts'

export const adminCommands: readonly Command[] = [
  {
    name: 'admin create',
    summary: 'create an operator who may sign in to /admin',
    flags: {
      email: { value: 'EMAIL', about: 'the email to sign in with', isRequired: true },
      name: { value: 'NAME', about: 'the name in the audit log (default: the email)' },
      role: { value: 'ROLE', about: `${roles.join(', ')} (default: admin)` },
    },
    details: `The password comes from BILLFOLD_PASSWORD, from stdin or from a prompt: at least 12 characters. The operator sets up the second
factor at the first sign-in.

${roles.map((role) => `${role.padEnd(9)}${roleTexts[role]}`).join('\n')}`,
    examples: [
      'admin create --email ada@example.com --name "Ada Lovelace"',
      'admin create --email eve@example.com --role support',
    ],
    run: async (invocation) => {
      const email = normaliseEmail(textOf(invocation, 'email')!)
      const name = textOf(invocation, 'name') ?? email
      const role = readRole(invocation)
      const password = await readPassword(invocation.io)
      const problems = Object.entries(operatorProblems({ email, name, password }))
      if (problems.length > 0) throw new UsageMistake(problems.map(([field, text]) => `${field}: ${text}.`).join(' '))
      return await withService(invocation, async (service) => {
        const operatorId = await createOperator(service, actorOf(invocation), { email, name, role, password })
        if (!operatorId) throw new CommandRefused(`An operator with the email ${email} already exists.`)
        const url = `${service.config.publicUrl}/admin`
        const text = formatFields([
          ['operatorId', operatorId],
          ['email', email],
          ['role', role],
          ['sign in at', url],
        ])
        return { json: { operatorId, email, name, role, url }, text }
      })
    },
  },
  {
    name: 'admin reset',
    summary: 'print a one-time link for an operator who lost the password or the phone',
    positionals: ['email'],
    details: `The first person to open the link chooses a new password and sets up a new second factor; open sessions then end. The link
expires after 24 hours.`,
    examples: ['admin reset ada@example.com'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { id, email } = await findNamed(service, invocation)
        const path = await resetOperator(service, actorOf(invocation), id)
        const link = `${service.config.publicUrl}${path}`
        return { json: { email, link }, text: link }
      }),
  },
  {
    name: 'admin list',
    summary: 'list all operators, their role and access',
    examples: ['admin list', 'admin list --json'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const operators = (await listOperators(service.db.pool)).map((operator) => ({
          operatorId: operator.id,
          email: operator.email,
          name: operator.name,
          role: operator.role,
          hasAccess: operator.isActive,
          hasSecondFactor: operator.totpSealed !== null,
          signedInAt: operator.signedInAt,
        }))
        const lines = operators.map(({ email, name, role, hasAccess, signedInAt }) =>
          [
            role.padEnd(7),
            hasAccess ? 'access   ' : 'no access',
            (formatTime(signedInAt) ?? 'never signed in').padEnd(20),
            email,
            name,
          ].join('  '),
        )
        return {
          json: { operators },
          text: lines.join('\n') || 'There are no operators yet. Create one with "admin create".',
        }
      }),
  },
  {
    name: 'admin remove',
    summary: 'remove an operator’s access at once',
    positionals: ['email'],
    details: `Ends the operator's sessions, and the links made by or for the operator. The operator stays in the list, because the audit
log refers to it. The last admin cannot be removed.`,
    examples: ['admin remove eve@example.com'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { id, email, role } = await findNamed(service, invocation)
        const result = await changeAccess(service, actorOf(invocation), id, { role, isActive: false })
        if (result === 'last-admin') throw new CommandRefused(`${email} is the last admin: create another one first.`)
        return { json: { operatorId: id, email, hasAccess: false }, text: `${email} no longer has access.` }
      }),
  },
  {
    name: 'admin invites',
    summary: 'list open one-time links: who made them, for whom, until when',
    details: 'Only a hash of each link is stored, so the links themselves cannot be shown.',
    examples: ['admin invites', 'admin invites --json'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const invites = (await listInvites(service.db.pool)).map((invite) => ({
          inviteId: invite.id,
          kind: invite.operatorId ? 'reset' : 'invite',
          role: invite.role,
          for: invite.operatorEmail ?? invite.forWhom,
          madeBy: invite.makerEmail ?? invite.createdBy,
          until: invite.expiresAt,
        }))
        const lines = invites.map((invite) =>
          [
            invite.inviteId,
            invite.kind.padEnd(6),
            invite.role.padEnd(7),
            `until ${formatTime(invite.until)}`,
            `by ${invite.madeBy}`,
            `for ${invite.for ?? 'the first to open it'}`,
          ].join('  '),
        )
        return { json: { invites }, text: lines.join('\n') || 'There are no open links.' }
      }),
  },
  {
    name: 'admin revoke',
    summary: 'revoke an open link at once; "admin invites" lists the ids',
    positionals: ['inviteId'],
    examples: ['admin revoke 01900000-0000-7000-8000-000000000000'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const inviteId = invocation.positionals[0]!.toLowerCase()
        if (!isUuid(inviteId) || !(await revokeInvite(service, actorOf(invocation), inviteId)))
          throw new CommandRefused(`There is no open link ${inviteId}: see "admin invites".`)
        return { json: { inviteId, isRevoked: true }, text: `The link ${inviteId} is revoked.` }
      }),
  },
]

async function findNamed(service: Service, { positionals }: Invocation): Promise<Operator> {
  const email = normaliseEmail(positionals[0]!)
  const operator = await findOperatorByEmail(service.db.pool, email)
  if (!operator) throw new CommandRefused(`There is no operator with the email ${email}.`)
  return operator
}

function readRole(invocation: Invocation): Role {
  const text = textOf(invocation, 'role') ?? 'admin'
  const role = roles.find((known) => known === text)
  if (!role) throw new UsageMistake(`--role: write one of ${roles.join(', ')}.`)
  return role
}
