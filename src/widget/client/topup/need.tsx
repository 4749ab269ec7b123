/** What the app says that its user is short of. The reason is the app's own words, and set off as such. */
import { formatMoney } from '../format.ts'
import { Phrase, usePage } from '../page-context.tsx'
import type { Need } from './window.ts'

export function NeedText({ need }: { need: Need }) {
  const { lang, topup } = usePage()
  const amount = formatMoney(need.amount, topup.currency, lang)
  return need.reason === null ? (
    <Phrase word="needHere" values={{ amount }} />
  ) : (
    <Phrase word="need" values={{ amount, reason: need.reason }} />
  )
}
