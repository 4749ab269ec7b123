/** The outcome of a top-up, or why it is not known yet. */
import { formatMoney, relativeWait } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { isFramed } from '../parent.ts'
import { Panel } from '../parts.tsx'
import { isSessionOver, type TopupPayment, type TopupState } from './use-topup-payment.ts'
import { walletUrl } from './window.ts'

type Props = {
  payment: TopupPayment
  /** The debt of the wallet before the top-up. */
  owed: number
  token: () => string | null
  onStartAgain: () => void
}

export function TopupOutcome({ payment, owed, token, onStartAgain }: Props) {
  const { lang, topup, say } = usePage<'topup'>()
  const { state } = payment
  const money = (amount: number) => formatMoney(amount, topup.currency, lang)

  if (state.kind === 'done')
    return (
      <Panel icon="check" title={say('topupDoneTitle')} text={say('topupDoneText', { amount: money(state.amount) })}>
        <div role="status">
          <p>{say('balanceNow', { amount: money(state.balance) })}</p>
          {owed > 0 && state.balance >= 0 && <p>{say('debtRepaid')}</p>}
        </div>
        <Leave token={token} />
      </Panel>
    )
  if (state.kind === 'processing')
    return (
      <Panel icon="clock" isBusy title={say('topupProcessingTitle')} text={say('topupProcessingText')}>
        <Leave token={token} />
      </Panel>
    )
  if (state.kind === 'ended') return <Ended onStartAgain={onStartAgain} />
  if (state.kind === 'refused') return <Refused state={state} payment={payment} onStartAgain={onStartAgain} />
  return <Panel icon="card" isBusy title={say('topupChecking')} />
}

type RefusedProps = {
  state: Extract<TopupState, { kind: 'refused' }>
  payment: TopupPayment
  onStartAgain: () => void
}

function Refused({ state, payment, onStartAgain }: RefusedProps) {
  const { lang, say } = usePage<'topup'>()
  const { failure, isAfterPaying } = state
  const { code, retryAfterSeconds } = failure
  if (isSessionOver(failure)) {
    const advice = say(isFramed() ? 'expiredText' : 'topupExpiredText')
    const text = isAfterPaying ? `${say('topupLands')} ${advice}` : advice
    return <Panel icon="clock" title={say('expiredTitle')} text={text} />
  }
  if (code === 'WALLET_INACTIVE') return <Panel icon="lock" title={say('frozenTitle')} text={say('topupFrozenText')} />
  if (code === 'RATE_LIMITED') {
    const text = say('tooMany', { when: relativeWait(retryAfterSeconds, lang) })
    return <Panel icon="clock" title={say('topupEndedTitle')} text={text} />
  }
  if (final.includes(code)) return <Ended onStartAgain={onStartAgain} />
  return (
    <Panel
      icon="cloud"
      isBusy={isAfterPaying}
      title={say(isAfterPaying ? 'topupUnsureTitle' : 'topupAwayTitle')}
      text={say(isAfterPaying ? 'topupLands' : 'topupAwayText')}
    >
      <button type="button" class="button" onClick={payment.retry}>
        {say('retry')}
      </button>
    </Panel>
  )
}

/** Refusals that a retry would not change. */
const final: readonly string[] = ['INVALID_AMOUNT', 'BALANCE_LIMIT', 'PAYMENT_INTENT_NOT_FOUND', 'INVALID_REQUEST']

function Ended({ onStartAgain }: { onStartAgain: () => void }) {
  const { say } = usePage<'topup'>()
  return (
    <Panel icon="alert" tone="bad" title={say('topupEndedTitle')} text={say('topupEndedText')}>
      <button type="button" class="button" onClick={onStartAgain}>
        {say('startAgain')}
      </button>
    </Panel>
  )
}

/** A top-up window offers to close itself; a frame offers a link back to the wallet. */
function Leave({ token }: { token: () => string | null }) {
  const page = usePage<'topup'>()
  if (isFramed())
    return (
      <a class="button" href={walletUrl(page, token())}>
        {page.say('backToWallet')}
      </a>
    )
  return (
    <button type="button" class="button" onClick={() => window.close()}>
      {page.say('closeWindow')}
    </button>
  )
}
