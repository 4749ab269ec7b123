/** Who is signed in, which apps use the wallet, and the ways out. */
import { useEffect, useState } from 'preact/hooks'
import { call, type LinkedApp } from './call.ts'
import { exactTime, relativeTime } from './format.ts'
import { usePage } from './page-context.tsx'
import { Icon } from './icons.tsx'
import { AppMark, Notice, ViewHead } from './parts.tsx'

type AccountProps = {
  user: { firstName: string; lastName: string }
  token: string | null
  skewMs: number
  onBack: () => void
  onLeave: () => void
}

type Load = { kind: 'loading' } | { kind: 'failed' } | { kind: 'there'; links: readonly LinkedApp[] }

export function View({ user, token, skewMs, onBack, onLeave }: AccountProps) {
  const { say } = usePage<'account'>()
  const [load, setLoad] = useState<Load>({ kind: 'loading' })
  const [news, setNews] = useState('')

  async function read(): Promise<void> {
    const reply = await call<{ links: LinkedApp[] }>('links', token)
    setLoad(reply.failure ? { kind: 'failed' } : { kind: 'there', links: reply.body.links })
  }

  useEffect(() => void read(), [])

  /** False when the call failed and the app is still connected. */
  async function disconnect(app: LinkedApp): Promise<boolean> {
    const reply = await call('links/disconnect', token, { clientId: app.clientId })
    if (reply.failure) return false
    if (app.isThisApp) onLeave()
    else {
      setNews(say('disconnected', { app: app.appName }))
      await read()
    }
    return true
  }

  return (
    <section class="account">
      <ViewHead title={say('account')} onBack={onBack} />
      <p class="account-name">
        <bdi>{`${user.firstName} ${user.lastName}`.trim()}</bdi>
      </p>
      <div class="card stack">
        <div>
          <h2>{say('apps')}</h2>
          <p class="muted">{say('appsText')}</p>
        </div>
        <div role="status">
          {news && (
            <Notice tone="good" icon="check">
              {news}
            </Notice>
          )}
        </div>
        {load.kind === 'loading' && <span class="skeleton line" />}
        {load.kind === 'failed' && (
          <div class="stack">
            <Notice tone="bad" icon="alert">
              {say('notReached')}
            </Notice>
            <button type="button" class="button quiet" onClick={() => void read()}>
              {say('retry')}
            </button>
          </div>
        )}
        {load.kind === 'there' && (
          <ul role="list">
            {load.links.map((app) => (
              <AppEntry key={app.clientId} app={app} skewMs={skewMs} onDisconnect={() => disconnect(app)} />
            ))}
          </ul>
        )}
      </div>
      <div class="account-exits">
        <button type="button" class="button quiet" onClick={onLeave}>
          <Icon name="swap" />
          {say('switchAccount')}
        </button>
        <button type="button" class="button quiet" onClick={onLeave}>
          <Icon name="door" />
          {say('logOut')}
        </button>
      </div>
    </section>
  )
}

type AppEntryProps = { app: LinkedApp; skewMs: number; onDisconnect: () => Promise<boolean> }

function AppEntry({ app, skewMs, onDisconnect }: AppEntryProps) {
  const { lang, say } = usePage<'account'>()
  const [step, setStep] = useState<'idle' | 'asking' | 'busy' | 'failed'>('idle')
  const { appName } = app
  const at = new Date(app.connectedAt)

  async function disconnect(): Promise<void> {
    setStep('busy')
    if (!(await onDisconnect())) setStep('failed')
  }

  if (step !== 'idle')
    return (
      <li class="ask">
        <h3>{say('disconnectAsk', { app: appName })}</h3>
        <p class="muted">{say('disconnectText', { app: appName })}</p>
        <div role="alert">{step === 'failed' && <p class="problem">{say('wentWrong')}</p>}</div>
        <div class="row">
          <button
            type="button"
            class="button danger small"
            aria-disabled={step === 'busy'}
            onClick={() => void disconnect()}
          >
            {say('disconnect')}
          </button>
          <button type="button" class="button quiet small" autofocus onClick={() => setStep('idle')}>
            {say('cancel')}
          </button>
        </div>
      </li>
    )
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
        aria-label={say('disconnectApp', { app: appName })}
        onClick={() => setStep('asking')}
      >
        {say('disconnect')}
      </button>
    </li>
  )
}
