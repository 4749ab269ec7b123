/** The apps that use the wallet: what each may do, what it took this month, and the way to end that. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Ask, Loaded, News, useAsking, type Load } from './account-form.tsx'
import type { PartProps } from './account-panel.tsx'
import { call, type LinkedApp } from './call.ts'
import { exactTime, formatMoney, relativeTime } from './format.ts'
import { usePage } from './page-context.tsx'
import { AppMark, useIsHere } from './parts.tsx'

export function Apps({ token, skewMs, currency, onLeave }: PartProps & { currency: string }) {
  const { say } = usePage<'account'>()
  const [load, setLoad] = useState<Load<readonly LinkedApp[]>>({ kind: 'loading' })
  const [news, setNews] = useState('')
  const list = useRef<HTMLUListElement>(null)
  const isHere = useIsHere()

  async function read(): Promise<void> {
    const reply = await call<{ links: LinkedApp[] }>('links', token)
    if (isHere()) setLoad(reply.failure ? { kind: 'failed' } : { kind: 'there', value: reply.body.links })
  }
  useEffect(() => void read(), [])

  /** False when the call failed and the app is still connected. */
  async function disconnect(app: LinkedApp): Promise<boolean> {
    const { failure } = await call('links/disconnect', token, { clientId: app.clientId })
    if (failure) return false
    if (app.isThisApp) onLeave()
    else {
      setNews(say('disconnected', { app: app.appName }))
      await read()
      list.current?.focus()
    }
    return true
  }

  return (
    <>
      <p class="muted">{say('appsText')}</p>
      <News text={news} />
      <Loaded load={load} onRetry={() => void read()}>
        {(links) => (
          <ul role="list" ref={list} tabIndex={-1} aria-label={say('apps')}>
            {links.map((app) => (
              <AppEntry
                key={app.clientId}
                app={app}
                skewMs={skewMs}
                currency={currency}
                onDisconnect={() => disconnect(app)}
              />
            ))}
          </ul>
        )}
      </Loaded>
    </>
  )
}

type AppEntryProps = { app: LinkedApp; skewMs: number; currency: string; onDisconnect: () => Promise<boolean> }

function AppEntry({ app, skewMs, currency, onDisconnect }: AppEntryProps) {
  const { lang, say } = usePage<'account'>()
  const [isAsking, setAsking, askButton] = useAsking()
  const { appName, month, scopes } = app
  const at = new Date(app.connectedAt)
  if (isAsking)
    return (
      <li>
        <Ask
          title={say('disconnectAsk', { app: appName })}
          text={say('disconnectText', { app: appName })}
          button={say('disconnect')}
          onYes={onDisconnect}
          onNo={() => setAsking(false)}
        />
      </li>
    )
  const amount = (value: number) => ({ amount: formatMoney(value, currency, lang) })
  return (
    <li class="entry">
      <AppMark name={appName} />
      <div class="entry-text">
        <span class="entry-title">
          <bdi>{appName}</bdi> {app.isThisApp && <span class="badge good">{say('thisApp')}</span>}
        </span>
        <time class="entry-when" dateTime={app.connectedAt} title={exactTime(at, lang)}>
          {say('connected', { date: relativeTime(at, new Date(Date.now() + skewMs), lang) })}
        </time>
      </div>
      <button
        type="button"
        class="button quiet small"
        ref={askButton}
        aria-label={say('disconnectApp', { app: appName })}
        onClick={() => setAsking(true)}
      >
        {say('disconnect')}
      </button>
      <ul role="list" class="may">
        {scopes.includes('wallet:read') && <li>{say('mayRead')}</li>}
        {scopes.includes('wallet:write') && <li>{say('mayWrite')}</li>}
        {scopes.length === 0 && <li>{say('mayNothing')}</li>}
        <li class="may-month">
          {month.debited === 0 && !month.isCut
            ? say('monthNothing')
            : say(month.isCut ? 'monthMore' : 'month', amount(month.debited))}
          {month.credited > 0 && ` · ${say('monthBack', amount(month.credited))}`}
        </li>
      </ul>
    </li>
  )
}
