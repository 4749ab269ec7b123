/** The app's events: the switch. */
import { setAppEvents } from '../../actions/apps/manage-apps.ts'
import type { App } from '../../store/apps.ts'
import { tabPath } from './client-app-tabs.tsx'
import { Badge, Form } from '../kit/parts.tsx'
import { redirect, showNotFound, showProblem } from '../kit/respond.tsx'
import { may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'

export const clientAppEventsRoutes: AdminRoute[] = [post('/admin/client-apps/:clientId/events', switchEvents, 'apps')]

export function AppEvents({ request, app }: { request: AdminRequest; app: App }) {
  return (
    <section class="card stack" id="events">
      <h2>Events {app.hasEvents ? <Badge kind="good">on</Badge> : <Badge>off</Badge>}</h2>
      <p class="muted">
        {app.hasEvents
          ? 'What happens to its users’ wallets is recorded, and its backend reads it from GET /api/server/events.'
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
  return redirect(`${tabPath(clientId, 'settings')}?done=events-${to}`)
}
