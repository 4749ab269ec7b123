/** Asks before something happens that cannot be taken back. */
import { isSet, type Flag, type Invocation } from './command.ts'
import { readLine } from './password.ts'

export const yesFlag = (before: string): Flag => ({ about: `do not ask before ${before}` })

/** Only on a terminal, and not with --yes: a script has no person who can answer. */
export async function isConfirmed(invocation: Invocation): Promise<boolean> {
  const { io } = invocation
  if (!io.input.isTTY || isSet(invocation, 'yes')) return true
  io.errors.write('Continue? [y/N] ')
  const interrupted = new Promise<never>((_, reject) =>
    io.signal.addEventListener('abort', () => reject(new Error('Interrupted.'))),
  )
  const answer = await Promise.race([readLine(io.input), interrupted])
  return /^y(es)?$/i.test(answer.trim())
}
