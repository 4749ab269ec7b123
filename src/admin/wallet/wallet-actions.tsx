/** The actions on a wallet. They are rare and have consequences, so each form opens on demand at the end of the page. */
import type { ComponentChildren } from 'preact'
import type { Allowance } from '../../actions/money/correct-wallet.ts'
import type { Right } from '../../actions/operators/rights.ts'
import type { WalletRow } from '../../store/wallets.ts'
import { AmountAndReason, type Problems } from '../kit/amount-and-reason.tsx'
import { Field, Form } from '../kit/parts.tsx'
import { may, type AdminRequest } from '../kit/route.ts'
import { AllowanceText } from './confirm.tsx'

type ActionProps = { request: AdminRequest; wallet: WalletRow; problems: Problems; allowance: Allowance }

type WalletAction = {
  readonly right: Right
  readonly title: (wallet: WalletRow) => string
  /** The form opens when one of these fields has a problem. */
  readonly fields: readonly string[]
  readonly Body: (props: ActionProps) => ComponentChildren
}

const actions: readonly WalletAction[] = [
  { right: 'bonus', title: () => 'Grant a bonus', fields: ['amount', 'bonusReason'], Body: Bonus },
  {
    right: 'freeze',
    title: (wallet) => (wallet.frozenFor === 'operator' ? 'Unfreeze the wallet' : 'Freeze the wallet'),
    fields: ['reason'],
    Body: Freeze,
  },
  { right: 'correct', title: () => 'Correct the balance', fields: ['correction'], Body: Correct },
]

export function WalletActions(props: ActionProps) {
  const { request, wallet, problems } = props
  const offered = actions.filter(({ right }) => may(request, right))
  if (wallet.frozenFor === 'closed')
    return (
      <section class="card stack">
        <h2>The account was deleted</h2>
        <p class="muted">
          The wallet is closed for good and takes no money. A later charge-back puts it below zero, which is the
          service’s loss.
        </p>
        {may(request, 'correct') && wallet.balanceMinor < 0n && <Correct {...props} />}
      </section>
    )
  if (offered.length === 0) return null
  return (
    <section class="card stack" id="actions">
      <h2>Actions</h2>
      {offered.map(({ title, fields, Body }) => (
        <details key={fields[0]} class="action" open={fields.some((field) => problems[field] !== undefined)}>
          <summary>{title(wallet)}</summary>
          <Body {...props} />
        </details>
      ))}
    </section>
  )
}

function Correct({ wallet }: ActionProps) {
  return (
    <p>
      A debit or credit with a reason, on an account you choose. Above a limit, a second operator must approve it.{' '}
      <a href={`/admin/wallets/${wallet.id}/correct`}>Request a correction</a> or see{' '}
      <a href={`/admin/corrections?wallet=${wallet.id}`}>the corrections of this wallet</a>.
    </p>
  )
}

function Bonus({ request, wallet, problems, allowance }: ActionProps) {
  const { currency } = request.service.config
  return (
    <Form request={request} action={`/admin/wallets/${wallet.id}/bonus`} class="stack">
      <p>
        <AllowanceText allowance={allowance} currency={currency} />
      </p>
      <AmountAndReason
        request={request}
        problems={problems}
        currency={currency.code}
        reasonName="bonusReason"
        reasonHint="The user sees it in the wallet."
      />
    </Form>
  )
}

function Freeze({ request, wallet, problems }: ActionProps) {
  if (wallet.frozenFor === 'debt')
    return <p class="muted">The wallet is unfrozen automatically when its available balance is back to zero.</p>
  const isFrozen = wallet.frozenFor === 'operator'
  return (
    <Form request={request} action={`/admin/wallets/${wallet.id}/${isFrozen ? 'unfreeze' : 'freeze'}`} class="stack">
      <Field
        label={isFrozen ? 'Reason for unfreezing' : 'Reason for freezing'}
        name="reason"
        value={request.form.text('reason')}
        hint={
          isFrozen
            ? 'For the audit log.'
            : 'For the audit log. A frozen wallet takes credits, and captures of holds that it already has. Open widgets show this at once.'
        }
        problem={problems['reason']}
        attributes={{ required: true, maxlength: 500 }}
      />
      <div>
        <button class={`button small ${isFrozen ? '' : 'danger'}`} type="submit">
          {isFrozen ? 'Unfreeze' : 'Freeze'}
        </button>
      </div>
    </Form>
  )
}
