/**
 * Receipts, statements and the data file. They open in a separate window, because the sandboxed frame can neither print nor download.
 * The window does not get this device's cookie, so the frame orders a link that works once.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { proofNeededFor, send, type NeededProof } from './call.ts'
import { useFailureText } from './failure-text.ts'
import { monthName } from './format.ts'
import { Icon } from './icons.tsx'
import { usePage } from './page-context.tsx'
import { useIsMounted } from './parts.tsx'
import { useProofs } from './use-proof.ts'

type PaperFormProps = {
  fields: Readonly<Record<string, string | number>>
  /** The proof to ask for before the window opens, which would cover the prompt. */
  needs: NeededProof | undefined
  /** The text of the link that is shown if the browser blocks the window. */
  label: string
  children: ComponentChildren
}

export function PaperForm({ fields, needs, label, children }: PaperFormProps) {
  const { lang, say } = usePage()
  const proofs = useProofs()
  const failureText = useFailureText()
  const isMounted = useIsMounted()
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const [link, setLink] = useState<string>()

  /** Resolves to the proof that the server still asked for. */
  async function order(chosen: Readonly<Record<string, string>>): Promise<NeededProof | undefined> {
    // Within the click, which allows a window for a few seconds.
    const paper = window.open('', '_blank')
    if (paper) paper.opener = null
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
    const reply = await send<{ path: string }>('papers', proofs.token(), { ...fields, ...chosen, lang, timeZone })
    const { failure } = reply
    if (!failure) {
      if (paper) paper.location.replace(reply.body.path)
      else if (isMounted()) setLink(reply.body.path)
      return undefined
    }
    paper?.close()
    const missing = proofNeededFor(failure)
    if (isMounted() && !missing) setProblem(failureText(failure))
    return missing
  }

  async function open(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    if (isBusy) return
    const chosen = Object.fromEntries(new FormData(event.currentTarget as HTMLFormElement)) as Record<string, string>
    setProblem(undefined)
    setLink(undefined)
    setBusy(true)
    if (!needs || proofs.has(needs) || (await proofs.ask(needs))) {
      const missing = await order(chosen)
      if (missing && (await proofs.ask(missing))) await order(chosen)
    }
    if (isMounted()) setBusy(false)
  }

  return (
    <form class="papers" onSubmit={(event) => void open(event)} aria-busy={isBusy}>
      {children}
      <div role="alert">{problem && <p class="problem">{problem}</p>}</div>
      <div role="status">
        {link && (
          <p class="notice info">
            <Icon name="window" />
            <span>
              {say('noWindow')}{' '}
              <a href={link} target="_blank" rel="noopener" onClick={() => setTimeout(() => setLink(undefined))}>
                {label}
              </a>
            </span>
          </p>
        )}
      </div>
    </form>
  )
}

export function ReceiptForm({ sequence }: { sequence: number }) {
  const { say } = usePage<'activity'>()
  return (
    <PaperForm fields={{ kind: 'receipt', sequence }} needs={undefined} label={say('receipt')}>
      <button type="submit" class="button quiet">
        <Icon name="receipt" />
        {say('receipt')}
      </button>
    </PaperForm>
  )
}

export function StatementForm({ firstAt, now }: { firstAt: string; now: Date }) {
  const { lang, say } = usePage<'activity'>()
  return (
    <details class="card">
      <summary>{say('statements')}</summary>
      <p class="muted">{say('statementsText')}</p>
      <PaperForm fields={{ kind: 'statement' }} needs="person" label={say('openStatement')}>
        <label class="field">
          <span>{say('month')}</span>
          <select name="month">
            {monthsBetween(new Date(firstAt), now).map((month) => (
              <option key={month.value} value={month.value}>
                {monthName(month.at, lang)}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="button quiet">
          {say('openStatement')}
        </button>
      </PaperForm>
    </details>
  )
}

/** Newest first, in the reader's time zone. */
function monthsBetween(first: Date, last: Date): { at: Date; value: string }[] {
  const months = []
  const oldest = first.getFullYear() * 12 + first.getMonth()
  for (let month = last.getFullYear() * 12 + last.getMonth(); month >= oldest; month--) {
    const at = new Date(Math.floor(month / 12), month % 12, 1)
    months.push({ at, value: `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, '0')}` })
  }
  return months
}
