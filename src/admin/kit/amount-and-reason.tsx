/** The amount and reason fields of every form that moves money. */
import { parseTypedAmount } from '../../ledger/typed-amount.ts'
import { formatMinor, parseDecimal, type Currency } from '../../ledger/money.ts'
import { isDescription } from '../../ledger/reference.ts'
import { Field } from './parts.tsx'
import type { AdminRequest } from './route.ts'

/** Problem texts by field name. */
export type Problems = Readonly<Record<string, string>>

type Props = {
  request: AdminRequest
  problems: Problems
  currency: string
  /** The amount the form proposes. */
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
  if (reason.trim() === '') return 'enter a reason'
  return isDescription(reason) && !/\p{Cc}/u.test(reason) ? undefined : 'enter at most 500 characters on one line'
}

/** The pages are in English, so `1,000` is a thousand. */
export function readAmount(
  typed: string,
  currency: Currency,
  maxMinor: bigint,
): { amountMinor: bigint } | { problem: string } {
  const read = parseTypedAmount(typed, 'en', currency)
  if (read.kind === 'foreign') return { problem: `enter an amount in ${currency.code}` }
  if (read.kind === 'unclear') return { problem: `this has two meanings: enter ${read.text} for thousands` }
  const amountMinor = read.kind === 'amount' ? parseDecimal(read.text, currency) : undefined
  if (!amountMinor || amountMinor > maxMinor)
    return { problem: `enter an amount above zero, at most ${formatMinor(maxMinor, currency)}` }
  return { amountMinor }
}
