/** The keys that encrypt what the service must read again. */
import { rotateKeys } from '../actions/secrets/reseal.ts'
import { actorOf, isSet, type Command } from './command.ts'
import { withService } from './data.ts'

export const keysCommands: readonly Command[] = [
  {
    name: 'keys rotate',
    summary: 'encrypt every secret in the database with the first key of SECRETS_KEY',
    flags: { 'drop-lost': { about: 'remove secrets whose key is lost; their operators set up a second factor again' } },
    details: `Write a new key in front of the old one, SECRETS_KEY=new,old, and start every process with it; then run this, and leave
the old key out. With several hosts let all of them know the new key first: SECRETS_KEY=old,new.`,
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
        const lost = dropped === 0 ? '' : ` Removed, for their key is lost: ${countOf(dropped)}.`
        return { json: rotated, text: `${done}.${lost}` }
      }),
  },
]

function countOf(secrets: number): string {
  return secrets === 1 ? '1 secret' : `${secrets} secrets`
}
