/** The outcome of a top-up, or why it is not known yet. */
import { formatMoney, relativeWait } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { ReceiptForm } from '../paper-window.tsx'
import { isFramed } from '../parent.ts'
import { Panel } from '../parts.tsx'
import { causeOf, outcomes, repaymentOf } from './topup-outcomes.ts'
import type { TopupPayment } from './use-topup-payment.ts'
import { appUrl, walletUrl } from './window.ts'

type Props = {
  payment: TopupPayment
  token: () => string | null
  onStartAgain: () => void
}

export function TopupOutcome({ payment, token, onStartAgain }: Props) {
  const { lang, topup, say } = usePage<'pay'>()
  const { state } = payment
  if (state.kind === 'preparing' || state.kind === 'paying' || state.kind === 'checking')
    return <Panel icon="card" isBusy title={say('topupChecking')} />
  const cause = causeOf(state)
  if (cause === undefined) {
    const advice = say(isFramed() ? 'expiredText' : 'topupExpiredText')
    const isAfterPaying = state.kind === 'refused' && state.isAfterPaying
    const text = isAfterPaying ? `${say('topupLands')} ${advice}` : advice
    return <Panel icon="clock" title={say('expiredTitle')} text={text} />
  }
  const money = (amount: number) => formatMoney(amount, topup.currency, lang)
  const paid = state.kind === 'done' ? state : undefined
  const { repaid, rest } = paid ? repaymentOf(paid) : { repaid: 0, rest: 0 }
  const when = state.kind === 'refused' ? relativeWait(state.failure.retryAfterSeconds, lang) : ''
  const values = { amount: money(paid?.amount ?? 0), repaid: money(repaid), rest: money(rest), when }
  const { title, text, ways, ...look } = outcomes[cause]
  return (
    <Panel {...look} title={say(title)} text={say(text, values)}>
      {paid && (
        <div role="status">
          <p>{say('balanceNow', { amount: money(paid.available) })}</p>
          {repaid > 0 && paid.available >= 0 && <p>{say('debtRepaid')}</p>}
        </div>
      )}
      {ways.map((way, at) => {
        if (way === 'leave') return <Leave key={way} token={token} isFirst={at === 0} />
        if (way === 'receipt') return paid?.sequence !== undefined && <ReceiptForm key={way} sequence={paid.sequence} />
        const onClick = way === 'retry' ? payment.retry : onStartAgain
        return (
          <button key={way} type="button" class={at === 0 ? 'button' : 'button quiet'} onClick={onClick}>
            {say(way === 'retry' ? 'retry' : way === 'more' ? 'addMore' : 'startAgain')}
          </button>
        )
      })}
    </Panel>
  )
}

/**
 * A frame has a link back to the wallet. A window that the app's page or the wallet opened closes itself, and that page is behind it.
 * Any other window may not close itself: it has a link to the app.
 */
function Leave({ token, isFirst }: { token: () => string | null; isFirst: boolean }) {
  const page = usePage<'pay'>()
  const style = isFirst ? 'button' : 'button quiet'
  if (!isFramed() && window.opener !== null)
    return (
      <button type="button" class={style} onClick={() => window.close()}>
        {page.say('backToApp')}
      </button>
    )
  const href = isFramed() ? walletUrl(page, token()) : appUrl(page)
  return (
    href && (
      <a class={style} href={href}>
        {page.say(isFramed() ? 'backToWallet' : 'backToApp')}
      </a>
    )
  )
}
