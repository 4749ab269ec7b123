/** A list of apps. The user can leave each one after a confirmation. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type Failure } from '../call.ts'
import { exactTime, relativeTime } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { AppMark, useIsMounted } from '../parts.tsx'
import type { PartProps } from './account.tsx'
import { Ask, Loaded, StatusNotice, useAsking, type Load } from './part-form.tsx'

type ListedApp = {
  readonly clientId: string
  readonly appName: string
  readonly color: string
  readonly isThisApp: boolean
}

/** Texts that contain the app's name. */
type Texts = {
  readonly title: string
  readonly text: string
  readonly more?: string | false
  readonly label: string
  readonly done: string
}

type AppListProps<Answer, App extends ListedApp> = Pick<PartProps, 'token' | 'skewMs' | 'onLeave'> & {
  label: string
  /** The API paths to read the apps and to leave one. */
  paths: { readonly read: string; readonly leave: string }
  appsOf: (answer: Answer) => readonly App[]
  button: string
  textsOf: (app: App) => Texts
  sinceOf: (app: App) => { readonly at: string; readonly say: (date: string) => string }
  children: (app: App) => ComponentChildren
  /** Shown below the list only after it has loaded or failed; otherwise it would move while the user reaches for it. */
  below?: (answer: Answer | undefined, reload: () => Promise<void>) => ComponentChildren
}

export function AppList<Answer, App extends ListedApp>(props: AppListProps<Answer, App>) {
  const { token, label, paths, appsOf, textsOf, onLeave, below } = props
  const [load, setLoad] = useState<Load<Answer>>({ kind: 'loading' })
  const [message, setMessage] = useState('')
  const list = useRef<HTMLUListElement>(null)
  const isMounted = useIsMounted()

  async function loadApps(): Promise<void> {
    const reply = await call<Answer>(paths.read, token)
    if (isMounted()) setLoad(reply.failure ? { kind: 'failed' } : { kind: 'there', value: reply.body })
  }
  useEffect(() => void loadApps(), [])

  async function leave(app: App): Promise<Failure | undefined> {
    const { failure } = await call(paths.leave, token, { clientId: app.clientId })
    if (failure) return failure
    if (app.isThisApp) onLeave()
    else {
      setMessage(textsOf(app).done)
      await loadApps()
      list.current?.focus()
    }
    return undefined
  }

  return (
    <>
      <StatusNotice text={message} />
      <Loaded load={load} onRetry={() => void loadApps()}>
        {(answer) => (
          <ul role="list" ref={list} tabIndex={-1} aria-label={label}>
            {appsOf(answer).map((app) => (
              <Entry key={app.clientId} app={app} list={props} onLeaveApp={() => leave(app)} />
            ))}
          </ul>
        )}
      </Loaded>
      {load.kind !== 'loading' && below?.(load.kind === 'there' ? load.value : undefined, loadApps)}
    </>
  )
}

type EntryProps<Answer, App extends ListedApp> = {
  app: App
  list: AppListProps<Answer, App>
  onLeaveApp: () => Promise<Failure | undefined>
}

function Entry<Answer, App extends ListedApp>({ app, list, onLeaveApp }: EntryProps<Answer, App>) {
  const { lang, say } = usePage<'account'>()
  const [isAsking, setAsking, askButton] = useAsking()
  const ago = useAgo(list.skewMs)
  const { title, text, more, label } = list.textsOf(app)
  const since = list.sinceOf(app)
  if (isAsking)
    return (
      <li>
        <Ask
          title={title}
          text={text}
          more={more}
          button={list.button}
          onYes={onLeaveApp}
          onNo={() => setAsking(false)}
        />
      </li>
    )
  return (
    <li class="entry">
      <AppMark name={app.appName} color={app.color} />
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

/** Formats how long ago a server time was, by the server's clock. */
export function useAgo(skewMs: number) {
  const { lang } = usePage()
  return (at: string) => relativeTime(new Date(at), new Date(Date.now() + skewMs), lang)
}
