/** The wallet after its session ended. */
import { endCauseOf, endings, type WayOn } from './endings.ts'
import { usePage } from './page-context.tsx'
import { Panel, Support } from './parts.tsx'
import type { StepName } from './sign-in-steps.ts'

type EndedProps = {
  /** As the service gave it. */
  reason: string | undefined
  /** Shown before the sentence, for example what happens to a payment. */
  note?: string | undefined
  /** Absent in a window of the top-up page, which has no sign-in. */
  onSignIn: ((step?: StepName) => void) | undefined
  onRetry: () => void
}

export function View({ reason, note, onSignIn, onRetry }: EndedProps) {
  const { say } = usePage<'ended'>()
  const { icon, title, text, ways } = endings[endCauseOf(reason)]
  return (
    <Panel icon={icon} title={say(title)} text={note ? `${note} ${say(text)}` : say(text)}>
      {ways.map((way, at) => (
        <Way key={way} way={way} isFirst={at === 0} onSignIn={onSignIn} onRetry={onRetry} />
      ))}
      {!onSignIn && <p role="status">{say('closeWindow')}</p>}
    </Panel>
  )
}

type WayProps = Pick<EndedProps, 'onSignIn' | 'onRetry'> & { way: WayOn; isFirst: boolean }

const buttons = {
  'sign-in': { label: 'signIn', step: undefined },
  forgot: { label: 'resetTitle', step: 'forgot' },
  'sign-up': { label: 'signUp', step: 'sign-up' },
} as const

function Way({ way, isFirst, onSignIn, onRetry }: WayProps) {
  const { say } = usePage()
  if (way === 'support') return <Support />
  if (way !== 'retry' && !onSignIn) return null
  const { label, onClick } =
    way === 'retry'
      ? { label: 'retry' as const, onClick: onRetry }
      : { label: buttons[way].label, onClick: () => onSignIn?.(buttons[way].step) }
  return (
    <button type="button" class={isFirst ? 'button' : 'button quiet'} onClick={onClick}>
      {say(label)}
    </button>
  )
}
