/** Apps of the account as a list, of which each can be left after a question. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../call.ts'
import { exactTime, relativeTime } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { AppMark, useIsMounted } from '../parts.tsx'
import type { PartProps } from './account.tsx'
import { Ask, Loaded, StatusNotice, useAsking, type Load } from './part-form.tsx'

type ListedApp = { readonly clientId: string; readonly appName: string; readonly isThisApp: boolean }

/** Words that name the app. */
type Texts = { readonly title: string; readonly text: string; readonly label: string; readonly done: string }

type AppListProps<Answer, App extends ListedApp> = Pick<PartProps, 'token' | 'skewMs' | 'onLeave'> & {
  label: string
  /** Where the apps are read, and where one is left. */
  paths: { readonly read: string; readonly leave: string }
  appsOf: (answer: Answer) => readonly App[]
  button: string
  textsOf: (app: App) => Texts
  sinceOf: (app: App) => { readonly at: string; readonly say: (date: string) => string }
  children: (app: App) => ComponentChildren
  /** What stands below the list, when it has come or failed: until then it would move under the finger. */
  below?: ComponentChildren
}

export function AppList<Answer, App extends ListedApp>(props: AppListProps<Answer, App>) {
  const { token, label, paths, appsOf, textsOf, onLeave, below } = props
  const [load, setLoad] = useState<Load<readonly App[]>>({ kind: 'loading' })
  const [message, setMessage] = useState('')
  const list = useRef<HTMLUListElement>(null)
  const isMounted = useIsMounted()

  async function loadApps(): Promise<void> {
    const reply = await call<Answer>(paths.read, token)
    if (isMounted()) setLoad(reply.failure ? { kind: 'failed' } : { kind: 'there', value: appsOf(reply.body) })
  }
  useEffect(() => void loadApps(), [])

  /** False when the call failed and the app is still there. */
  async function leave(app: App): Promise<boolean> {
    const { failure } = await call(paths.leave, token, { clientId: app.clientId })
    if (failure) return false
    if (app.isThisApp) onLeave()
    else {
      setMessage(textsOf(app).done)
      await loadApps()
      list.current?.focus()
    }
    return true
  }

  return (
    <>
      <StatusNotice text={message} />
      <Loaded load={load} onRetry={() => void loadApps()}>
        {(apps) => (
          <ul role="list" ref={list} tabIndex={-1} aria-label={label}>
            {apps.map((app) => (
              <Entry key={app.clientId} app={app} list={props} onLeaveApp={() => leave(app)} />
            ))}
          </ul>
        )}
      </Loaded>
      {load.kind !== 'loading' && below}
    </>
  )
}

type EntryProps<Answer, App extends ListedApp> = {
  app: App
  list: AppListProps<Answer, App>
  onLeaveApp: () => Promise<boolean>
}

function Entry<Answer, App extends ListedApp>({ app, list, onLeaveApp }: EntryProps<Answer, App>) {
  const { lang, say } = usePage<'account'>()
  const [isAsking, setAsking, askButton] = useAsking()
  const ago = useAgo(list.skewMs)
  const { title, text, label } = list.textsOf(app)
  const since = list.sinceOf(app)
  if (isAsking)
    return (
      <li>
        <Ask title={title} text={text} button={list.button} onYes={onLeaveApp} onNo={() => setAsking(false)} />
      </li>
    )
  return (
    <li class="entry">
      <AppMark name={app.appName} />
      <div class="entry-text">
        <span class="entry-title">
          <bdi>{app.appName}</bdi> {app.isThisApp && <span class="badge good">{say('thisApp')}</span>}
        </span>
        <time class="entry-when" dateTime={since.at} title={exactTime(new Date(since.at), lang)}>
          {since.say(ago(since.at))}
        </time>
      </div>
      <button
        type="button"
        class="button quiet small"
        ref={askButton}
        aria-label={label}
        onClick={() => setAsking(true)}
      >
        {list.button}
      </button>
      {list.children(app)}
    </li>
  )
}

/** How long ago a moment of the server's was, by the server's clock. */
export function useAgo(skewMs: number) {
  const { lang } = usePage()
  return (at: string) => relativeTime(new Date(at), new Date(Date.now() + skewMs), lang)
}
