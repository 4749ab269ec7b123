/** The app's events: the switch, and its endpoints. */
import { setAppEvents } from '../../actions/apps/manage-apps.ts'
import { findApp, type App } from '../../store/apps.ts'
import { listEndpoints } from '../../store/events/endpoints.ts'
import { findEventHeads } from '../../store/events/feed.ts'
import { Badge, countText, Form } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { Endpoints } from './client-app-endpoints.tsx'
import { AppHead, tabPath } from './client-app-tabs.tsx'

const path = '/admin/client-apps/:clientId/events'

export const clientAppEventsRoutes: AdminRoute[] = [get(path, showEvents), post(path, switchEvents, 'apps')]

async function showEvents(request: AdminRequest): Promise<Response> {
  const { db } = request.service
  const app = await findApp(db.pool, request.param('clientId'))
  if (!app) return await showNotFound(request, 'app')
  const [endpoints, heads] = await Promise.all([
    listEndpoints(db.pool, app.clientId),
    findEventHeads(db.pool, [app.clientId]),
  ])
  const last = heads.get(app.clientId) ?? 0
  const body = (
    <>
      <AppHead app={app} here="events" />
      <EventsSwitch request={request} app={app} last={last} />
      {(app.hasEvents || endpoints.length > 0) && (
        <Endpoints request={request} app={app} endpoints={endpoints} last={last} />
      )}
    </>
  )
  return await showPage(request, { title: `Events of ${app.name}`, here: 'apps', body })
}

function EventsSwitch({ request, app, last }: { request: AdminRequest; app: App; last: number }) {
  return (
    <section class="card stack">
      <h2>Events {app.hasEvents ? <Badge kind="good">on</Badge> : <Badge>off</Badge>}</h2>
      <p class="muted">
        {app.hasEvents
          ? `What happens to its users’ wallets is recorded, and its backend reads it from GET /api/server/events. ${last === 0 ? 'There is no event yet.' : `The last event has the number ${countText(last)}.`}`
          : 'Nothing is recorded for the app. What happens until events are switched on is never reported to it.'}
      </p>
      {may(request, 'apps') && (
        <Form request={request} action={`/admin/client-apps/${app.clientId}/events`}>
          <input type="hidden" name="to" value={app.hasEvents ? 'off' : 'on'} />
          <button class={app.hasEvents ? 'button quiet' : 'button'} type="submit">
            Switch events {app.hasEvents ? 'off' : 'on'}
          </button>
        </Form>
      )}
    </section>
  )
}

async function switchEvents(request: AdminRequest): Promise<Response> {
  const clientId = request.param('clientId')
  const to = request.form.text('to')
  if (to !== 'on' && to !== 'off') return await showProblem(request, 422, 'Events can be switched on or off.')
  const switched = await setAppEvents(request.service, request.actor, clientId, to === 'on')
  if (switched === 'unknown-app') return await showNotFound(request, 'app')
  if (switched === 'cluster')
    return await showProblem(request, 409, 'Events are not available while the ledger is distributed over a cluster.')
  return redirect(`${tabPath(clientId, 'events')}?done=events-${to}`)
}
