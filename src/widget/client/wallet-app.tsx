/** The wallet page: one view for each state of the session. The server renders the first state with the same code. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PageData } from '../page-data.ts'
import { Activity } from './activity/latest.tsx'
import { owedIn, send } from './call.ts'
import { formatMoney } from './format.ts'
import { PageContext, pageFor, usePage } from './page-context.tsx'
import { Glance } from './glance.tsx'
import { Hero } from './hero.tsx'
import { availableAtNeed } from './history-entry.ts'
import { LoadView, usePreload } from './load-view.tsx'
import type { Parent } from './parent.ts'
import { initialOf, Legal, Notice, Panel, Support, TopBar, useIsMounted } from './parts.tsx'
import { openerOf, usePlaces, type Place } from './places.ts'
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
          <LoadView name="ended" title={say('wallet')} onBack={() => session().signOut()}>
            {(Ended) => (
              <Ended
                reason={state.reason}
                onSignIn={(step) => session().signOut(step)}
                onRetry={() => session().retry()}
              />
            )}
          </LoadView>
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
  const { words, say, lang } = usePage()
  const { wallet } = state
  const session = visit.session()
  const token = session.token()
  const need = useNeed(wallet)
  const offer = useTopupOffer(parent, token, need, `${visit.topupWindows} ${wallet.balance}`)
  const places = usePlaces(wallet.linkKey, () => proofs.decline())
  const { place } = places
  const proofs = useProof(wallet, state.clockSkewMs, session, places.home)
  const isMounted = useIsMounted()
  const held = say('onHold', { amount: formatMoney(wallet.held, wallet.currency, lang) })
  usePreload()

  // Nothing but the last ten entries that are not private can be opened without the person.
  const isOpenToSession =
    place?.view === 'activity' &&
    !place.isInList &&
    wallet.transactions.some(({ sequence, isPrivate }) => sequence === place.sequence && !isPrivate)
  const isAllowed = place === null || place.view === 'holds' || isOpenToSession || proofs.has('person')
  const view = useAdmitted(place, isAllowed && proofs.prompt === null)
  useFocusOnOpener(view)

  useEffect(() => {
    if (!isAllowed) void proofs.ask('person', place.view === 'account')
  }, [wallet.proof, place])

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
          <Home state={state} need={need} offer={offer} token={visit.token} onOpen={places.go} />
        ) : view.view === 'account' ? (
          <LoadView name="account" title={words.account} onBack={places.back}>
            {(Account) => (
              <Account
                token={token}
                skewMs={state.clockSkewMs}
                currency={wallet.currency}
                part={view.part}
                onPart={(part) => places.go({ view: 'account', part })}
                onBack={places.back}
                onHome={places.home}
                onLeave={() => void leave()}
                onChanged={() => session.refresh()}
                onLanguage={onLanguage}
                held={held}
                onHolds={() => places.go({ view: 'holds' })}
              />
            )}
          </LoadView>
        ) : view.view === 'holds' ? (
          // The account leads here too: without a key its view would stay.
          <LoadView key="holds" name="pending" title={held} onBack={places.back}>
            {(View) => <View wallet={wallet} token={visit.token} skewMs={state.clockSkewMs} onBack={places.back} />}
          </LoadView>
        ) : (
          <LoadView name="activity" title={words.allActivity} onBack={places.back}>
            {(View) => (
              <View
                token={visit.token}
                version={wallet.transactions[0]?.sequence ?? 0}
                skewMs={state.clockSkewMs}
                latest={wallet.transactions}
                sequence={view.sequence}
                isInList={view.isInList ?? false}
                onOpen={({ sequence }) => places.go({ view: 'activity', sequence, isInList: true })}
                onBack={places.back}
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

type HomeProps = {
  state: OpenState
  need: Need | undefined
  offer: TopupOfferState
  token: () => string | null
  onOpen: (place: Place) => void
}

function Home({ state, need, offer, token, onOpen }: HomeProps) {
  const { words, say, lang, service } = usePage()
  const { wallet, isOffline } = state
  const proofs = useProofs()
  const openHolds = () => onOpen({ view: 'holds' })
  return (
    <>
      <TopBar>
        <button
          type="button"
          id="open-account"
          class="avatar"
          title={words.account}
          onClick={() => onOpen({ view: 'account' })}
        >
          <span aria-hidden="true">{initialOf(wallet.user)}</span>
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
          <Hero wallet={wallet} missing={need?.amount} isStale={isOffline} onTopup={offer.ask} onHolds={openHolds} />
          <TopupOffer offer={offer} />
          <Glance wallet={wallet} skewMs={state.clockSkewMs} token={token} />
        </div>
        <Activity
          wallet={wallet}
          skewMs={state.clockSkewMs}
          onOpen={({ sequence }) => onOpen({ view: 'activity', sequence })}
          onAll={() => onOpen({ view: 'activity' })}
          onHolds={openHolds}
          onSignIn={proofs.has('person') ? undefined : () => void proofs.ask('person')}
        />
        <Legal service={service} words={words} />
      </div>
    </>
  )
}

/** What is still missing of the amount that the app requested; undefined once it has been added. */
function useNeed(wallet: { readonly available: number; readonly linkKey: string }): Need | undefined {
  const { topup } = usePage()
  const { available } = wallet
  const [first] = useState(() => (topup.need === null ? available : availableAtNeed(topup, wallet)))
  if (topup.need === null) return undefined
  const minor = 10 ** topup.decimals
  const amount = (Math.round(topup.need * minor) - Math.round((available - first) * minor)) / minor
  return amount > 0 ? { amount, reason: topup.reason } : undefined
}

/**
 * The view to show: null until the place is allowed. A view that was shown stays mounted behind the prompt when its device ends
 * elsewhere, with what the user has typed.
 */
function useAdmitted(place: Place | null, isAllowed: boolean): Place | null {
  const admitted = useRef<Place['view']>(undefined)
  if (isAllowed) admitted.current = place?.view
  return place?.view === admitted.current ? place : null
}

/** When a view closes, the focus returns to the element that opened it; to the latest entries if that is gone, as after the last hold. */
function useFocusOnOpener(view: Place | null): void {
  const last = useRef<Place>(undefined)
  useEffect(() => {
    if (view) last.current = view
    else if (last.current)
      (document.getElementById(openerOf(last.current)) ?? document.getElementById('activity-label'))?.focus()
  }, [view])
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
