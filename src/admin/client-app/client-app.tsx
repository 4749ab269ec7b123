/** The pages of a client app: figures, settings with activation, secrets, calls. settlements.tsx has the settlements. */
import type { ComponentChildren } from 'preact'
import { parseAppSettings, setAppActive, updateApp } from '../../actions/apps/manage-apps.ts'
import { listAppCalls } from '../../store/calls/app-calls.ts'
import { findApp, type App } from '../../store/apps.ts'
import { countLiveSessions } from '../../store/people/widget-sessions.ts'
import { AppFields, inputOf, typedOf, typedOfSettings, type Typed } from './client-app-form.tsx'
import { AppRefusals, readAppRefusals } from './client-app-refusals.tsx'
import { AppHead, tabPath } from './client-app-tabs.tsx'
import {
  AppCallList,
  AppFacts,
  AppHolds,
  AppLedger,
  AppMoney,
  LeakNotice,
  Leaks,
  listLeaks,
  readAppStory,
} from './client-app-view.tsx'
import { Facts, Form, Notice, When, withQuery } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage } from '../kit/respond.tsx'
import { Secrets } from './client-app-secrets.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'

const path = '/admin/client-apps/:clientId'

export const clientAppRoutes: AdminRoute[] = [
  get(path, (request) => withApp(request, (app) => showOverview(request, app))),
  get(`${path}/settings`, (request) => withApp(request, (app) => showSettings(request, app, typedOfSettings(app), {}))),
  get(`${path}/secrets`, (request) => withApp(request, (app) => showSecrets(request, app))),
  get(`${path}/calls`, (request) => withApp(request, (app) => showCalls(request, app))),
  post(path, (request) => withApp(request, (app) => saveApp(request, app)), 'apps'),
  post(`${path}/active`, setActive, 'apps'),
]

async function withApp(request: AdminRequest, show: (app: App) => Promise<Response>): Promise<Response> {
  const app = await findApp(request.service.db.pool, request.param('clientId'))
  return app ? await show(app) : await showNotFound(request, 'app')
}

async function showOverview(request: AdminRequest, app: App): Promise<Response> {
  const [liveSessions, story] = await Promise.all([
    countLiveSessions(request.service.db.pool, app.clientId),
    readAppStory(request, app),
  ])
  const body = (
    <>
      <AppHead app={app} here="overview">
        <a class="button quiet small" href={withQuery('/admin/origin-doctor', { app: app.clientId })}>
          Check an embedding page
        </a>
        <a class="button quiet small" href={withQuery('/admin/audit', { subject: `app:${app.clientId}` })}>
          History
        </a>
      </AppHead>
      <LeakNotice app={app} leaks={story.leaks} />
      <div class="columns">
        <AppFacts request={request} app={app} story={story} liveSessions={liveSessions} />
        <AppMoney request={request} app={app} story={story} />
      </div>
      <AppHolds request={request} app={app} story={story} />
      <AppLedger request={request} app={app} />
    </>
  )
  return await showPage(request, { title: app.name, here: 'apps', body })
}

async function showCalls(request: AdminRequest, app: App): Promise<Response> {
  const [calls, refusals] = await Promise.all([
    listAppCalls(request.service.db.pool, app.clientId),
    readAppRefusals(request, app),
  ])
  const body = (
    <>
      <AppHead app={app} here="calls" />
      <AppRefusals refusals={refusals} />
      <AppCallList calls={calls} />
    </>
  )
  return await showPage(request, { title: `Calls of ${app.name}`, here: 'apps', body })
}

async function showSecrets(request: AdminRequest, app: App): Promise<Response> {
  const leaks = await listLeaks(request, app)
  const body = (
    <>
      <AppHead app={app} here="secrets" />
      <Leaks app={app} leaks={leaks} />
      <Secrets request={request} app={app} />
    </>
  )
  return await showPage(request, { title: `Secrets of ${app.name}`, here: 'apps', body })
}

/** Also answers the form with mistakes; `problems` names them by field. */
async function showSettings(
  request: AdminRequest,
  app: App,
  typed: Typed,
  problems: Readonly<Record<string, string>>,
): Promise<Response> {
  const mayChange = may(request, 'apps')
  const hasProblems = Object.keys(problems).length > 0
  const liveSessions = mayChange ? await countLiveSessions(request.service.db.pool, app.clientId) : 0
  const body = (
    <>
      <AppHead app={app} here="settings" />
      {hasProblems && <Notice kind="bad">Nothing was saved. Check the fields below.</Notice>}
      {mayChange ? (
        <Form request={request} action={tabPath(app.clientId)} class="card stack">
          <h2>Settings</h2>
          <AppFields typed={typed} problems={problems} />
          <div>
            <button class="button" type="submit">
              Save
            </button>
          </div>
        </Form>
      ) : (
        <Settings app={app} />
      )}
      {mayChange && <Activity request={request} app={app} liveSessions={liveSessions} />}
    </>
  )
  const title = `Settings of ${app.name}`
  return await showPage(request, { title, here: 'apps', body, ...(hasProblems && { status: 422 }) })
}

function listed(texts: readonly string[]): ComponentChildren {
  if (texts.length === 0) return 'none'
  return (
    <span class="chips">
      {texts.map((text) => (
        <code key={text}>{text}</code>
      ))}
    </span>
  )
}

function Settings({ app }: { app: App }) {
  return (
    <section class="card stack">
      <h2>Settings</h2>
      <Facts
        rows={[
          ['Allowed origins', listed(app.allowedOrigins)],
          ['Allowed iframe parents', listed(app.allowedIframeParents)],
          ['Scopes', listed(app.scopes)],
          ['Strict references', app.strictReferences ? 'on' : 'off'],
          [
            'Operations under way',
            app.maxOperations === null ? 'default' : `at most ${app.maxOperations.toLocaleString('en')}`,
          ],
          ['Accent colour', app.accentColor ? <Swatch color={app.accentColor} /> : 'default'],
          ['Logo', app.logoUrl ?? 'none'],
          ['Registered', <When at={app.createdAt} />],
        ]}
      />
    </section>
  )
}

/** The colour is an SVG attribute, because the page's content security policy forbids style attributes. */
function Swatch({ color }: { color: string }) {
  return (
    <>
      <svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">
        <rect width="1" height="1" fill={color} />
      </svg>{' '}
      <code>{color}</code>
    </>
  )
}

function Activity({ request, app, liveSessions }: { request: AdminRequest; app: App; liveSessions: number }) {
  const action = `${tabPath(app.clientId)}/active`
  if (!app.isActive)
    return (
      <section class="card stack">
        <h2>Activate</h2>
        <p class="muted">Its credentials are accepted again within a second.</p>
        <Form request={request} action={action}>
          <input type="hidden" name="to" value="active" />
          <button class="button" type="submit">
            Activate
          </button>
        </Form>
      </section>
    )
  const sessions =
    liveSessions === 0
      ? 'No widget session is open now.'
      : liveSessions === 1
        ? 'One open widget session ends at once.'
        : `${liveSessions} open widget sessions end at once.`
  return (
    <section class="card stack danger-zone">
      <h2>Deactivate</h2>
      <p class="muted">
        Its credentials are refused within a second, and its widgets stop working. {sessions} Wallets and money do not
        change.
      </p>
      <details>
        <summary>Deactivate this app…</summary>
        <Form request={request} action={action} class="stack tight">
          <input type="hidden" name="to" value="inactive" />
          <p>
            <strong>{sessions}</strong>
          </p>
          <div>
            <button class="button danger" type="submit">
              Deactivate {app.name}
            </button>
          </div>
        </Form>
      </details>
    </section>
  )
}

async function saveApp(request: AdminRequest, app: App): Promise<Response> {
  const { service, form, actor } = request
  const checked = parseAppSettings(inputOf(form), service.config)
  if (checked.problems) return await showSettings(request, app, typedOf(form), checked.problems)
  await updateApp(service, actor, app.clientId, checked.settings)
  return redirect(withQuery(tabPath(app.clientId, 'settings'), { done: 'app-saved' }))
}

async function setActive(request: AdminRequest): Promise<Response> {
  const clientId = request.param('clientId')
  const isActive = request.form.text('to') === 'active'
  const isKnown = await setAppActive(request.service, request.actor, clientId, isActive)
  if (!isKnown) return await showNotFound(request, 'app')
  const done = isActive ? 'app-activated' : 'app-deactivated'
  return redirect(withQuery(tabPath(clientId, 'settings'), { done }))
}
