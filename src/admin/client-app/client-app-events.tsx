/** The app's events: the switch, and its endpoints. */
import { setAppEvents } from '../../actions/apps/manage-apps.ts'
import { findApp, type App } from '../../store/apps.ts'
import { findEndpointLags } from '../../store/events/endpoint-lag.ts'
import { findNumbersBetween, listEndpoints } from '../../store/events/endpoints.ts'
import { findKept, type FeedPage } from '../../store/events/feed.ts'
import { Badge, countText, Field, Form, Notice } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { Endpoints } from './client-app-endpoints.tsx'
import { AppHead, tabPath } from './client-app-tabs.tsx'
import { parsePoint, pointHint } from './event-point.ts'

const path = '/admin/client-apps/:clientId/events'

export const clientAppEventsRoutes: AdminRoute[] = [get(path, showEvents), post(path, switchEvents, 'apps')]

async function showEvents(request: AdminRequest): Promise<Response> {
  const { db } = request.service
  const app = await findApp(db.pool, request.param('clientId'))
  if (!app) return await showNotFound(request, 'app')
  const [endpoints, lags, kept] = await Promise.all([
    listEndpoints(db.pool, app.clientId),
    findEndpointLags(db.pool, app.clientId),
    findKept(db.pool, app.clientId),
  ])
  const body = (
    <>
      <AppHead app={app} here="events" />
      <EventsSwitch request={request} app={app} last={kept.last} />
      {(app.hasEvents || endpoints.length > 0) && (
        <Endpoints request={request} app={app} endpoints={endpoints} lags={lags} />
      )}
      {kept.last >= kept.oldest && (
        <ReadAgain request={request} app={app} kept={kept} after={await findAfter(request, app, kept)} />
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

type Kept = Pick<FeedPage, 'last' | 'oldest'>

/** The number to pass as `after`, for the place in the address. Undefined without one, null when it is unreadable. */
async function findAfter({ service, query }: AdminRequest, { clientId }: App, { last, oldest }: Kept) {
  if (query('since') === '') return undefined
  const point = parsePoint(query('since'))
  if (point === undefined) return null
  const found = typeof point === 'number' ? point : (await findNumbersBetween(service.db.pool, clientId, point))?.first
  return Math.min(Math.max(found ?? last + 1, oldest), last + 1) - 1
}

/** For a backend that reads the feed, reading again is its own decision: it passes a lower number. */
function ReadAgain({
  request,
  app,
  kept: { last, oldest },
  after,
}: {
  request: AdminRequest
  app: App
  kept: Kept
  after: number | null | undefined
}) {
  return (
    <section class="card stack">
      <h2>Read the feed again</h2>
      <p class="muted">
        The feed has the events {countText(oldest)} to {countText(last)}. A backend that missed some reads them again:
        it passes the number before the first of them as <code>after</code>. From where? Write {pointHint}.
      </p>
      <form method="get" action={tabPath(app.clientId, 'events')} class="row bottom">
        <Field
          label="From"
          name="since"
          value={request.query('since')}
          problem={after === null ? `write ${pointHint}` : undefined}
        />
        <button class="button quiet" type="submit">
          Show the number
        </button>
      </form>
      {typeof after === 'number' && (
        <Notice>
          Pass <code>after={after}</code>:{' '}
          {last - after === 1 ? 'one event follows' : `${countText(last - after)} events follow`}.
        </Notice>
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
  return redirect(`${tabPath(clientId, 'events')}?done=events-${to}`)
}
