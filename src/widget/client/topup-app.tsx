/** The top-up page: first the amount, then the payment, which loads later. It opens in a separate window or in a frame. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PageData, TopupOffer } from '../page-data.ts'
import { owedIn, type WaitingTopup } from './call.ts'
import { Field } from './fields.tsx'
import { formatMoney } from './format.ts'
import { LoadView, usePreload } from './load-view.tsx'
import { PageContext, pageFor, Phrase, usePage } from './page-context.tsx'
import { Icon } from './icons.tsx'
import { isFramed } from './parent.ts'
import { Heading, Notice, Panel, Support, TopBar } from './parts.tsx'
import type { Surroundings } from './start.ts'
import { presetsFor, readTypedAmount, withinLimits } from './topup/offered-amounts.ts'
import { keepPayment, pushStep } from './topup/kept-topup.ts'
import { NeedText } from './topup/need.tsx'
import type { TopupOrder } from './topup/pay.tsx'
import { reportPaid, useNeed, useOrder } from './topup/use-kept-topup.ts'
import { requestSession, walletUrl } from './topup/window.ts'
import { ProofContext, type Proofs } from './use-proof.ts'
import { useWalletSession, type Visit } from './use-wallet-session.ts'
import type { WalletState } from './wallet-session.ts'

type Here = Surroundings & { paymentIntentId?: string | undefined; chosen?: string | undefined }

export function TopupApp({ page, here }: { page: PageData; here?: Here }) {
  const visit = useWalletSession(page, here)
  const { state, person } = visit
  const linkKey = state.kind === 'open' ? state.wallet.linkKey : undefined
  useSessionRequests(linkKey, state.kind)
  // The payment that a bank's page returned, and the amount chosen before the script ran, belong to the first user.
  const { paymentIntentId, chosen } = (person === 0 && here) || {}
  return (
    <PageContext.Provider value={pageFor(page, person)}>
      <ProofContext.Provider value={proofsOf(visit)}>
        <TopBar>
          <BackToWallet token={visit.token()} />
        </TopBar>
        <Topup key={person} visit={visit} paymentIntentId={paymentIntentId} chosen={chosen} />
      </ProofContext.Provider>
    </PageContext.Provider>
  )
}

/** The receipt of a top-up needs no more than the session, and this page has no prompt for more. */
function proofsOf({ token }: Visit): Proofs {
  return { token, has: () => false, ask: () => Promise.resolve(false), prompt: null, decline: () => undefined }
}

/** Only in a frame, which showed the wallet before; a window is closed instead. */
function BackToWallet({ token }: { token: string | null }) {
  const page = usePage<'topup'>()
  // Not in the first render, which must match the server's.
  const [isShown, setShown] = useState(false)
  useEffect(() => setShown(isFramed()), [])
  if (!isShown) return null
  return (
    <a class="round" href={walletUrl(page, token)} title={page.say('backToWallet')}>
      <Icon name="back" />
      <span class="visually-hidden">{page.say('backToWallet')}</span>
    </a>
  )
}

/** A window requests the session at once and repeatedly, faster after it has expired: the wallet may reload or be expired itself. */
function useSessionRequests(linkKey: string | undefined, kind: WalletState['kind']): void {
  const known = useRef<string>(undefined)
  known.current = linkKey ?? known.current
  useEffect(() => {
    const ask = () => {
      if (!isFramed() && known.current !== undefined) requestSession(known.current)
    }
    ask()
    const timer = setInterval(ask, kind === 'expired' ? 1_000 : 15_000)
    return () => clearInterval(timer)
  }, [linkKey, kind])
}

type TopupProps = { visit: Visit; paymentIntentId: string | undefined; chosen: string | undefined }

function Topup({ visit, paymentIntentId, chosen }: TopupProps) {
  const { topup, say } = usePage<'topup'>()
  const { state } = visit
  const wallet = state.kind === 'open' ? state.wallet : undefined
  const [order, setOrder] = useOrder(visit, paymentIntentId)
  const ordered = useRef<string | null>(null)
  const need = useNeed(wallet)
  usePreload()
  // Keep the card form while the session is renewed; a call that fails in the meantime shows its own error.
  const isPaying = order !== undefined && state.kind !== 'ended' && state.kind !== 'signed-out'
  if (!isPaying && state.kind !== 'open' && state.kind !== 'loading')
    return <Trouble state={state} visit={visit} hasOrder={order !== undefined} />
  if (topup.processor === 'none') return <Panel icon="card" title={say('topupNoneTitle')} text={say('topupNoneText')} />
  if (wallet?.frozenReason === 'operator' && order === undefined)
    return (
      <Panel icon="lock" title={say('frozenTitle')} text={say('topupFrozenText')}>
        <Support />
      </Panel>
    )
  const owed = wallet ? owedIn(wallet) : 0
  const into = <IntoWallet user={wallet?.user} />
  if (order === undefined)
    return (
      // The debt is known only after the wallet is loaded; the key then resets the form to offer it.
      <AmountForm
        key={`${owed} ${need.need}`}
        offer={{ ...topup, ...need }}
        owed={owed}
        waiting={wallet?.waiting}
        before={chosen}
        onAmount={(amount) => {
          pushStep()
          setOrder({ amount, owed, replaces: ordered.current })
        }}
      >
        {into}
      </AmountForm>
    )
  const chooseAmount = () => {
    pushStep()
    setOrder(undefined)
  }
  const waiting = <WaitingForPayment order={order}>{into}</WaitingForPayment>
  return (
    <LoadView name="pay" title={say('addMoney')} onBack={chooseAmount} waiting={waiting}>
      {(Pay) =>
        // The session that may ask about the payment is not known yet.
        state.kind === 'loading' ? (
          waiting
        ) : (
          <Pay
            key={'paymentIntentId' in order ? order.paymentIntentId : 'new'}
            order={order}
            visit={visit}
            onOrdered={({ paymentIntentId: id, amount }) => {
              ordered.current = id
              keepPayment({ paymentIntentId: id, amount })
            }}
            onPaid={(amount) => reportPaid(visit, amount)}
            onChangeAmount={chooseAmount}
            onStartAgain={() => {
              ordered.current = null
              chooseAmount()
            }}
          >
            {into}
          </Pay>
        )
      }
    </LoadView>
  )
}

/** In the place of the payment's first state, so that nothing moves when it appears. */
function WaitingForPayment({ order, children }: { order: TopupOrder; children: ComponentChildren }) {
  const { lang, topup, say } = usePage<'topup'>()
  if ('paymentIntentId' in order) return <Panel icon="card" isBusy title={say('topupChecking')} />
  const { amount, owed } = order
  const word = owed > 0 && amount <= owed ? 'repay' : 'addAmount'
  return (
    <section class="topup card stack" aria-busy="true">
      <div class="topup-head">
        <Heading>{say(word, { amount: formatMoney(amount, topup.currency, lang) })}</Heading>
        {children}
      </div>
      <p class="muted" role="status">
        {say('topupPreparing')}
      </p>
    </section>
  )
}

/** Names the user whose wallet gets the money, because another user may have signed in. Its line is reserved until the name is known. */
function IntoWallet({ user }: { user: { firstName: string; lastName: string } | undefined }) {
  const name = user && `${user.firstName} ${user.lastName}`.trim()
  return <p class="muted">{name === undefined ? '\u00a0' : <Phrase word="topupInto" values={{ name }} />}</p>
}

type TroubleProps = {
  state: Exclude<WalletState, { kind: 'open' | 'loading' }>
  visit: Visit
  hasOrder: boolean
}

/** Shown without a session. A frame requests one from the parent page; a window from the wallet that opened it, if that still exists. */
function Trouble({ state, visit, hasOrder }: TroubleProps) {
  const page = usePage<'topup'>()
  const { say } = page
  if (state.kind === 'ended' || state.kind === 'signed-out')
    return (
      <LoadView name="ended" title={say('wallet')}>
        {(Ended) => (
          <Ended
            reason={state.kind === 'ended' ? state.reason : undefined}
            note={hasOrder ? say('topupLands') : undefined}
            onSignIn={isFramed() ? () => location.assign(walletUrl(page, null)) : undefined}
            onRetry={() => visit.session().retry()}
          />
        )}
      </LoadView>
    )
  if (state.kind === 'failed')
    return (
      <Panel icon="cloud" title={say('noNetworkTitle')} text={say('notReached')}>
        <button type="button" class="button" onClick={() => visit.session().retry()}>
          {say('retry')}
        </button>
      </Panel>
    )
  const text = say(isFramed() ? 'expiredText' : 'topupExpiredText')
  return (
    <Panel icon="clock" title={say('expiredTitle')} text={hasOrder ? `${say('topupLands')} ${text}` : text}>
      {isFramed() && (
        <>
          <p role="status">{say(state.isStuck ? 'expiredStuck' : 'renewing')}</p>
          {state.isStuck && (
            <button type="button" class="button" onClick={() => visit.session().askForRenewal()}>
              {say('renew')}
            </button>
          )}
        </>
      )}
    </Panel>
  )
}

type AmountProps = {
  offer: TopupOffer
  /** The debt of the wallet. */
  owed: number
  /**
   * Top-ups that the bank is still processing; undefined until the wallet is known. Until then the user cannot continue: the entry of
   * the history does not have the balance yet from which the need is counted.
   */
  waiting: readonly WaitingTopup[] | undefined
  before: string | undefined
  onAmount: (amount: number) => void
  children: ComponentChildren
}

function AmountForm({ offer, owed, waiting, before, onAmount, children }: AmountProps) {
  const { lang, say } = usePage<'topup'>()
  const wanted = Math.max(owed, offer.need ?? 0)
  const presets = presetsFor(offer, wanted)
  // The amount of a need that has been met since is not offered any more.
  const isOffered = before === 'other' || presets.includes(Number(before))
  const first = owed === 0 && isOffered ? before : wanted > 0 ? presets[0] : (presets[1] ?? presets[0] ?? 'other')
  const [chosen, setChosen] = useState<number | 'other'>(presets.includes(Number(first)) ? Number(first) : 'other')
  const [problem, setProblem] = useState<string>()

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const typed = form.querySelector<HTMLInputElement>('[name=other]')
    const read = chosen === 'other' ? readTypedAmount(typed?.value ?? '', offer, { lang, say }) : { amount: chosen }
    setProblem('problem' in read ? read.problem : undefined)
    if ('amount' in read) onAmount(read.amount)
    else typed?.focus()
  }

  return (
    <form class="topup card stack" noValidate onSubmit={submit}>
      <div class="topup-head">
        <Heading>{say('addMoney')}</Heading>
        {children}
      </div>
      {waiting && waiting.length > 0 && (
        <Notice tone="info" icon="clock">
          {say('onItsWay', { amount: formatMoney(sumOf(waiting), offer.currency, lang) })}
        </Notice>
      )}
      <Wanted offer={offer} owed={owed} wanted={wanted} />
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
              <span class="money">{presetText(preset, offer.currency, lang)}</span>
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
          // Longer than any amount: a pasted amount that loses its end is another amount.
          maxLength={100}
          problem={problem}
        />
      )}
      <button class="button" disabled={!waiting}>
        {say('continue')}
      </button>
    </form>
  )
}

function sumOf(topups: readonly WaitingTopup[]): number {
  return topups.reduce((sum, { amount }) => sum + amount, 0)
}

/** Explains the first amount, and why it differs from the missing amount. */
function Wanted({ offer, owed, wanted }: { offer: TopupOffer; owed: number; wanted: number }) {
  const { lang, say } = usePage<'topup'>()
  const { currency, min, max, need, reason } = offer
  const money = (amount: number) => formatMoney(amount, currency, lang)
  if (wanted === 0) return null
  const within = withinLimits(wanted, offer)
  return (
    <Notice tone={owed > 0 ? 'warn' : 'info'} icon={owed > 0 ? 'alert' : 'card'}>
      {owed > 0 && <p>{say('debtText', { amount: money(owed) })}</p>}
      {need !== null && (
        <p>
          <NeedText need={{ amount: need, reason }} />
        </p>
      )}
      {within > wanted && <p>{say('topupAtLeast', { min: money(min) })}</p>}
      {within < wanted && <p>{say('topupAtMost', { max: money(max) })}</p>}
    </Notice>
  )
}

/** Whole amounts are shown without decimals. */
function presetText(amount: number, currency: string, lang: string): string {
  if (!Number.isInteger(amount)) return formatMoney(amount, currency, lang)
  const style = { style: 'currency', currency, currencyDisplay: 'narrowSymbol', maximumFractionDigits: 0 } as const
  return new Intl.NumberFormat(lang, style).format(amount)
}
