/** The last transactions. */
import { useEffect, useState } from 'preact/hooks'
import type { Transaction } from '../../../sdk/contract.ts'
import { exactTime, formatMoney, relativeTime } from './format.ts'
import { usePage, type Say } from './page-context.tsx'
import { Icon } from './icons.tsx'

export function Activity({ transactions, skewMs }: { transactions: readonly Transaction[]; skewMs: number }) {
  const { words } = usePage()
  const now = useNow(skewMs)
  return (
    <section class="activity card" aria-labelledby="activity-label">
      <h2 id="activity-label">{words.activity}</h2>
      {transactions.length === 0 ? (
        <div class="empty">
          <span class="panel-icon">
            <Icon name="receipt" />
          </span>
          <h3>{words.emptyTitle}</h3>
          <p class="muted">{words.emptyText}</p>
        </div>
      ) : (
        <ul role="list">
          {transactions.map((transaction) => (
            <Entry key={transaction.id} transaction={transaction} now={now} />
          ))}
        </ul>
      )}
    </section>
  )
}

/** Whether money came in or went out is shown by the arrow, the sign, the word and the colour. */
function Entry({ transaction, now }: { transaction: Transaction; now: Date }) {
  const { lang, say } = usePage()
  const { type, amount, currency, createdAt } = transaction
  const isIn = type === 'CREDIT'
  const at = new Date(createdAt)
  const exact = exactTime(at, lang)
  return (
    <li class="entry">
      <span class={isIn ? 'entry-icon in' : 'entry-icon'}>
        <Icon name={isIn ? 'in' : 'out'} />
      </span>
      <div class="entry-text">
        <span class="entry-title">
          <bdi>{titleOf(transaction, say)}</bdi>
        </span>
        <span class="entry-when">
          {say(isIn ? 'moneyIn' : 'moneyOut')}
          {' · '}
          <time dateTime={createdAt} tabIndex={0} aria-label={exact} data-exact={exact}>
            {relativeTime(at, now, lang)}
          </time>
        </span>
      </div>
      <span class={isIn ? 'money amount in' : 'money amount'}>
        {formatMoney(isIn ? amount : -amount, currency, lang, true)}
      </span>
    </li>
  )
}

function titleOf({ description, referenceType }: Transaction, say: Say): string {
  if (description) return description
  if (referenceType === 'TOPUP') return say('topupEntry')
  if (referenceType === 'BONUS') return say('bonusEntry')
  if (/REFUND/i.test(referenceType)) return say('refundEntry')
  const label = referenceType.replace(/[_-]+/g, ' ').trim()
  return label === label.toUpperCase() ? label.charAt(0) + label.slice(1).toLowerCase() : label
}

/** The server's time, read anew every half minute, so that "2 minutes ago" stays true. */
function useNow(skewMs: number): Date {
  const [at, setAt] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setAt(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return new Date(Math.max(at, Date.now()) + skewMs)
}
