/** Where the card is entered: the place for the processor's form. The amount is chosen and within the limits. */
import { useEffect } from 'preact/hooks'
import type { CreateIntentResponse } from '../../../sdk/contract.ts'
import type { WordKey } from '../words.ts'
import { formatMoney } from './format.ts'
import { usePage } from './page-context.tsx'
import { Heading, Notice } from './parts.tsx'
import { TopupOutcome } from './topup-outcome.tsx'
import { isSessionOver, useTopupPayment, type TopupState } from './topup-payment.ts'
import { SandboxForm } from './topup-sandbox-form.tsx'
import { StripeForm } from './topup-stripe-form.tsx'
import type { Visit } from './use-wallet-session.ts'

export type TopupCardProps = {
  readonly order: { readonly amount: number } | { readonly paymentIntentId: string }
  readonly visit: Visit
  readonly onChangeAmount: () => void
}

export function TopupCard({ order, visit, onChangeAmount }: TopupCardProps) {
  const { lang, topup, say } = usePage()
  // The session as it is now: it may be renewed while the card is typed in.
  const { token } = visit
  const payment = useTopupPayment(order, token)
  const { state } = payment
  const session = token()
  useEffect(() => {
    if (state.kind === 'refused' && isSessionOver(state.failure)) payment.retry()
  }, [session])
  useEffect(() => {
    if (state.kind === 'done') visit.session().look()
  }, [state.kind])
  const intent = intentOf(state)
  if (!intent && state.kind !== 'preparing')
    return <TopupOutcome payment={payment} token={token} onStartAgain={onChangeAmount} />
  const isChecking = state.kind === 'checking'
  const amount = intent?.amount ?? ('amount' in order ? order.amount : 0)
  return (
    <section class="topup card stack" aria-busy={state.kind !== 'paying'}>
      <Heading>{say('addMoney')}</Heading>
      <dl class="total">
        <dt>{say('topupTotal')}</dt>
        <dd>
          <bdi class="chosen-amount">{formatMoney(amount, topup.currency, lang)}</bdi>
          <button type="button" class="link-button" disabled={isChecking} onClick={onChangeAmount}>
            {say('change')}
          </button>
        </dd>
      </dl>
      <p class="muted">{say('topupNoFee')}</p>
      <div role="status">
        {state.kind === 'paying' && state.declined !== undefined && (
          <Notice tone="bad" icon="alert" title={say('declinedTitle')}>
            {say(adviceOn(state.declined))}
          </Notice>
        )}
        {state.kind !== 'paying' && <p class="muted">{say(isChecking ? 'topupChecking' : 'topupPreparing')}</p>}
      </div>
      {intent && <CardForm intent={intent} isChecking={isChecking} token={token} onActed={payment.check} />}
    </section>
  )
}

function intentOf(state: TopupState): CreateIntentResponse | undefined {
  return state.kind === 'paying' || state.kind === 'checking' ? state.intent : undefined
}

export type CardFormProps = {
  readonly intent: CreateIntentResponse
  readonly isChecking: boolean
  readonly token: () => string | null
  /** The payer has done something in the form. The form's own result is not trusted: the server is asked. */
  readonly onActed: () => void
}

function CardForm(props: CardFormProps) {
  const { topup } = usePage()
  return topup.processor === 'stripe' ? <StripeForm {...props} /> : <SandboxForm {...props} />
}

const advice: Record<string, WordKey> = {
  insufficient_funds: 'declinedFunds',
  expired_card: 'declinedExpired',
  incorrect_cvc: 'declinedCvc',
  invalid_cvc: 'declinedCvc',
  authentication_required: 'declinedBank',
  payment_intent_authentication_failure: 'declinedBank',
}

/** What the payer can do about a decline, in the reader's language. */
function adviceOn(declineCode: string): WordKey {
  return Object.hasOwn(advice, declineCode) ? advice[declineCode]! : 'declinedText'
}
