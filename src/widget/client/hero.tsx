/** The balance and its actions. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { owedIn, type WidgetWallet } from './call.ts'
import { formatMoney, moneyParts } from './format.ts'
import { usePage } from './page-context.tsx'
import { Icon } from './icons.tsx'

type HeroProps = {
  wallet: WidgetWallet
  /** The amount that the app says is missing for a purchase. */
  missing: number | undefined
  isStale: boolean
  onTopup: () => void
}

export function Hero({ wallet, missing, isStale, onTopup }: HeroProps) {
  const { lang, say, topup } = usePage()
  const { balance, currency, user, isActive } = wallet
  const money = (amount: number) => formatMoney(amount, currency, lang)
  const owed = owedIn(wallet)
  const hasAction = isActive || (owed > 0 && topup.processor !== 'none')
  return (
    <section class={isStale ? 'hero stale' : 'hero'} aria-labelledby="balance-label">
      <p class="hero-hello">{say('hello', { name: user.firstName })}</p>
      <h1 id="balance-label" class="hero-label">
        {say('balance')}
        {!isActive && (
          <span class="hero-hold">
            <Icon name="lock" />
            {say('onHold')}
          </span>
        )}
      </h1>
      <div class="hero-figure">
        <Figure key={balance} balance={balance} currency={currency} />
      </div>
      {hasAction && (
        <button type="button" class="button hero-action" disabled={isStale} onClick={onTopup}>
          <Icon name="plus" />
          {owed > 0
            ? say('repay', { amount: money(owed) })
            : missing === undefined
              ? say('addMoney')
              : say('addAmount', { amount: money(missing) })}
        </button>
      )}
      <BalanceAnnouncement balance={balance} currency={currency} />
    </section>
  )
}

/** The width of a text in digits. Separators count as half a digit. */
const digitsIn = (text: string) => text.length - (text.match(/[.,'’\s٬٫]/g)?.length ?? 0) / 2

/** `--digits` lets the stylesheet choose the largest font size at which the figure fits in one line. */
function Figure({ balance, currency }: { balance: number; currency: string }) {
  const { lang } = usePage()
  const parts = moneyParts(balance, currency, lang)
  const width = parts.reduce((sum, { text, isMinor }) => sum + digitsIn(text) * (isMinor ? 0.6 : 1), 0)
  return (
    <p class="hero-balance" style={{ '--digits': width.toFixed(1) }}>
      <span class="visually-hidden">{formatMoney(balance, currency, lang)}</span>
      <span class="money" aria-hidden="true">
        {parts.map(({ text, isMinor }) => (isMinor ? <small>{text}</small> : text))}
      </span>
    </p>
  )
}

/** Announces a changed balance to screen readers. The first balance is read with the page. */
function BalanceAnnouncement({ balance, currency }: { balance: number; currency: string }) {
  const { lang, say } = usePage()
  const last = useRef(balance)
  const [announcement, setAnnouncement] = useState('')
  useEffect(() => {
    if (last.current === balance) return
    last.current = balance
    setAnnouncement(say('balanceNow', { amount: formatMoney(balance, currency, lang) }))
  }, [balance])
  return (
    <p class="visually-hidden" role="status">
      {announcement}
    </p>
  )
}
