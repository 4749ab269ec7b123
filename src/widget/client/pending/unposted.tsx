/** Top-ups that the ledger does not have: the bank is still processing them, or they took no money. */
import type { FailedTopup, WaitingTopup } from '../call.ts'
import { dayName, formatMoney, shortTime } from '../format.ts'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'

const failedTexts = {
  declined: 'failedDeclined',
  authentication: 'failedAuthentication',
  unconfirmed: 'failedUnconfirmed',
  cancelled: 'failedCancelled',
  failed: 'failedOther',
} as const satisfies Record<FailedTopup['reason'], string>

/** A top-up without an entry in the ledger: the bank is still processing it, or it took no money. */
export function Unposted({ topup, currency, now }: { topup: WaitingTopup | FailedTopup; currency: string; now: Date }) {
  const { lang, say } = usePage<'pending'>()
  const at = new Date(topup.createdAt)
  const reason = 'reason' in topup ? topup.reason : undefined
  return (
    <li class={reason ? 'entry waiting failed' : 'entry waiting'}>
      <span class="entry-open">
        <span class="mark own">
          <Icon name={reason ? 'alert' : 'clock'} />
        </span>
        <span class="entry-text">
          <span class="entry-title">{say(reason ? 'failedEntry' : 'waitingEntry')}</span>
          {reason && <span class="entry-when">{say(failedTexts[reason])}</span>}
          <time class="entry-when" dateTime={topup.createdAt}>
            {`${dayName(at, now, lang)}, ${shortTime(at, lang)}`}
          </time>
        </span>
        <span class="money amount">{formatMoney(topup.amount, currency, lang)}</span>
      </span>
    </li>
  )
}
