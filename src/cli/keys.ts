/** Rotates the keys that encrypt secrets. */
import { rotateKeys } from '../actions/secrets/reseal.ts'
import { actorOf, isSet, type Command } from './command.ts'
import { withService } from './data.ts'

export const keysCommands: readonly Command[] = [
  {
    name: 'keys rotate',
    database: 'writes',
    summary: 'encrypt every secret in the database with the first key of SECRETS_KEY',
    flags: {
      'drop-lost': {
        about:
          'remove secrets whose key is lost; their operators set up a new second factor, their endpoints get a new secret',
      },
    },
    details: `Put a new key before the old one, SECRETS_KEY=new,old, and restart every process with it. Then run this command, and remove
the old key. With several hosts, first give the new key to all of them: SECRETS_KEY=old,new.`,
    examples: ['keys rotate', 'keys rotate --json'],
    run: async (invocation) =>
      await withService(invocation, async ({ db, secrets }) => {
        const rotated = await rotateKeys(db, secrets, actorOf(invocation), {
          dropsLost: isSet(invocation, 'drop-lost'),
        })
        const { keyId, dropped } = rotated
        const done =
          rotated.secrets === 0
            ? 'Nothing to do: no secret is encrypted with another key'
            : `Encrypted again with the key ${keyId}: ${countOf(rotated.secrets)}`
        const lost = dropped === 0 ? '' : ` Removed, because their key is lost: ${countOf(dropped)}.`
        return { json: rotated, text: `${done}.${lost}` }
      }),
  },
]

function countOf(secrets: number): string {
  return secrets === 1 ? '1 secret' : `${secrets} secrets`
}
