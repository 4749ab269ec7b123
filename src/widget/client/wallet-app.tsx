/** The wallet page: one view for each state of the session. The server renders the first state with the same code. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { laterViews } from '../later-views.ts'
import type { PageData } from '../page-data.ts'
import { Activity } from './activity/latest.tsx'
import { send, type WidgetTransaction } from './call.ts'
import { formatMoney } from './format.ts'
import { PageContext, pageFor, usePage } from './page-context.tsx'
import { Hero, owedIn } from './hero.tsx'
import { LoadView, usePreload } from './load-view.tsx'
import type { Parent } from './parent.ts'
import { firstLetter, Notice, Panel, Support, TopBar, useIsMounted } from './parts.tsx'
import { SignIn } from './sign-in.tsx'
import { Skeleton } from './skeleton.tsx'
import type { Surroundings } from './start.ts'
import { NeedText } from './topup/need.tsx'
import { TopupOffer, useTopupOffer, type TopupOfferState } from './topup/offer.tsx'
import type { Need } from './topup/window.ts'
import { useLanguage } from './use-language.ts'
import { ProofContext, useProof, useProofs } from './use-proof.ts'
import { useWalletSession, type Visit } from './use-wallet-session.ts'
import type { WalletState } from './wallet-session.ts'

export function WalletApp({ page: first, here }: { page: PageData; here?: Surroundings }) {
  const visit = useWalletSession(first, here)
  const { page, choose } = useLanguage(first)
  const chosen = languageIn(visit.state)
  useEffect(() => {
    if (chosen !== undefined) void choose(chosen)
  }, [chosen, visit.person])
  return (
    <PageContext.Provider value={pageFor(page, visit.person)}>
      <View visit={visit} parent={here?.parent} onLanguage={choose} />
    </PageContext.Provider>
  )
}

/** The language that the user has chosen; null if none or if no user is signed in; undefined while it is not known. */
function languageIn(state: WalletState): string | null | undefined {
  if (state.kind === 'open') return state.wallet.user.language
  return state.kind === 'signed-out' ? null : undefined
}

type OnLanguage = (lang: string) => Promise<void>
type ViewProps = { visit: Visit; parent: Parent | undefined; onLanguage: OnLanguage }

function View({ visit, parent, onLanguage }: ViewProps) {
  const { say } = usePage()
  const { state, session } = visit
  switch (state.kind) {
    case 'loading':
      return <Skeleton />
    case 'open':
      return <Wallet key={visit.person} state={state} parent={parent!} visit={visit} onLanguage={onLanguage} />
    case 'signed-out':
      return <SignIn parent={parent} first={state.step} />
    case 'expired':
      return (
        <WithTopBar>
          <Panel icon="clock" title={say('expiredTitle')} text={say('expiredText')} isBusy={!state.isStuck}>
            <p role="status">{say(state.isStuck ? 'expiredStuck' : 'renewing')}</p>
            {state.isStuck && parent?.isThere && (
              <>
                <button type="button" class="button" onClick={() => session().askForRenewal()}>
                  {say('renew')}
                </button>
                <button type="button" class="button quiet" onClick={() => session().signOut()}>
                  {say('signIn')}
                </button>
              </>
            )}
          </Panel>
        </WithTopBar>
      )
    case 'ended':
      return (
        <WithTopBar>
          <Panel icon="door" title={say('endedTitle')} text={say('endedText')}>
            <button type="button" class="button" onClick={() => session().signOut()}>
              {say('signIn')}
            </button>
          </Panel>
        </WithTopBar>
      )
    case 'failed':
      return <Failed code={state.code} onRetry={() => session().retry()} />
    default:
      return state satisfies never
  }
}

function Failed({ code, onRetry }: { code: string; onRetry: () => void }) {
  const { words } = usePage()
  const isAway = code === 'NO_NETWORK'
  return (
    <WithTopBar>
      <Panel
        icon={isAway ? 'cloud' : 'alert'}
        tone={isAway ? 'calm' : 'bad'}
        title={isAway ? words.noNetworkTitle : words.failedTitle}
        text={isAway ? words.noNetworkText : words.failedText}
      >
        <button type="button" class="button" onClick={onRetry}>
          {words.retry}
        </button>
      </Panel>
    </WithTopBar>
  )
}

function WithTopBar({ children }: { children: ComponentChildren }) {
  return (
    <>
      <TopBar />
      {children}
    </>
  )
}

type OpenState = Extract<WalletState, { kind: 'open' }>

type WalletProps = { state: OpenState; parent: Parent; visit: Visit; onLanguage: OnLanguage }

function Wallet({ state, parent, visit, onLanguage }: WalletProps) {
  const { words } = usePage()
  const { wallet } = state
  const [view, setView] = useOpened()
  const session = visit.session()
  const token = session.token()
  const need = useNeed(wallet.balance)
  const offer = useTopupOffer(parent, token, need, `${visit.topupWindows} ${wallet.balance}`)
  const proofs = useProof(wallet, state.clockSkewMs, session, () => setView(null))
  const isMounted = useIsMounted()
  usePreload(laterViews)

  // Nothing but the last ten entries that are not private can be opened without the person.
  const isOpenToSession = ({ entry }: Opened) =>
    wallet.transactions.some(({ id, isPrivate }) => id === entry?.id && !isPrivate)

  // The device was ended elsewhere: a view that needs it waits behind the prompt.
  useEffect(() => {
    if (view && !isOpenToSession(view) && !proofs.has('person')) void proofs.ask('person')
  }, [wallet.proof])

  async function open(next: Opened): Promise<void> {
    const isAllowed = proofs.has('person') || isOpenToSession(next)
    if (isAllowed || (await proofs.ask('person', next.name === 'account'))) setView(next)
  }

  async function leave(): Promise<void> {
    const last = session.token()
    // A late answer for the previous user must not sign out the current one. Without a token the event stream has already reported the
    // end of the session: then the parent still needs to know that the user asked for it.
    if (!isMounted() && last !== null) return
    // Sent before the session and the device are dropped: it ends both.
    const ended = last !== null && send('logout', last, {})
    session.signOut()
    parent.post({ type: 'SERVICE_LOGOUT_REQUEST', version: 1 })
    await ended
  }

  return (
    <ProofContext.Provider value={proofs}>
      <div class="shown" hidden={proofs.prompt !== null}>
        {view === null ? (
          <Home state={state} need={need} offer={offer} onOpen={(next) => void open(next)} />
        ) : view.name === 'account' ? (
          <LoadView name="account" title={words.account} onBack={() => setView(null)}>
            {(Account) => (
              <Account
                token={token}
                skewMs={state.clockSkewMs}
                currency={wallet.currency}
                onBack={() => setView(null)}
                onLeave={() => void leave()}
                onChanged={() => session.refresh()}
                onLanguage={onLanguage}
              />
            )}
          </LoadView>
        ) : (
          <LoadView name="activity" title={words.allActivity} onBack={() => setView(null)}>
            {(View) => (
              <View
                token={visit.token}
                version={wallet.transactions[0]?.sequence ?? 0}
                skewMs={state.clockSkewMs}
                entry={newestOf(view.entry, wallet.transactions)}
                onBack={() => setView(null)}
              />
            )}
          </LoadView>
        )}
      </div>
      {proofs.prompt && (
        <LoadView name="prove" title={words.signIn} onBack={() => proofs.prompt?.answer(false)}>
          {(Prompt) => (
            <Prompt
              prompt={proofs.prompt!}
              firstName={wallet.user.firstName}
              token={proofs.token}
              readProof={() => session.readProof()}
              onForgot={() => session.signOut('forgot')}
              onLeave={() => void leave()}
            />
          )}
        </LoadView>
      )}
    </ProofContext.Provider>
  )
}

/** The entry as the wallet has it now, if it is among the last ten and not private. */
function newestOf(entry: WidgetTransaction | undefined, transactions: readonly WidgetTransaction[]) {
  return transactions.find(({ id, isPrivate }) => id === entry?.id && !isPrivate) ?? entry
}

type HomeProps = {
  state: OpenState
  need: Need | undefined
  offer: TopupOfferState
  onOpen: (next: Opened) => void
}

function Home({ state, need, offer, onOpen }: HomeProps) {
  const { words, say, lang } = usePage()
  const { wallet, isOffline } = state
  const proofs = useProofs()
  return (
    <>
      <TopBar>
        <button
          type="button"
          id="open-account"
          class="avatar"
          title={words.account}
          onClick={() => onOpen({ name: 'account', opener: 'open-account' })}
        >
          <span aria-hidden="true">{initials(wallet.user)}</span>
          <span class="visually-hidden">{words.account}</span>
        </button>
      </TopBar>
      <Connection isOffline={isOffline} />
      {wallet.frozenReason === 'debt' && (
        <Notice tone="bad" icon="alert" title={words.debtTitle}>
          {say('debtText', { amount: formatMoney(owedIn(wallet), wallet.currency, lang) })}
        </Notice>
      )}
      {!wallet.isActive && wallet.frozenReason !== 'debt' && (
        <Notice tone="warn" icon="lock" title={words.frozenTitle}>
          {words.frozenText} <Support />
        </Notice>
      )}
      {need && (
        <Notice tone="info" icon="card">
          <NeedText need={need} />
        </Notice>
      )}
      <div class="columns">
        <div class="hero-side">
          <Hero wallet={wallet} missing={need?.amount} isStale={isOffline} onTopup={offer.ask} />
          <TopupOffer offer={offer} />
        </div>
        <Activity
          transactions={wallet.transactions}
          waiting={wallet.waiting}
          currency={wallet.currency}
          skewMs={state.clockSkewMs}
          onOpen={(entry) => onOpen({ name: 'activity', opener: `entry-${entry.sequence}`, entry })}
          onAll={() => onOpen({ name: 'activity', opener: 'all-activity' })}
          onSignIn={proofs.has('person') ? undefined : () => void proofs.ask('person')}
        />
      </div>
    </>
  )
}

/** What is still missing of the amount that the app requested; undefined once it has been added. */
function useNeed(balance: number): Need | undefined {
  const { topup } = usePage()
  const first = useRef(balance)
  if (topup.need === null) return undefined
  const minor = 10 ** topup.decimals
  const amount = (Math.round(topup.need * minor) - Math.round((balance - first.current) * minor)) / minor
  return amount > 0 ? { amount, reason: topup.reason } : undefined
}

/** The open view and the id of the element that opened it. */
type Opened = {
  readonly name: 'account' | 'activity'
  readonly opener: string
  /** The entry of which the activity shows the details. */
  readonly entry?: WidgetTransaction
}

/** When the view closes, the focus returns to the element that opened it. */
function useOpened() {
  const [view, setView] = useState<Opened | null>(null)
  const opener = useRef<string>(undefined)
  useEffect(() => {
    if (view) opener.current = view.opener
    else if (opener.current) document.getElementById(opener.current)?.focus()
  }, [view])
  return [view, setView] as const
}

/** Shows "offline", and briefly "back online". Screen readers announce both. */
function Connection({ isOffline }: { isOffline: boolean }) {
  const { words } = usePage()
  const wasOffline = useRef(false)
  const [isBack, setBack] = useState(false)
  useEffect(() => {
    if (isOffline) {
      wasOffline.current = true
      setBack(false)
      return undefined
    }
    if (!wasOffline.current) return undefined
    wasOffline.current = false
    setBack(true)
    const timer = setTimeout(() => setBack(false), 4000)
    return () => clearTimeout(timer)
  }, [isOffline])
  return (
    <div role="status" class="connection">
      {isOffline && (
        <Notice tone="warn" icon="cloud" title={words.offlineTitle}>
          {words.offlineText}
        </Notice>
      )}
      {isBack && (
        <Notice tone="good" icon="check">
          {words.backOnline}
        </Notice>
      )}
    </div>
  )
}

function initials({ firstName, lastName }: { firstName: string; lastName: string }): string {
  return [firstName, lastName].map((name) => firstLetter(name)).join('')
}
