/** Commands for users. */
import { createUser, isEmail, isName, maxNameLength, normaliseEmail } from '../actions/people/create-user.ts'
import { findApp } from '../store/apps.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Invocation, type Command } from './command.ts'
import { withService } from './data.ts'
import { readPassword } from './password.ts'
import { formatFields } from './table.ts'

export const userCommands: readonly Command[] = [
  {
    name: 'user create',
    database: 'writes',
    summary: 'create a user with a wallet; with --link also a serviceUserId for an app',
    flags: {
      email: { value: 'EMAIL', about: 'the email to sign in with', isRequired: true },
      first: { value: 'NAME', about: 'first name', isRequired: true },
      last: { value: 'NAME', about: 'last name', isRequired: true },
      link: { value: 'CLIENTID', about: 'link the user to this app, as a sign-in through its widget does' },
    },
    details: `The password comes from BILLFOLD_PASSWORD, from stdin or from a prompt: 8 to 256 characters. It is never an argument, because
arguments are visible in the process list and in the shell's history.`,
    examples: [
      'user create --email ann@example.com --first Ann --last Lee --link app_0123456789abcdef0123',
      'user create --email ann@example.com --first Ann --last Lee --json < password.txt',
    ],
    run: async (invocation) => {
      const person = readPerson(invocation)
      const actor = actorOf(invocation)
      const password = await readPassword(invocation.io)
      return await withService(invocation, async (service) => {
        const clientId = textOf(invocation, 'link')
        if (clientId !== undefined && !(await findApp(service.db.pool, clientId)))
          throw new CommandRefused(`There is no app ${clientId}. "app list" shows all.`)
        const created = await createUser(service, actor, { ...person, password, clientId })
        if (!created) throw new CommandRefused(`A user with the email ${person.email} already exists.`)
        const { userId, serviceUserId } = created
        const text = formatFields([
          ['userId', userId],
          ...(serviceUserId ? [['serviceUserId', serviceUserId] as const] : []),
        ])
        return { json: { userId, serviceUserId: serviceUserId ?? null, ...person }, text }
      })
    },
  },
]

function readPerson(invocation: Invocation): { email: string; firstName: string; lastName: string } {
  const email = normaliseEmail(textOf(invocation, 'email')!)
  const names = { firstName: textOf(invocation, 'first')!.trim(), lastName: textOf(invocation, 'last')!.trim() }
  if (!isEmail(email)) throw new UsageMistake(`--email: "${email}" is not an email address.`)
  for (const name of Object.values(names))
    if (!isName(name)) throw new UsageMistake(`--first and --last: write names of 1 to ${maxNameLength} characters.`)
  return { email, ...names }
}
