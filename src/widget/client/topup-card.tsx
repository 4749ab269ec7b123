/**
 * Where the card is entered: the place for the processor's form. The amount is chosen and within the limits; `token` gives
 * the session as it is now, for it may be renewed while the card is typed in.
 */
import { formatMoney } from './format.ts'
import { useFrame } from './frame-context.tsx'
import { Heading, Notice } from './parts.tsx'

export type TopupCardProps = {
  readonly amount: number
  readonly token: () => string | null
  readonly onChangeAmount: () => void
}

export function TopupCard({ amount, onChangeAmount }: TopupCardProps) {
  const { lang, topup, say } = useFrame()
  return (
    <section class="topup card stack">
      <Heading>{say('addMoney')}</Heading>
      <p class="chosen">
        <bdi class="chosen-amount">{formatMoney(amount, topup.currency, lang)}</bdi>
        <button type="button" class="link-button" onClick={onChangeAmount}>
          {say('change')}
        </button>
      </p>
      <Notice tone="info" icon="card" title={say('topupNoneTitle')}>
        {say('topupNoneText')}
      </Notice>
    </section>
  )
}
