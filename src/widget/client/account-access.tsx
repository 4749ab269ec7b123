/** Where the user is signed in, and what happened to the account. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Ask, Loaded, News, useAsking, type Load } from './account-form.tsx'
import type { PartProps } from './account-panel.tsx'
import { call } from './call.ts'
import { exactTime, relativeTime } from './format.ts'
import { Icon, type IconName } from './icons.tsx'
import { usePage } from './page-context.tsx'
import { AppMark, useIsHere } from './parts.tsx'

type Browser = { browser: string | null; lastAt: string; isLive: boolean; isThis: boolean; isThisNetwork: boolean }
type SignedInApp = { clientId: string; appName: string; isThisApp: boolean; since: string; browsers: Browser[] }

/** `Firefox/Linux`, of which either may be missing, as people say it. */
function useBrowserName() {
  const { say } = usePage<'account'>()
  return (name: string | null): string => {
    const [browser, system] = (name ?? '').split('/')
    if (browser && system) return say('browserOn', { browser, system })
    return browser || system || say('unknownBrowser')
  }
}

function useAgo(skewMs: number) {
  const { lang } = usePage()
  return (at: string) => relativeTime(new Date(at), new Date(Date.now() + skewMs), lang)
}

export function SignedIn({ token, skewMs, onLeave }: PartProps) {
  const { say } = usePage<'account'>()
  const [load, setLoad] = useState<Load<readonly SignedInApp[]>>({ kind: 'loading' })
  const [news, setNews] = useState('')
  const [isAsking, setAsking, askButton] = useAsking()
  const list = useRef<HTMLUListElement>(null)
  const isHere = useIsHere()

  async function read(): Promise<void> {
    const { body, failure } = asReply(await call<{ apps: SignedInApp[] }>('account/signed-in', token))
    if (isHere()) setLoad(failure ? { kind: 'failed' } : { kind: 'there', value: body!.apps })
  }
  useEffect(() => void read(), [])

  async function signOut(app: SignedInApp): Promise<boolean> {
    const { failure } = await call('account/sign-out', token, { clientId: app.clientId })
    if (failure) return false
    if (app.isThisApp) onLeave()
    else {
      setNews(say('signedOutOf', { app: app.appName }))
      await read()
      list.current?.focus()
    }
    return true
  }

  async function signOutEverywhere(): Promise<boolean> {
    const { failure } = await call('account/sign-out-everywhere', token, {})
    if (!failure) onLeave()
    return !failure
  }

  return (
    <>
      <p class="muted">{say('signedInText')}</p>
      <News text={news} />
      <Loaded load={load} onRetry={() => void read()}>
        {(apps) => (
          <ul role="list" ref={list} tabIndex={-1} aria-label={say('signedIn')}>
            {apps.map((app) => (
              <SignedInEntry key={app.clientId} app={app} skewMs={skewMs} onSignOut={() => signOut(app)} />
            ))}
          </ul>
        )}
      </Loaded>
      {isAsking ? (
        <Ask
          title={say('signOutAllAsk')}
          text={say('signOutAllText')}
          button={say('signOutAll')}
          onYes={signOutEverywhere}
          onNo={() => setAsking(false)}
        />
      ) : (
        <button type="button" class="button quiet" ref={askButton} onClick={() => setAsking(true)}>
          <Icon name="door" />
          {say('signOutAll')}
        </button>
      )}
    </>
  )
}

type SignedInEntryProps = { app: SignedInApp; skewMs: number; onSignOut: () => Promise<boolean> }

function SignedInEntry({ app, skewMs, onSignOut }: SignedInEntryProps) {
  const { lang, say } = usePage<'account'>()
  const [isAsking, setAsking, askButton] = useAsking()
  const ago = useAgo(skewMs)
  const browserName = useBrowserName()
  const { appName } = app
  if (isAsking)
    return (
      <li>
        <Ask
          title={say('signOutAsk', { app: appName })}
          text={say('signOutText', { app: appName })}
          button={say('signOut')}
          onYes={onSignOut}
          onNo={() => setAsking(false)}
        />
      </li>
    )
  return (
    <li class="entry">
      <AppMark name={appName} />
      <div class="entry-text">
        <span class="entry-title">
          <bdi>{appName}</bdi> {app.isThisApp && <span class="badge good">{say('thisApp')}</span>}
        </span>
        <time class="entry-when" dateTime={app.since} title={exactTime(new Date(app.since), lang)}>
          {say('since', { date: ago(app.since) })}
        </time>
      </div>
      <button
        type="button"
        class="button quiet small"
        ref={askButton}
        aria-label={say('signOutOf', { app: appName })}
        onClick={() => setAsking(true)}
      >
        {say('signOut')}
      </button>
      {app.browsers.length > 0 && (
        <ul role="list" class="browsers">
          {app.browsers.map((each, at) => (
            <li key={at}>
              <span>
                {browserName(each.browser)} {each.isThis && <span class="badge good">{say('thisBrowser')}</span>}
              </span>
              <span class="muted">
                {each.isLive ? say('openNow') : say('lastUsed', { date: ago(each.lastAt) })}
                {' · '}
                {say(each.isThisNetwork ? 'sameNetwork' : 'otherNetwork')}
              </span>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

type AccountEvent = {
  id: string
  at: string
  event: string
  by: 'you' | 'support'
  appName: string | null
  browser: string | null
  isEverywhere: boolean
}

const eventWords = {
  created: ['eventCreated', 'person'],
  'signed-in': ['eventSignedIn', 'lock'],
  'signed-out': ['eventSignedOut', 'door'],
  'password-changed': ['eventPassword', 'lock'],
  'email-changed': ['eventEmail', 'mail'],
  'name-changed': ['eventName', 'person'],
  'data-exported': ['eventExported', 'receipt'],
  'app-connected': ['eventConnected', 'plus'],
  'app-disconnected': ['eventDisconnected', 'swap'],
  frozen: ['eventFrozen', 'alert'],
  unfrozen: ['eventUnfrozen', 'check'],
} as const satisfies Record<string, readonly [string, IconName]>

export function History({ token, skewMs }: PartProps) {
  const { say } = usePage<'account'>()
  const [load, setLoad] = useState<Load<readonly AccountEvent[]>>({ kind: 'loading' })
  const [next, setNext] = useState<string | null>(null)
  const [hasFailed, setFailed] = useState(false)
  const list = useRef<HTMLUListElement>(null)
  const isHere = useIsHere()

  async function read(before: string | null): Promise<void> {
    const reply = asReply(
      await call<{ events: AccountEvent[]; nextBefore: string | null }>('account/history', token, undefined, {
        ...(before !== null && { before }),
      }),
    )
    if (!isHere()) return
    setFailed(reply.failure !== undefined)
    if (!reply.body) {
      if (before === null) setLoad({ kind: 'failed' })
      return
    }
    const { events, nextBefore } = reply.body
    const shown = load.kind === 'there' && before !== null ? load.value : []
    setLoad({ kind: 'there', value: [...shown, ...events] })
    setNext(nextBefore)
    // The button may be gone with the last page: the reader goes on at the first entry that has come.
    if (before !== null)
      requestAnimationFrame(() => (list.current?.children[shown.length] as HTMLElement | undefined)?.focus())
  }
  useEffect(() => void read(null), [])

  return (
    <>
      <p class="muted">{say('historyText')}</p>
      <Loaded load={load} onRetry={() => void read(null)}>
        {(events) => (
          <ul role="list" ref={list} class="history">
            {events.map((each) => (
              <HistoryEntry key={each.id} event={each} skewMs={skewMs} />
            ))}
          </ul>
        )}
      </Loaded>
      <div role="alert">{hasFailed && load.kind === 'there' && <p class="problem">{say('notReached')}</p>}</div>
      {next !== null && (
        <button type="button" class="button quiet" onClick={() => void read(next)}>
          {say('older')}
        </button>
      )}
    </>
  )
}

function HistoryEntry({ event, skewMs }: { event: AccountEvent; skewMs: number }) {
  const { lang, say } = usePage<'account'>()
  const ago = useAgo(skewMs)
  const browserName = useBrowserName()
  const [word, icon] = eventWords[event.event as keyof typeof eventWords] ?? ['eventOther', 'clock']
  const app = event.appName ?? ''
  const title = event.isEverywhere ? say('eventSignedOutAll') : say(word, { app })
  const isAboutApp = event.event.startsWith('app-')
  const details = [
    event.by === 'support' && say('bySupport'),
    event.browser !== null && browserName(event.browser),
    app !== '' && !isAboutApp && say('inApp', { app }),
  ].filter((text) => text !== false)
  return (
    <li class="entry" tabIndex={-1}>
      <span class="entry-icon">
        <Icon name={icon} />
      </span>
      <div class="entry-text">
        <span class="entry-title">{title}</span>
        <span class="entry-when">
          <time dateTime={event.at} title={exactTime(new Date(event.at), lang)}>
            {ago(event.at)}
          </time>
          {details.map((text) => ` · ${text}`).join('')}
        </span>
      </div>
    </li>
  )
}

/** Both halves of a reply at once, for those who look at each. */
function asReply<T>(reply: { readonly body?: T; readonly failure?: unknown }) {
  return { body: reply.body, failure: reply.failure }
}
