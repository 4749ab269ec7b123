/** Operators of the admin area on the command line. */
import { isEmail, normaliseEmail } from '../actions/people/create-user.ts'
import { requestChange, revokeInvite } from '../actions/operators/change-operators.ts'
import { createOperator, operatorProblems } from '../actions/operators/manage-operators.ts'
import { roleTexts } from '../actions/operators/rights.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import type { Change } from '../store/operator-access/operator-changes.ts'
import { listInvites } from '../store/operator-access/operator-invites.ts'
import { findOperatorByEmail, listOperators, roles, type Operator, type Role } from '../store/operators.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Invocation, type Command } from './command.ts'
import { withService } from './data.ts'
import { readPassword } from './password.ts'
import { formatFields, formatTime } from './table.ts'

export const adminCommands: readonly Command[] = [
  {
    name: 'admin create',
    database: 'writes',
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
    name: 'admin invite',
    database: 'writes',
    summary: 'print a one-time link that creates an operator',
    flags: {
      email: { value: 'EMAIL', about: 'the email of the new operator', isRequired: true },
      role: { value: 'ROLE', about: `${roles.join(', ')} (default: admin)` },
    },
    details: `In the admin area the link goes to the operator's mailbox instead, and is shown to no other person. This command is for
a service without mail, and for an emergency: the audit log says that the link was printed. The link expires after 24 hours.`,
    examples: ['admin invite --email eve@example.com --role support'],
    run: async (invocation) => {
      const email = normaliseEmail(textOf(invocation, 'email')!)
      const role = readRole(invocation)
      if (!isEmail(email)) throw new UsageMistake('--email: write an email address.')
      return await withService(invocation, async (service) => {
        const link = await changeNow(service, invocation, email, { kind: 'invite', email, role })
        return { json: { email, role, link }, text: link }
      })
    },
  },
  {
    name: 'admin reset',
    database: 'writes',
    summary: 'print a one-time link for an operator who lost the password or the phone',
    positionals: ['email'],
    details: `The first person to open the link chooses a new password and sets up a new second factor; open sessions then end. The link
expires after 24 hours. A mail tells the operator about it, and the audit log says that the link was printed.`,
    examples: ['admin reset ada@example.com'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { id, email } = await findNamed(service, invocation)
        const link = await changeNow(service, invocation, email, { kind: 'reset', operatorId: id })
        return { json: { email, link }, text: link }
      }),
  },
  {
    name: 'admin role',
    database: 'writes',
    summary: 'give an operator another role',
    positionals: ['email', 'role'],
    details: `The command line needs no second admin. The roles are ${roles.join(', ')}. The last admin keeps the role.`,
    examples: ['admin role eve@example.com finance'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { id, email } = await findNamed(service, invocation)
        const role = roleOf(invocation.positionals[1]!, 'role')
        await changeNow(service, invocation, email, { kind: 'role', operatorId: id, role })
        return { json: { operatorId: id, email, role }, text: `${email} has the role ${role}.` }
      }),
  },
  {
    name: 'admin list',
    database: 'reads',
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
          isSuspended: !operator.isActive && operator.suspendedAt !== null,
          hasSecondFactor: operator.totpSealed !== null,
          signedInAt: operator.signedInAt,
        }))
        const lines = operators.map(({ email, name, role, hasAccess, isSuspended, signedInAt }) =>
          [
            role.padEnd(7),
            hasAccess ? 'access   ' : isSuspended ? 'suspended' : 'no access',
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
    database: 'writes',
    summary: 'remove an operator’s access at once',
    positionals: ['email'],
    details: `Ends the operator's sessions, and the links made by or for the operator. The operator stays in the list, because the audit
log refers to it. The last admin cannot be removed.`,
    examples: ['admin remove eve@example.com'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { id, email } = await findNamed(service, invocation)
        await changeNow(service, invocation, email, { kind: 'remove', operatorId: id })
        return { json: { operatorId: id, email, hasAccess: false }, text: `${email} no longer has access.` }
      }),
  },
  {
    name: 'admin restore',
    database: 'writes',
    summary: 'give a removed or suspended operator access again',
    positionals: ['email'],
    details: 'In the admin area two admins do this. Use the command line when no second admin is left.',
    examples: ['admin restore eve@example.com'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { id, email } = await findNamed(service, invocation)
        await changeNow(service, invocation, email, { kind: 'restore', operatorId: id })
        return { json: { operatorId: id, email, hasAccess: true }, text: `${email} has access again.` }
      }),
  },
  {
    name: 'admin invites',
    database: 'reads',
    summary: 'list open one-time links: who made them, for whom, until when',
    details: 'Only a hash of each link is stored, so the links themselves cannot be shown.',
    examples: ['admin invites', 'admin invites --json'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const invites = (await listInvites(service.db.pool)).map((invite) => ({
          inviteId: invite.id,
          kind: invite.operatorId ? 'reset' : 'invite',
          role: invite.role,
          for: invite.operatorEmail ?? invite.email,
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
    database: 'writes',
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

/** The command line needs no second admin. Returns the link, for a change that makes one. */
async function changeNow(service: Service, invocation: Invocation, email: string, change: Change): Promise<string> {
  const result = await requestChange(service, actorOf(invocation), change, 'command line')
  if (result.kind === 'done') return `${service.config.publicUrl}${result.path ?? ''}`
  const problem = result.kind === 'problem' ? result.problem : 'unknown'
  throw new CommandRefused(refusals[problem]?.(email) ?? `${email}: refused (${problem}).`)
}

const refusals: Readonly<Record<string, (email: string) => string>> = {
  'email-taken': (email) => `An operator with the email ${email} already exists.`,
  'last-admin': (email) => `${email} is the last admin: create another one first.`,
  'no-access': (email) => `${email} has no access: see "admin restore".`,
  'has-access': (email) => `${email} has access already.`,
  'has-role': (email) => `${email} has this role already.`,
}

function readRole(invocation: Invocation): Role {
  return roleOf(textOf(invocation, 'role') ?? 'admin', '--role')
}

function roleOf(text: string, where: string): Role {
  const role = roles.find((known) => known === text)
  if (!role) throw new UsageMistake(`${where}: write one of ${roles.join(', ')}.`)
  return role
}
