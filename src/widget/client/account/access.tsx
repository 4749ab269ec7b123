/** Where the user is signed in, and the history of the account. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type Failure } from '../call.ts'
import { exactTime } from '../format.ts'
import { Icon, type IconName } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { useIsMounted } from '../parts.tsx'
import type { PartProps } from './account.tsx'
import { AppList, useAgo } from './app-list.tsx'
import { useBrowserName } from './use-browser-name.ts'
import { Devices, type Device } from './devices.tsx'
import { Ask, Loaded, useAsking, type Load } from './part-form.tsx'

type Browser = { browser: string | null; lastAt: string; isLive: boolean; isThis: boolean; isThisNetwork: boolean }
type SignedInApp = {
  clientId: string
  appName: string
  color: string
  isThisApp: boolean
  since: string
  browsers: Browser[]
}

type Answer = { apps: SignedInApp[]; devices?: Device[] }

export function SignedIn({ token, skewMs, onLeave, onDeviceEnded }: PartProps) {
  const { say } = usePage<'account'>()
  const [isAsking, setAsking, askButton] = useAsking()

  async function signOutEverywhere(): Promise<Failure | undefined> {
    const { failure } = await call('account/sign-out-everywhere', token, {})
    if (!failure) onLeave()
    return failure
  }

  return (
    <>
      <p class="muted">{say('signedInText')}</p>
      <AppList
        token={token}
        skewMs={skewMs}
        onLeave={onLeave}
        label={say('signedIn')}
        paths={{ read: 'account/signed-in', leave: 'account/sign-out' }}
        appsOf={({ apps }: Answer) => apps}
        button={say('signOut')}
        textsOf={({ appName: app }) => ({
          title: say('signOutAsk', { app }),
          text: say('signOutText', { app }),
          label: say('signOutOf', { app }),
          done: say('signedOutOf', { app }),
        })}
        sinceOf={({ since }) => ({ at: since, say: (date) => say('since', { date }) })}
        below={(answer, reload) => (
          <>
            {answer?.devices && (
              <Devices
                devices={answer.devices}
                token={token}
                skewMs={skewMs}
                onEnded={async ({ isThis }) => (isThis ? onDeviceEnded() : await reload())}
              />
            )}
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
        )}
      >
        {({ browsers }) => <Browsers browsers={browsers} skewMs={skewMs} />}
      </AppList>
    </>
  )
}

function Browsers({ browsers, skewMs }: { browsers: readonly Browser[]; skewMs: number }) {
  const { say } = usePage<'account'>()
  const ago = useAgo(skewMs)
  const browserName = useBrowserName()
  if (browsers.length === 0) return null
  return (
    <ul role="list" class="browsers">
      {browsers.map((each, at) => (
        <li key={at}>
          <span>
            {browserName(each.browser)} {each.isThis && <span class="badge good">{say('thisBrowser')}</span>}
          </span>
          <span class="muted parts">
            <span>{each.isLive ? say('openNow') : say('lastUsed', { date: ago(each.lastAt) })}</span>
            <span>{say(each.isThisNetwork ? 'sameNetwork' : 'otherNetwork')}</span>
          </span>
        </li>
      ))}
    </ul>
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
  const isMounted = useIsMounted()

  async function loadPage(before: string | null): Promise<void> {
    type Page = { events: AccountEvent[]; nextBefore: string | null }
    const reply = await call<Page>('account/history', token, undefined, before === null ? {} : { before })
    if (!isMounted()) return
    setFailed(reply.failure !== undefined)
    if (reply.failure) {
      if (before === null) setLoad({ kind: 'failed' })
      return
    }
    const { events, nextBefore } = reply.body
    const shown = load.kind === 'there' && before !== null ? load.value : []
    setLoad({ kind: 'there', value: [...shown, ...events] })
    setNext(nextBefore)
    // The button disappears with the last page, so the focus moves to the first new entry.
    if (before !== null)
      requestAnimationFrame(() => (list.current?.children[shown.length] as HTMLElement | undefined)?.focus())
  }
  useEffect(() => void loadPage(null), [])

  return (
    <>
      <p class="muted">{say('historyText')}</p>
      <Loaded load={load} onRetry={() => void loadPage(null)}>
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
        <button type="button" class="button quiet" onClick={() => void loadPage(next)}>
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
        <span class="entry-when parts">
          <time dateTime={event.at} title={exactTime(new Date(event.at), lang)}>
            {ago(event.at)}
          </time>
          {details.map((text) => (
            <span key={text}>{text}</span>
          ))}
        </span>
      </div>
    </li>
  )
}
