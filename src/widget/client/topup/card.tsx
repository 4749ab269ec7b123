/** The step with the card processor's form. The amount is chosen and within the limits. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { CreateIntentResponse } from '../../../../sdk/contract.ts'
import type { TopupKey } from '../../../languages/words.ts'
import { formatMoney } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { Heading, Notice } from '../parts.tsx'
import type { Visit } from '../use-wallet-session.ts'
import { isSessionOver, useTopupPayment, type TopupState } from './use-topup-payment.ts'
import { TopupOutcome } from './outcome.tsx'
import { SandboxForm } from './sandbox-form.tsx'
import { StripeForm } from './stripe-form.tsx'

export type TopupCardProps = {
  /** `owed` is the debt of the wallet when the amount was chosen. */
  readonly order: { readonly amount: number; readonly owed: number } | { readonly paymentIntentId: string }
  readonly visit: Visit
  readonly onChangeAmount: () => void
  readonly children: ComponentChildren
}

export function TopupCard({ order, visit, onChangeAmount, children }: TopupCardProps) {
  const { lang, topup, say } = usePage<'topup'>()
  // A function, because the session may be renewed while the user types the card.
  const { token } = visit
  const payment = useTopupPayment(order, token)
  const { state } = payment
  const owed = 'owed' in order ? order.owed : 0
  const session = token()
  useEffect(() => {
    if (state.kind === 'refused' && isSessionOver(state.failure)) payment.retry()
  }, [session])
  useEffect(() => {
    if (state.kind === 'done') visit.session().reportPaid(state.amount)
  }, [state.kind])
  const intent = intentOf(state)
  if (!intent && state.kind !== 'preparing')
    return <TopupOutcome payment={payment} owed={owed} token={token} onStartAgain={onChangeAmount} />
  const isChecking = state.kind === 'checking'
  const amount = intent?.amount ?? ('amount' in order ? order.amount : 0)
  const money = (value: number) => formatMoney(value, topup.currency, lang)
  return (
    <section class="topup card stack" aria-busy={state.kind !== 'paying'}>
      <div class="topup-head">
        <div class="chosen">
          <Heading>{say(owed > 0 && amount <= owed ? 'repay' : 'addAmount', { amount: money(amount) })}</Heading>
          <button type="button" class="link-button" disabled={isChecking} onClick={onChangeAmount}>
            {say('change')}
          </button>
        </div>
        {children}
        {owed > 0 && amount > owed && <p class="muted">{say('topupRepays', { amount: money(owed) })}</p>}
      </div>
      <div role="status">
        {state.kind === 'paying' && state.declined !== undefined && (
          <Notice tone="bad" icon="alert" title={say('declinedTitle')}>
            {say(adviceOn(state.declined))}
          </Notice>
        )}
        {state.kind !== 'paying' && <p class="muted">{say(isChecking ? 'topupChecking' : 'topupPreparing')}</p>}
      </div>
      {intent && <CardForm intent={intent} isChecking={isChecking} token={token} onActed={payment.check} />}
      <p class="muted small">{say('topupNoFee')}</p>
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
  /** Called after the payer submits the form. Its own result is not trusted: the page asks the server. */
  readonly onActed: () => void
}

function CardForm(props: CardFormProps) {
  const { topup } = usePage<'topup'>()
  return topup.processor === 'stripe' ? <StripeForm {...props} /> : <SandboxForm {...props} />
}

const advice: Record<string, TopupKey> = {
  insufficient_funds: 'declinedFunds',
  expired_card: 'declinedExpired',
  incorrect_cvc: 'declinedCvc',
  invalid_cvc: 'declinedCvc',
  authentication_required: 'declinedBank',
  payment_intent_authentication_failure: 'declinedBank',
}

function adviceOn(declineCode: string): TopupKey {
  return Object.hasOwn(advice, declineCode) ? advice[declineCode]! : 'declinedText'
}
