/** The wallet page: one state of the session, one view. The same code renders its first state on the server. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PageData } from '../page-data.ts'
import { Account } from './account-panel.tsx'
import { Activity } from './activity.tsx'
import { call } from './call.ts'
import { PageContext, usePage } from './page-context.tsx'
import { Hero } from './hero.tsx'
import { Icon } from './icons.tsx'
import type { Parent } from './parent.ts'
import { firstLetter, Notice, Panel, TopBar } from './parts.tsx'
import { SignIn } from './sign-in.tsx'
import { Skeleton } from './skeleton.tsx'
import { openTopupWindow, topupUrl, type TopupWindow } from './topup-window.ts'
import { openWalletSession, type WalletSession, type WalletState } from './wallet-session.ts'

/** The session token and the parent, which only a browser has; absent while the server renders. */
export type Surroundings = { readonly token: string | null; readonly parent: Parent }

export function WalletApp({ page, here }: { page: PageData; here?: Surroundings }) {
  const [state, setState] = useState<WalletState>(firstState(page.kind))
  const session = useRef<WalletSession>(undefined)
  useEffect(() => {
    if (!here) return undefined
    session.current = openWalletSession(here.token, firstState(page.kind).kind, here.parent, setState)
    return () => session.current?.close()
  }, [])
  return (
    <PageContext.Provider value={page}>
      <View state={state} here={here} session={() => session.current!} />
    </PageContext.Provider>
  )
}

function firstState(kind: PageData['kind']): WalletState {
  if (kind === 'expired') return { kind, isStuck: false }
  return kind === 'session' ? { kind: 'loading' } : { kind }
}

type ViewProps = { state: WalletState; here: Surroundings | undefined; session: () => WalletSession }

function View({ state, here, session }: ViewProps) {
  const { say } = usePage()
  switch (state.kind) {
    case 'loading':
      return <Skeleton />
    case 'open':
      return <Wallet state={state} parent={here!.parent} session={session()} />
    case 'signed-out':
      return <SignIn parent={here?.parent} />
    case 'expired':
      return (
        <Framed>
          <Panel icon="clock" title={say('expiredTitle')} text={say('expiredText')} isBusy={!state.isStuck}>
            <p role="status">{say(state.isStuck ? 'expiredStuck' : 'renewing')}</p>
            {state.isStuck && here?.parent.isThere && (
              <button type="button" class="button" onClick={() => session().askForRenewal()}>
                {say('renew')}
              </button>
            )}
          </Panel>
        </Framed>
      )
    case 'ended':
      return (
        <Framed>
          <Panel icon="door" title={say('endedTitle')} text={say('endedText')}>
            <button
              type="button"
              class="button"
              onClick={() => {
                session().signOut()
                here?.parent.post({ type: 'SERVICE_AUTH_REQUIRED', version: 1 })
              }}
            >
              {say('signIn')}
            </button>
          </Panel>
        </Framed>
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
    <Framed>
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
    </Framed>
  )
}

function Framed({ children }: { children: ComponentChildren }) {
  return (
    <>
      <TopBar />
      {children}
    </>
  )
}

type OpenState = Extract<WalletState, { kind: 'open' }>

function Wallet({ state, parent, session }: { state: OpenState; parent: Parent; session: WalletSession }) {
  const page = usePage()
  const { words } = page
  const { wallet, isOffline } = state
  const [isAccount, setAccount] = useState(false)
  const [blockedUrl, setBlockedUrl] = useState<string>()
  const windows = useRef<TopupWindow>(undefined)

  // The top-up window gets each new session token, because a top-up may take longer than the session it was opened with.
  const token = session.token()
  useEffect(() => {
    if (token !== null) windows.current?.renew(token)
  }, [token])

  function topup(): void {
    const url = topupUrl(page, session.token()!)
    windows.current = openTopupWindow(url)
    const opened = windows.current !== undefined
    setBlockedUrl(opened ? undefined : url)
    parent.post({ type: 'SERVICE_OPEN_TOPUP', version: 1, opened, url })
  }

  async function leave(): Promise<void> {
    const last = session.token()
    session.signOut()
    parent.post({ type: 'SERVICE_LOGOUT_REQUEST', version: 1 })
    if (last !== null) await call('logout', last, {})
  }

  if (isAccount)
    return (
      <Account
        user={wallet.user}
        token={token}
        skewMs={state.clockSkewMs}
        onBack={() => setAccount(false)}
        onLeave={() => void leave()}
      />
    )
  return (
    <>
      <TopBar>
        <button type="button" class="avatar" title={words.account} onClick={() => setAccount(true)}>
          <span aria-hidden="true">{initials(wallet.user)}</span>
          <span class="visually-hidden">{words.account}</span>
        </button>
      </TopBar>
      <Connection isOffline={isOffline} />
      {wallet.frozenReason === 'debt' && (
        <Notice tone="bad" icon="alert" title={words.debtTitle}>
          {words.debtText}
        </Notice>
      )}
      {!wallet.isActive && wallet.frozenReason !== 'debt' && (
        <Notice tone="warn" icon="lock" title={words.frozenTitle}>
          {words.frozenText}
        </Notice>
      )}
      <div class="columns">
        <div class="hero-side">
          <Hero wallet={wallet} isStale={isOffline} onTopup={topup} />
          {blockedUrl && (
            <div role="status" class="notice info blocked">
              <Icon name="window" />
              <p>
                {words.popupBlocked}{' '}
                <a href={blockedUrl} target="_blank" rel="noopener" onClick={() => setBlockedUrl(undefined)}>
                  {words.openTopup}
                </a>{' '}
                <a href={blockedUrl}>{words.continueHere}</a>
              </p>
            </div>
          )}
        </div>
        <Activity transactions={wallet.transactions} skewMs={state.clockSkewMs} />
      </div>
    </>
  )
}

/** Offline, and for a moment "back online"; a screen reader hears both. */
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
