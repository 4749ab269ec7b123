/** Creates many funded users, for load tests and demos. */
import { seedUsers } from '../actions/seed.ts'
import { formatMinor, maxOperationMinor, parseDecimal } from '../ledger/money.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, wholeNumber, type Command } from './command.ts'
import { withService } from './data.ts'

const maxUsers = 10_000_000

export const seedCommands: readonly Command[] = [
  {
    name: 'seed',
    database: 'writes',
    summary: 'create many funded users linked to an app, within seconds; not in production',
    flags: {
      users: { value: 'N', about: 'how many', isRequired: true },
      link: { value: 'CLIENTID', about: 'the app to link them to', isRequired: true },
      credit: { value: 'AMOUNT', about: 'a bonus for each, in major units (default: none)' },
    },
    details: `Their emails end in @billfold.example, and they have no password, so no sign-in is possible. --json lists the serviceUserIds.`,
    examples: ['seed --users 1000 --link app_0123456789abcdef0123 --credit 100 --json'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { currency } = service.config
        const users = wholeNumber(textOf(invocation, 'users')!)
        if (users === undefined || users < 1 || users > maxUsers)
          throw new UsageMistake(`--users: write a whole number from 1 to ${maxUsers}.`)
        const creditMinor = parseDecimal(textOf(invocation, 'credit') ?? '0', currency)
        if (creditMinor === undefined || creditMinor > maxOperationMinor(currency))
          throw new UsageMistake(`--credit: write an amount of ${currency.code}, such as 100.`)
        const clientId = textOf(invocation, 'link')!
        const result = await seedUsers(service, actorOf(invocation), { users, clientId, creditMinor })
        if ('refusal' in result)
          throw new CommandRefused(
            result.refusal === 'in-production'
              ? 'Not in production: seeded money could not be distinguished from real money.'
              : `There is no app ${clientId}. "app list" shows all.`,
          )
        const each = `${formatMinor(creditMinor, currency)} ${currency.code}`
        return {
          json: { serviceUserIds: result.serviceUserIds },
          text: `Created ${users} users with ${each} each, linked to ${clientId}. --json lists their serviceUserIds.`,
        }
      }),
  },
]
