/** The mails that the user gets. A change is saved at once and reverted if saving fails. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../call.ts'
import { useFailureText } from '../failure-text.ts'
import { usePage } from '../page-context.tsx'
import { useIsMounted } from '../parts.tsx'
import type { PartProps } from './account.tsx'
import { Loaded, type Load } from './part-form.tsx'

type Choice = { readonly choice: string; readonly isWanted: boolean }

const choiceWords = { receipts: 'mailReceipts', payments: 'mailPayments', 'sign-ins': 'mailSignIns' } as const

export function Mails({ token }: PartProps) {
  const { say } = usePage<'account'>()
  const [load, setLoad] = useState<Load<readonly Choice[]>>({ kind: 'loading' })
  const [problem, setProblem] = useState<string>()
  const failureText = useFailureText()
  const isMounted = useIsMounted()

  async function loadChoices(change?: Choice): Promise<void> {
    const reply = await call<{ mails: Choice[] }>('account/mails', token, change)
    if (!isMounted()) return
    setProblem(reply.failure && failureText(reply.failure))
    if (!reply.failure) setLoad({ kind: 'there', value: reply.body.mails })
    else if (!change) setLoad({ kind: 'failed' })
    // A new object with the same choices re-renders the checkbox with its saved value.
    else setLoad((before) => ({ ...before }))
  }
  useEffect(() => void loadChoices(), [])

  const last = useRef(Promise.resolve())
  /** Sends changes one after the other: each answer has all choices, and that of an earlier change would show an older value. */
  function change(choice: Choice): void {
    last.current = last.current.then(() => loadChoices(choice))
  }

  return (
    <>
      <p class="muted">{say('mailsText')}</p>
      <div role="alert">{problem && load.kind === 'there' && <p class="problem">{problem}</p>}</div>
      <Loaded load={load} onRetry={() => void loadChoices()}>
        {(choices) => (
          <fieldset class="radios">
            <legend class="visually-hidden">{say('mails')}</legend>
            {choices.map(({ choice, isWanted }) => (
              <label key={choice} class="radio">
                <input
                  type="checkbox"
                  name={choice}
                  checked={isWanted}
                  onChange={() => change({ choice, isWanted: !isWanted })}
                />
                <span>{say(choiceWords[choice as keyof typeof choiceWords])}</span>
              </label>
            ))}
          </fieldset>
        )}
      </Loaded>
    </>
  )
}
