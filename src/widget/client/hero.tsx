/** The balance, and what can be done with it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { WidgetWallet } from './call.ts'
import { formatMoney, moneyParts } from './format.ts'
import { usePage } from './page-context.tsx'
import { Icon } from './icons.tsx'

type HeroProps = { wallet: WidgetWallet; isStale: boolean; onTopup: () => void }

export function Hero({ wallet, isStale, onTopup }: HeroProps) {
  const { lang, say } = usePage()
  const { balance, currency, user, isActive } = wallet
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
      <p class="hero-balance" key={balance}>
        <span class="visually-hidden">{formatMoney(balance, currency, lang)}</span>
        <span class="money" aria-hidden="true">
          {moneyParts(balance, currency, lang).map(({ text, isMinor }) => (isMinor ? <small>{text}</small> : text))}
        </span>
      </p>
      {isActive && (
        <button type="button" class="button hero-action" onClick={onTopup}>
          <Icon name="plus" />
          {say('addMoney')}
        </button>
      )}
      <BalanceNews balance={balance} currency={currency} />
    </section>
  )
}

/** Has a screen reader say a changed balance; the first balance is read with the page. */
function BalanceNews({ balance, currency }: { balance: number; currency: string }) {
  const { lang, say } = usePage()
  const last = useRef(balance)
  const [news, setNews] = useState('')
  useEffect(() => {
    if (last.current === balance) return
    last.current = balance
    setNews(say('balanceNow', { amount: formatMoney(balance, currency, lang) }))
  }, [balance])
  return (
    <p class="visually-hidden" role="status">
      {news}
    </p>
  )
}
