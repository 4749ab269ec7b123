import { proofNeededFor, type Failure } from './call.ts'
import { relativeWait } from './format.ts'
import { usePage } from './page-context.tsx'

/** The text of a failure that any call can have; undefined after the user declined to give the password. */
export function useFailureText() {
  const { lang, say } = usePage()
  return (failure: Failure): string | undefined => {
    if (proofNeededFor(failure)) return undefined
    if (failure.code === 'RATE_LIMITED') return say('tooMany', { when: relativeWait(failure.retryAfterSeconds, lang) })
    return say(failure.code === 'NO_NETWORK' ? 'notReached' : 'wentWrong')
  }
}
