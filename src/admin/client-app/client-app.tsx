/** The page of a client app: money, calls, secrets, settings, activation. */
import type { ComponentChildren } from 'preact'
import { parseAppSettings, setAppActive, updateApp } from '../../actions/apps/manage-apps.ts'
import { findApp, type App } from '../../store/apps.ts'
import { countLiveSessions } from '../../store/people/widget-sessions.ts'
import { AppFields, inputOf, typedOf, typedOfSettings, type Typed } from './client-app-form.tsx'
import { AppCallList, AppFacts, AppLedger, AppMoney, Leaks, readAppStory } from './client-app-view.tsx'
import { AppRefusals, readAppRefusals } from './client-app-refusals.tsx'
import { Copy, Facts, Form, Heading, Notice, When, withQuery } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage } from '../kit/respond.tsx'
import { Secrets } from './client-app-secrets.tsx'
import { AppState } from '../kit/states.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const clientAppRoutes: AdminRoute[] = [
  get('/admin/client-apps/:clientId', showApp),
  post('/admin/client-apps/:clientId', saveApp, 'apps'),
  post('/admin/client-apps/:clientId/active', setActive, 'apps'),
]

async function showApp(request: AdminRequest): Promise<Response> {
  const app = await findApp(request.service.db.pool, request.param('clientId'))
  return app ? await appPage(request, app, typedOfSettings(app), {}) : await showNotFound(request, 'app')
}

async function appPage(
  request: AdminRequest,
  app: App,
  typed: Typed,
  problems: Readonly<Record<string, string>>,
): Promise<Response> {
  const { service } = request
  const mayChange = may(request, 'apps')
  const hasProblems = Object.keys(problems).length > 0
  const [liveSessions, story, refusals] = await Promise.all([
    countLiveSessions(service.db.pool, app.clientId),
    readAppStory(request, app),
    readAppRefusals(request, app),
  ])
  const body = (
    <>
      <Heading
        title={
          <>
            {app.name} <AppState app={app} />
          </>
        }
        sub={<Copy label="clientId" text={app.clientId} />}
      >
        <a class="button quiet small" href={withQuery('/admin/origin-doctor', { app: app.clientId })}>
          Check an embedding page
        </a>
        <a class="button quiet small" href={`/admin/client-apps/${app.clientId}/settlements`}>
          Settlements
        </a>
        <a class="button quiet small" href={withQuery('/admin/audit', { subject: `app:${app.clientId}` })}>
          History
        </a>
      </Heading>
      {hasProblems && <Notice kind="bad">Nothing was saved. Check the fields below.</Notice>}
      <div class="columns">
        <AppFacts request={request} app={app} story={story} liveSessions={liveSessions} />
        <AppMoney request={request} app={app} story={story} />
      </div>
      <AppLedger request={request} app={app} />
      <AppCallList story={story} />
      <AppRefusals refusals={refusals} />
      <Leaks app={app} story={story} />
      <Secrets request={request} app={app} />
      {mayChange ? (
        <Form request={request} action={`/admin/client-apps/${app.clientId}`} class="card stack">
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
  return await showPage(request, { title: app.name, here: 'apps', body, ...(hasProblems && { status: 422 }) })
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
  const action = `/admin/client-apps/${app.clientId}/active`
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

async function saveApp(request: AdminRequest): Promise<Response> {
  const { service, form, actor } = request
  const app = await findApp(service.db.pool, request.param('clientId'))
  if (!app) return await showNotFound(request, 'app')
  const checked = parseAppSettings(inputOf(form), service.config)
  if (checked.problems) return await appPage(request, app, typedOf(form), checked.problems)
  await updateApp(service, actor, app.clientId, checked.settings)
  return redirect(`/admin/client-apps/${app.clientId}?done=app-saved`)
}

async function setActive(request: AdminRequest): Promise<Response> {
  const clientId = request.param('clientId')
  const isActive = request.form.text('to') === 'active'
  const isKnown = await setAppActive(request.service, request.actor, clientId, isActive)
  if (!isKnown) return await showNotFound(request, 'app')
  return redirect(`/admin/client-apps/${clientId}?done=${isActive ? 'app-activated' : 'app-deactivated'}`)
}
