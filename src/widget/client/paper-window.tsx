/** Receipts and statements. They open in a separate window, because the sandboxed frame can neither print nor download. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { monthName } from './format.ts'
import { Icon } from './icons.tsx'
import { usePage } from './page-context.tsx'

type PaperFormProps = {
  token: () => string | null
  fields: Readonly<Record<string, string>>
  children: ComponentChildren
}

/**
 * A form, because popup blockers do not stop forms, and because a POST keeps the session out of addresses and logs. The session
 * is added on submit: by then it may have been renewed, and it is never in the DOM.
 */
export function PaperForm({ token, fields, children }: PaperFormProps) {
  const { lang } = usePage()
  const form = useRef<HTMLFormElement>(null)
  // In a layout effect, so that the form cannot be submitted before its session is added.
  useLayoutEffect(() => {
    const put = ({ formData }: FormDataEvent) => formData.set('session', token() ?? '')
    form.current!.addEventListener('formdata', put)
    return () => form.current?.removeEventListener('formdata', put)
  }, [])
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return (
    <form ref={form} class="papers" method="post" action="/widget/papers" target="_blank" rel="noopener">
      {Object.entries({ ...fields, lang, timeZone }).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {children}
    </form>
  )
}

export function ReceiptForm({ token, sequence }: { token: () => string | null; sequence: number }) {
  const { say } = usePage<'activity'>()
  return (
    <PaperForm token={token} fields={{ kind: 'receipt', sequence: String(sequence) }}>
      <button type="submit" class="button quiet">
        <Icon name="receipt" />
        {say('receipt')}
      </button>
    </PaperForm>
  )
}

type StatementFormProps = { token: () => string | null; firstAt: string; now: Date }

export function StatementForm({ token, firstAt, now }: StatementFormProps) {
  const { lang, say } = usePage<'activity'>()
  return (
    <details class="card">
      <summary>{say('statements')}</summary>
      <p class="muted">{say('statementsText')}</p>
      <PaperForm token={token} fields={{ kind: 'statement' }}>
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
