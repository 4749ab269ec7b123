/** Operators of the admin area on the command line. */
import { normaliseEmail } from '../actions/people/create-user.ts'
import { createOperator, operatorProblems, resetOperator } from '../actions/operators/manage-operators.ts'
import { findOperatorByEmail, roles, type Role } from '../store/operators.ts'
import { CommandRefused, UsageMistake, cliActor, textOf, type Invocation, type Command } from './command.ts'
import { withService } from './data.ts'
import { readPassword } from './password.ts'
import { facts } from './table.ts'

export const adminCommands: readonly Command[] = [
  {
    name: 'admin create',
    summary: 'an operator who may sign in to /admin',
    flags: {
      email: { value: 'EMAIL', about: 'what they sign in with', isRequired: true },
      name: { value: 'NAME', about: 'as the audit log shows it; the email when left out' },
      role: { value: 'ROLE', about: 'admin changes everything, viewer sees everything; admin when left out' },
    },
    details: `The password comes from BILLFOLD_PASSWORD, from stdin, or is asked for on a terminal: at least 12 characters. The second
factor is set up when they sign in for the first time.`,
    examples: [
      'admin create --email ada@example.com --name "Ada Lovelace"',
      'admin create --email eve@example.com --role viewer',
    ],
    run: async (invocation) => {
      const email = normaliseEmail(textOf(invocation, 'email')!)
      const name = textOf(invocation, 'name') ?? email
      const role = readRole(invocation)
      const password = await readPassword(invocation.io)
      const problems = Object.entries(operatorProblems({ email, name, password }))
      if (problems.length > 0) throw new UsageMistake(problems.map(([field, text]) => `${field}: ${text}.`).join(' '))
      return await withService(invocation, async (service) => {
        const operatorId = await createOperator(service, cliActor, { email, name, role, password })
        if (!operatorId) throw new CommandRefused(`There is an operator with the email ${email} already.`)
        const url = `${service.config.publicUrl}/admin`
        const text = facts([
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
        const email = normaliseEmail(invocation.positionals[0]!)
        const operator = await findOperatorByEmail(service.db.pool, email)
        const path = operator && (await resetOperator(service, cliActor, operator.id))
        if (!path) throw new CommandRefused(`There is no operator with the email ${email}.`)
        const link = `${service.config.publicUrl}${path}`
        return { json: { email, link }, text: link }
      }),
  },
]

function readRole(invocation: Invocation): Role {
  const text = textOf(invocation, 'role') ?? 'admin'
  const role = roles.find((known) => known === text)
  if (!role) throw new UsageMistake(`--role: write ${roles.join(' or ')}.`)
  return role
}
