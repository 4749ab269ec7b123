/** The secrets of a client app: a new one, and the end of an old one. */
import { overlaps, revokeSecret, rotateSecret, type Overlap } from '../actions/apps/manage-apps.ts'
import { isUuid } from '../actions/tokens.ts'
import { unknownApp } from './apps.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Command } from './command.ts'
import { withService } from './data.ts'
import { formatFields, formatTime } from './table.ts'

const choices = Object.keys(overlaps).join(', ')

export const appSecretCommands: readonly Command[] = [
  {
    name: 'app rotate',
    database: 'writes',
    summary: 'make a new secret, shown only now; the old ones stay valid for the overlap',
    positionals: ['clientId'],
    flags: { overlap: { value: 'TIME', about: `how long the old secrets stay valid: ${choices} (default: 24h)` } },
    details: `Give the new secret to every backend within the overlap. If the old one has leaked, end it now with --overlap none.`,
    examples: ['app rotate app_0123456789abcdef0123', 'app rotate app_0123456789abcdef0123 --overlap none --json'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const clientId = invocation.positionals[0]!
        const overlap = textOf(invocation, 'overlap') ?? '24h'
        if (!isOverlap(overlap)) throw new UsageMistake(`--overlap: write one of ${choices}.`)
        const rotated = await rotateSecret(service, actorOf(invocation), clientId, overlap)
        if (!rotated) throw unknownApp(invocation)
        const { clientSecret, previousEndsAt } = rotated
        const text = formatFields([
          ['clientId', clientId],
          ['clientSecret', clientSecret],
          ['old secrets end', formatTime(previousEndsAt)],
        ])
        const note = 'Store the secret now: it is not shown again.'
        return { json: { clientId, clientSecret, previousEndsAt }, text: `${text}\n${note}` }
      }),
  },
  {
    name: 'app revoke-secret',
    database: 'writes',
    summary: 'revoke a secret at once; "app show" lists the ids',
    positionals: ['clientId', 'secretId'],
    examples: ['app revoke-secret app_0123456789abcdef0123 01900000-0000-7000-8000-000000000000'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const [clientId, secretId] = [invocation.positionals[0]!, invocation.positionals[1]!.toLowerCase()]
        if (!isUuid(secretId) || !(await revokeSecret(service, actorOf(invocation), clientId, secretId)))
          throw new CommandRefused(`The app ${clientId} has no secret ${secretId}: see "app show ${clientId}".`)
        return { json: { clientId, secretId, isRevoked: true }, text: `The secret ${secretId} is revoked.` }
      }),
  },
]

function isOverlap(text: string): text is Overlap {
  return Object.hasOwn(overlaps, text)
}
