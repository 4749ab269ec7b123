/** A hold: who, what for, how much, and until when. It is an entry of the ledger once the app has captured it. */
import { breakable } from '../activity/latest.tsx'
import type { WidgetHold } from '../call.ts'
import { exactTime, formatMoney } from '../format.ts'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { AppMark } from '../parts.tsx'
import { untilText } from './until-text.ts'

/** Whether more is on hold than these holds reserve, in whole minor units. */
export function isMoreHeld(held: number, holds: readonly WidgetHold[], decimals: number): boolean {
  const minor = (amount: number) => Math.round(amount * 10 ** decimals)
  return minor(held) > holds.reduce((sum, { remaining }) => sum + minor(remaining), 0)
}

type HoldRowProps = { hold: WidgetHold; currency: string; now: Date }

export function HoldRow({ hold, currency, now }: HoldRowProps) {
  const { lang, say } = usePage<'pending'>()
  const { app, description, referenceId, isPrivate, amount, captured, remaining, expiresAt } = hold
  const title = isPrivate ? say('anotherApp') : (description ?? say('holdEntry'))
  const endsAt = new Date(expiresAt)
  const money = formatMoney(remaining, currency, lang)
  return (
    <li class="entry waiting held">
      <span class="entry-open">
        <span class="entry-mark">
          {app ? (
            <AppMark name={app.name} logo={app.logo} color={app.color} />
          ) : (
            <span class="mark own">
              <Icon name="lock" />
            </span>
          )}
          <span class="way">
            <Icon name="clock" />
          </span>
        </span>
        <span class="entry-text">
          <span class="entry-title" title={title} dir="auto">
            {breakable(title)}
          </span>
          <span class="entry-when">
            {app && <bdi title={app.name}>{app.name}</bdi>}
            {description === null && referenceId && <bdi title={referenceId}>{referenceId}</bdi>}
            <time dateTime={expiresAt} title={exactTime(endsAt, lang)}>
              {say('holdUntil', { when: untilText(endsAt, now, lang) })}
            </time>
          </span>
          {captured > 0 && (
            <span class="entry-when">
              {say('holdTaken', {
                taken: formatMoney(captured, currency, lang),
                amount: formatMoney(amount, currency, lang),
              })}
            </span>
          )}
        </span>
        <span class="money amount" style={{ '--digits': money.length }}>
          {money}
        </span>
      </span>
    </li>
  )
}
