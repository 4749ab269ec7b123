/** What an operator fills in before money moves. */
import { isDescription } from '../../ledger/reference.ts'
import { Field } from './parts.tsx'
import type { AdminRequest } from './route.ts'

/** What is wrong, by field. */
export type Problems = Readonly<Record<string, string>>

type Props = {
  request: AdminRequest
  problems: Problems
  currency: string
  /** What the field of the amount holds before anybody writes into it. */
  value?: string | undefined
  amountHint?: string
  reasonName: string
  reasonHint: string
}

export function AmountAndReason({
  request,
  problems,
  currency,
  value = '',
  amountHint,
  reasonName,
  reasonHint,
}: Props) {
  const { form } = request
  return (
    <>
      <Field
        label={`Amount in ${currency}`}
        name="amount"
        value={form.text('amount') || value}
        hint={amountHint}
        problem={problems['amount']}
        attributes={{ required: true, inputmode: 'decimal', autocomplete: 'off' }}
      />
      <Field
        label="Reason"
        name={reasonName}
        value={form.text(reasonName)}
        hint={reasonHint}
        problem={problems[reasonName]}
        attributes={{ required: true, maxlength: 500 }}
      />
      <div>
        <button class="button small" type="submit">
          Continue
        </button>
      </div>
    </>
  )
}

export function reasonProblem(reason: string): string | undefined {
  if (reason.trim() === '') return 'write a reason'
  return isDescription(reason) && !/\p{Cc}/u.test(reason) ? undefined : 'write at most 500 characters on one line'
}
