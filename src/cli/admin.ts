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
    summary: 'an operator who may sign in to /admin',
    flags: {
      email: { value: 'EMAIL', about: 'what they sign in with', isRequired: true },
      name: { value: 'NAME', about: 'as the audit log shows it; the email when left out' },
      role: { value: 'ROLE', about: `${roles.join(', ')}; admin when left out` },
    },
    details: `The password comes from BILLFOLD_PASSWORD, from stdin, or is asked for on a terminal: at least 12 characters. The second
factor is set up when they sign in for the first time.

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
        if (!operatorId) throw new CommandRefused(`There is an operator with the email ${email} already.`)
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
    summary: 'a one-time link for an operator who lost the password or the phone',
    positionals: ['email'],
    details: `Whoever opens the link first chooses a new password and sets up a new second factor; open sessions end then. The link
ends in 24 hours.`,
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
    summary: 'all operators: their role, and whether they have access',
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
        return { json: { operators }, text: lines.join('\n') || 'There are no operators yet: admin create.' }
      }),
  },
  {
    name: 'admin remove',
    summary: 'take away an operator’s access, now',
    positionals: ['email'],
    details: `Their sessions end, and so do the links they made for others and those made for them. The operator stays in the list, so that
the audit log keeps its names; the last admin cannot be removed.`,
    examples: ['admin remove eve@example.com'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { id, email, role } = await findNamed(service, invocation)
        const result = await changeAccess(service, actorOf(invocation), id, { role, isActive: false })
        if (result === 'last-admin') throw new CommandRefused(`${email} is the last admin: create another one first.`)
        return { json: { operatorId: id, email, hasAccess: false }, text: `${email} has no access any more.` }
      }),
  },
  {
    name: 'admin invites',
    summary: 'open one-time links: who made them, for whom, until when',
    details: 'The links themselves are stored nowhere: only a hash is, by which one is known when it is opened.',
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
            `for ${invite.for ?? 'whoever opens it first'}`,
          ].join('  '),
        )
        return { json: { invites }, text: lines.join('\n') || 'There are no open links.' }
      }),
  },
  {
    name: 'admin revoke',
    summary: 'end one open link now; "admin invites" lists their ids',
    positionals: ['inviteId'],
    examples: ['admin revoke 01900000-0000-7000-8000-000000000000'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const inviteId = invocation.positionals[0]!.toLowerCase()
        if (!isUuid(inviteId) || !(await revokeInvite(service, actorOf(invocation), inviteId)))
          throw new CommandRefused(`There is no open link ${inviteId}: see "admin invites".`)
        return { json: { inviteId, isRevoked: true }, text: `The link ${inviteId} opens nothing any more.` }
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
