/** The amount that the app says its user needs. The reason is text of the app and is marked as such. */
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
