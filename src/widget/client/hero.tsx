/** What the user can spend, what is on hold, and the actions. */
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
  onHolds: () => void
}

export function Hero({ wallet, missing, isStale, onTopup, onHolds }: HeroProps) {
  const { lang, say, topup } = usePage()
  const { available, held, currency, user, isActive } = wallet
  const money = (amount: number) => formatMoney(amount, currency, lang)
  const owed = owedIn(wallet)
  const hasAction = isActive || (owed > 0 && topup.processor !== 'none')
  return (
    <section class={isStale ? 'hero stale' : 'hero'} aria-labelledby="balance-label">
      <p class="hero-hello">{say('hello', { name: user.firstName })}</p>
      <h1 id="balance-label" class="hero-label">
        {say('balance')}
        {!isActive && (
          <span class="hero-frozen">
            <Icon name="lock" />
            {say('frozen')}
          </span>
        )}
      </h1>
      <div class="hero-figure">
        <Figure key={available} amount={available} currency={currency} />
      </div>
      {held > 0 && (
        <button type="button" id="open-holds" class="hero-held" onClick={onHolds}>
          <Icon name="clock" />
          {say('onHold', { amount: money(held) })}
        </button>
      )}
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
      <BalanceAnnouncement amount={available} currency={currency} />
    </section>
  )
}

/** The width of a text in digits. Separators count as half a digit. */
const digitsIn = (text: string) => text.length - (text.match(/[.,'’\s٬٫]/g)?.length ?? 0) / 2

/** `--digits` lets the stylesheet choose the largest font size at which the figure fits in one line. */
function Figure({ amount, currency }: { amount: number; currency: string }) {
  const { lang } = usePage()
  const parts = moneyParts(amount, currency, lang)
  const width = parts.reduce((sum, { text, isMinor }) => sum + digitsIn(text) * (isMinor ? 0.6 : 1), 0)
  return (
    <p class="hero-balance" style={{ '--digits': width.toFixed(1) }}>
      <span class="visually-hidden">{formatMoney(amount, currency, lang)}</span>
      <span class="money" aria-hidden="true">
        {parts.map(({ text, isMinor }) => (isMinor ? <small>{text}</small> : text))}
      </span>
    </p>
  )
}

/** Announces a changed balance to screen readers. The first balance is read with the page. */
function BalanceAnnouncement({ amount, currency }: { amount: number; currency: string }) {
  const { lang, say } = usePage()
  const last = useRef(amount)
  const [announcement, setAnnouncement] = useState('')
  useEffect(() => {
    if (last.current === amount) return
    last.current = amount
    setAnnouncement(say('balanceNow', { amount: formatMoney(amount, currency, lang) }))
  }, [amount])
  return (
    <p class="visually-hidden" role="status">
      {announcement}
    </p>
  )
}
