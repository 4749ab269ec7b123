/** The payment: the card processor's form, then the outcome. The amount is chosen and within the limits. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { CreateIntentResponse, NextAction } from '../../../../sdk/contract.ts'
import type { PayKey } from '../../../languages/words.ts'
import { formatMoney } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { Heading, Notice } from '../parts.tsx'
import type { Visit } from '../use-wallet-session.ts'
import { isSessionOver, useTopupPayment, type Order, type TopupState } from './use-topup-payment.ts'
import { TopupOutcome } from './outcome.tsx'
import { SandboxForm } from './sandbox-form.tsx'
import { StripeForm } from './stripe-form.tsx'

export type TopupOrder = Order & {
  /** The debt of the wallet when the amount was chosen. */
  readonly owed: number
}

type PayProps = {
  readonly order: TopupOrder
  readonly visit: Visit
  readonly onOrdered: (intent: { paymentIntentId: string; amount: number }) => void
  readonly onPaid: (amount: number) => void
  /** The payer wants another amount for the same need. */
  readonly onChangeAmount: () => void
  /** This payment has ended. */
  readonly onStartAgain: () => void
  readonly children: ComponentChildren
}

export function View({ order, visit, onOrdered, onPaid, onChangeAmount, onStartAgain, children }: PayProps) {
  const { lang, topup, say } = usePage<'pay'>()
  // A function, because the session may be renewed while the user types the card.
  const { token } = visit
  const payment = useTopupPayment(order, token, { onOrdered, onCancelled: onStartAgain })
  const { state } = payment
  const { owed } = order
  const session = token()
  useEffect(() => {
    if (state.kind === 'refused' && isSessionOver(state.failure)) payment.retry()
  }, [session])
  useEffect(() => {
    if (state.kind === 'done') onPaid(state.amount)
  }, [state.kind])
  const intent = intentOf(state)
  if (!intent && state.kind !== 'preparing')
    return <TopupOutcome payment={payment} token={token} onStartAgain={onStartAgain} />
  const isChecking = state.kind === 'checking'
  const nextAction = state.kind === 'paying' ? state.nextAction : undefined
  const amount = intent?.amount ?? order.amount ?? 0
  const money = (value: number) => formatMoney(value, topup.currency, lang)
  return (
    <section class="topup card stack" aria-busy={state.kind !== 'paying'}>
      <div class="topup-head">
        <div class="chosen">
          <Heading>{say(owed > 0 && amount <= owed ? 'repay' : 'addAmount', { amount: money(amount) })}</Heading>
          {!nextAction && (
            <button type="button" class="link-button" disabled={isChecking} onClick={onChangeAmount}>
              {say('change')}
            </button>
          )}
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
        {nextAction && (
          <Notice tone="info" icon="shield" title={say('bankTitle')}>
            {say('bankText', { amount: money(amount) })}
          </Notice>
        )}
        {state.kind !== 'paying' && <p class="muted">{say(isChecking ? 'topupChecking' : 'topupPreparing')}</p>}
      </div>
      {intent && (
        <CardForm
          intent={intent}
          nextAction={nextAction}
          isChecking={isChecking}
          token={token}
          onActed={payment.check}
        />
      )}
      {nextAction && (
        <button type="button" class="button quiet" onClick={payment.cancel}>
          {say('cancelPayment')}
        </button>
      )}
      <p class="muted small">{say('topupNoFee')}</p>
    </section>
  )
}

function intentOf(state: TopupState): CreateIntentResponse | undefined {
  return state.kind === 'paying' || state.kind === 'checking' ? state.intent : undefined
}

export type CardFormProps = {
  readonly intent: CreateIntentResponse
  /** The bank waits for the payer. */
  readonly nextAction: NextAction | undefined
  readonly isChecking: boolean
  readonly token: () => string | null
  /** Called after the payer submits the form. Its own result is not trusted: the page asks the server. */
  readonly onActed: () => void
}

function CardForm(props: CardFormProps) {
  const { topup } = usePage<'pay'>()
  return topup.processor === 'stripe' ? <StripeForm {...props} /> : <SandboxForm {...props} />
}

const advice: Record<string, PayKey> = {
  insufficient_funds: 'declinedFunds',
  expired_card: 'declinedExpired',
  incorrect_cvc: 'declinedCvc',
  invalid_cvc: 'declinedCvc',
  authentication_required: 'declinedBank',
  payment_intent_authentication_failure: 'declinedBank',
}

function adviceOn(declineCode: string): PayKey {
  return Object.hasOwn(advice, declineCode) ? advice[declineCode]! : 'declinedText'
}
