/** The latest transactions. Their details and older transactions are in a separate view, `activity`. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { WidgetTransaction, WidgetWallet } from '../call.ts'
import { dayName, formatMoney, sameDay, shortTime } from '../format.ts'
import { Icon, type IconName } from '../icons.tsx'
import { LoadView } from '../load-view.tsx'
import { usePage, type Say } from '../page-context.tsx'
import { AppMark } from '../parts.tsx'
import { BoneEntries } from '../skeleton.tsx'

export type OpenEntry = (transaction: WidgetTransaction) => void

type ActivityProps = {
  wallet: WidgetWallet
  skewMs: number
  onOpen: OpenEntry
  onAll: () => void
  onHolds: () => void
  /** Present while this browser has only the proof `session`. */
  onSignIn: (() => void) | undefined
}

export function Activity({ wallet, skewMs, onOpen, onAll, onHolds, onSignIn }: ActivityProps) {
  const { words } = usePage()
  const now = useNow(skewMs)
  const { transactions, waiting, failedTopups = [], holds = [] } = wallet
  const pending = [...holds, ...waiting, ...failedTopups]
  const isEmpty = transactions.length === 0 && pending.length === 0
  return (
    <section class="activity card" aria-labelledby="activity-label">
      <h2 id="activity-label" tabIndex={-1}>
        {words.activity}
      </h2>
      {isEmpty && (
        <div class="empty">
          <span class="panel-icon">
            <Icon name="receipt" />
          </span>
          {!wallet.hasArchived && <h3>{words.emptyTitle}</h3>}
          <p class="muted">{wallet.hasArchived ? words.archived : words.emptyText}</p>
        </div>
      )}
      {pending.length > 0 && (
        <LoadView name="pending" title="" isOptional waiting={<BoneEntries rows={pending} />}>
          {(View) => <View wallet={wallet} now={now} onHolds={onHolds} />}
        </LoadView>
      )}
      <Days transactions={transactions} now={now} onOpen={onOpen} />
      {/* Below the entries, which must not move when the wallet replaces its placeholders. */}
      {onSignIn && (
        <p class="everything">
          <Icon name="lock" />
          <span>{words.everything}</span>
          <button type="button" class="button quiet small" onClick={onSignIn}>
            {words.signIn}
          </button>
        </p>
      )}
      {transactions.length > 0 && (
        <button type="button" id="all-activity" class="button quiet small" onClick={onAll}>
          {words.allActivity}
        </button>
      )}
    </section>
  )
}

type DaysProps = { transactions: readonly WidgetTransaction[]; now: Date; onOpen: OpenEntry }

/** The entries grouped by day, in the reader's time zone. */
export function Days({ transactions, now, onOpen }: DaysProps) {
  const { lang } = usePage()
  const days: WidgetTransaction[][] = []
  for (const transaction of transactions) {
    const last = days.at(-1)
    if (last && sameDay(new Date(last[0]!.createdAt), new Date(transaction.createdAt))) last.push(transaction)
    else days.push([transaction])
  }
  return (
    <>
      {days.map((day) => (
        <div class="day" key={new Date(day[0]!.createdAt).toDateString()}>
          <h3>{dayName(new Date(day[0]!.createdAt), now, lang)}</h3>
          <ul role="list">
            {day.map((transaction) => (
              <Entry key={transaction.id} transaction={transaction} onOpen={onOpen} />
            ))}
          </ul>
        </div>
      ))}
    </>
  )
}

/** The arrow, the sign, a hidden word and the colour all show the direction, so none of them is needed alone. */
function Entry({ transaction, onOpen }: { transaction: WidgetTransaction; onOpen: OpenEntry }) {
  const { lang, say } = usePage()
  const { amount, currency, createdAt, app, sequence, isPrivate } = transaction
  const isIn = transaction.type === 'CREDIT'
  const title = titleOf(transaction, say)
  const money = formatMoney(isIn ? amount : -amount, currency, lang, true)
  const line = (
    <>
      <EntryMark transaction={transaction} />
      <span class="entry-text">
        <span class="entry-title" title={title} dir="auto">
          {breakable(title)}
        </span>
        <span class="entry-when">
          <span class="visually-hidden">{say(isIn ? 'moneyIn' : 'moneyOut')} </span>
          {app && <bdi title={app.name}>{app.name}</bdi>}
          <time dateTime={createdAt}>{shortTime(new Date(createdAt), lang)}</time>
        </span>
      </span>
      {/* By its length the stylesheet makes a long amount smaller, so that it is never broken. */}
      <span class={isIn ? 'money amount in' : 'money amount'} style={{ '--digits': money.length }}>
        {money}
      </span>
    </>
  )
  return (
    <li class="entry">
      {isPrivate ? (
        <span class="entry-open">{line}</span>
      ) : (
        <button type="button" id={`entry-${sequence}`} class="entry-open" onClick={() => onOpen(transaction)}>
          {line}
        </button>
      )}
    </li>
  )
}

/** Lets a reference or address that is longer than any word break, if possible after a sign. */
export function breakable(text: string): ComponentChildren {
  const parts = text.split(/([!-~]{33,})/)
  return parts.map((part, at) =>
    at % 2 === 0 ? part : part.match(/\w{0,9}\W+|.{1,10}/g)!.map((piece) => [piece, <wbr />]),
  )
}

export function EntryMark({ transaction }: { transaction: WidgetTransaction }) {
  const { app } = transaction
  const isIn = transaction.type === 'CREDIT'
  return (
    <span class="entry-mark">
      {app ? (
        <AppMark name={app.name} logo={app.logo} color={app.color} />
      ) : (
        <span class="mark own">
          <Icon name={ownIcon(transaction)} />
        </span>
      )}
      <span class={isIn ? 'way in' : 'way'}>
        <Icon name={isIn ? 'in' : 'out'} />
      </span>
    </span>
  )
}

function ownIcon({ isPrivate, referenceType }: WidgetTransaction): IconName {
  if (isPrivate) return 'lock'
  if (referenceType.startsWith('TOPUP')) return 'card'
  return referenceType === 'CORRECTION' ? 'swap' : 'plus'
}

/** Titles of the service's own entries. An app may use the same labels with another meaning, so they do not apply to apps. */
export const ownTitles = {
  TOPUP: 'topupEntry',
  TOPUP_REFUND: 'cardRefundEntry',
  TOPUP_REFUND_RETURNED: 'cardRefundReturnedEntry',
  TOPUP_DISPUTE: 'disputeEntry',
  TOPUP_DISPUTE_RETURNED: 'disputeWonEntry',
  CORRECTION: 'correctionEntry',
} as const

type Titled = Pick<WidgetTransaction, 'app' | 'description' | 'referenceType' | 'isPrivate' | 'type'>

/** Without a description the title is a word of the language: the reference type is a code of the app, most often in English. */
export function titleOf({ app, description, referenceType, isPrivate, type }: Titled, say: Say): string {
  if (isPrivate) return say('anotherApp')
  if (!app && Object.hasOwn(ownTitles, referenceType))
    return say(ownTitles[referenceType as keyof typeof ownTitles], { reason: description ?? '' })
  if (description) return description
  if (referenceType === 'BONUS') return say('bonusEntry')
  if (/REFUND/i.test(referenceType)) return say('refundEntry')
  return say(type === 'CREDIT' ? 'moneyIn' : 'moneyOut')
}

/** The server's time, updated every half minute, so that "today" stays correct. */
export function useNow(skewMs: number): Date {
  const [at, setAt] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setAt(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return new Date(Math.max(at, Date.now()) + skewMs)
}
