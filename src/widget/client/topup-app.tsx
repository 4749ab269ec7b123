/** The top-up page: how much, then the card. It opens in a window of its own, or in a frame. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PageData, TopupOffer } from '../page-data.ts'
import { call, type WidgetWallet } from './call.ts'
import { Field } from './fields.tsx'
import { formatMoney } from './format.ts'
import { PageContext, usePage } from './page-context.tsx'
import { Icon } from './icons.tsx'
import { openParent } from './parent.ts'
import { Heading, Panel, TopBar } from './parts.tsx'
import { parseTypedAmount, presetsFor, typedAmount } from './topup-amounts.ts'
import { TopupCard, type TopupCardProps } from './topup-card.tsx'

type Here = { token: string | null; paymentIntentId?: string | undefined }

export function TopupApp({ page, here }: { page: PageData; here?: Here }) {
  return (
    <PageContext.Provider value={page}>
      <TopBar />
      <Topup first={here?.token ?? null} paymentIntentId={here?.paymentIntentId} />
    </PageContext.Provider>
  )
}

type Load = { kind: 'loading' } | { kind: 'there'; wallet: WidgetWallet } | { kind: 'refused'; code: string }

function Topup({ first, paymentIntentId }: { first: string | null; paymentIntentId: string | undefined }) {
  const { kind, topup, say } = usePage()
  const token = useRef(first)
  const [load, setLoad] = useState<Load>(
    kind === 'session' ? { kind: 'loading' } : { kind: 'refused', code: 'SESSION_EXPIRED' },
  )
  const [order, setOrder] = useState<TopupCardProps['order']>()

  async function read(): Promise<void> {
    const reply = await call<WidgetWallet>('wallet', token.current)
    setLoad(reply.failure ? { kind: 'refused', code: reply.failure.code } : { kind: 'there', wallet: reply.body })
  }

  useEffect(() => {
    if (kind === 'session') void read()
    if (paymentIntentId !== undefined) setOrder({ paymentIntentId })
    // The wallet page that opened this window posts a new session token before the old one ends.
    return openParent([location.origin], window.opener as Window | null).listen((renewed) => (token.current = renewed))
  }, [])

  if (load.kind === 'refused') {
    const isAway = load.code === 'NO_NETWORK' || load.code === 'UNAVAILABLE'
    return isAway ? (
      <Panel icon="cloud" title={say('noNetworkTitle')} text={say('notReached')}>
        <button type="button" class="button" onClick={() => void read()}>
          {say('retry')}
        </button>
      </Panel>
    ) : (
      <Panel icon="clock" title={say('expiredTitle')} text={say('topupExpiredText')} />
    )
  }
  if (topup.processor === 'none') return <Panel icon="card" title={say('topupNoneTitle')} text={say('topupNoneText')} />
  if (load.kind === 'there' && !load.wallet.isActive)
    return <Panel icon="lock" title={say('frozenTitle')} text={say('topupFrozenText')} />
  if (order === undefined) return <AmountForm offer={topup} onAmount={(amount) => setOrder({ amount })} />
  return <TopupCard order={order} token={() => token.current} onChangeAmount={() => setOrder(undefined)} />
}

function AmountForm({ offer, onAmount }: { offer: TopupOffer; onAmount: (amount: number) => void }) {
  const { lang, say } = usePage()
  const { currency, min, max } = offer
  const presets = presetsFor(offer)
  const first = offer.amount ?? presets[1] ?? presets[0] ?? 'other'
  const [chosen, setChosen] = useState<number | 'other'>(presets.includes(Number(first)) ? first : 'other')
  const [isWrong, setWrong] = useState(false)
  const money = (amount: number) => formatMoney(amount, currency, lang)

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const typed = form.querySelector<HTMLInputElement>('[name=other]')
    const amount = chosen === 'other' ? parseTypedAmount(typed?.value ?? '', offer) : chosen
    setWrong(amount === undefined)
    if (amount !== undefined) onAmount(amount)
    else typed?.focus()
  }

  return (
    <form class="topup card stack" noValidate onSubmit={submit}>
      <Heading>{say('addMoney')}</Heading>
      <fieldset>
        <legend class="visually-hidden">{say('amount')}</legend>
        <div class="presets">
          {presets.map((preset) => (
            <label class="preset" key={preset}>
              <input
                type="radio"
                name="amount"
                value={preset}
                checked={chosen === preset}
                onChange={() => setChosen(preset)}
              />
              <span class="money">{presetText(preset, currency, lang)}</span>
              <Icon name="check" />
            </label>
          ))}
          <label class="preset other">
            <input
              type="radio"
              name="amount"
              value="other"
              checked={chosen === 'other'}
              onChange={() => setChosen('other')}
            />
            {say('otherAmount')}
            <Icon name="check" />
          </label>
        </div>
      </fieldset>
      {chosen === 'other' && (
        <Field
          name="other"
          label={say('amount')}
          inputMode="decimal"
          autoComplete="off"
          maxLength={20}
          value={offer.amount === null ? '' : typedAmount(offer.amount, lang)}
          problem={isWrong ? say('amountWrong', { min: money(min), max: money(max) }) : undefined}
        />
      )}
      <button class="button">{say('continue')}</button>
    </form>
  )
}

/** Preset amounts are whole units, so they are shown without decimals. */
function presetText(amount: number, currency: string, lang: string): string {
  const style = { style: 'currency', currency, currencyDisplay: 'narrowSymbol', maximumFractionDigits: 0 } as const
  return new Intl.NumberFormat(lang, style).format(amount)
}
