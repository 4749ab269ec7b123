/** The endpoints of an app on its Events tab: the list, a new one, and a test event. */
import {
  addEndpoint,
  eventTypes,
  maxEndpoints,
  parseEndpoint,
  pingApp,
} from '../../actions/webhooks/manage-endpoints.ts'
import { findApp, type App } from '../../store/apps.ts'
import type { EndpointLag } from '../../store/events/endpoint-lag.ts'
import type { Endpoint } from '../../store/events/endpoints.ts'
import { Copy, Empty, Field, Form, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showProblem } from '../kit/respond.tsx'
import { may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { tabPath } from './client-app-tabs.tsx'
import { endpointPath, endpointsPath, Health, lagText, shownTo } from './endpoint-parts.tsx'
import { FormId, showOnce, takeOnce } from './shown-once.tsx'

export const endpointsRoutes: AdminRoute[] = [
  post(endpointsPath, addAppEndpoint, 'secrets'),
  post('/admin/client-apps/:clientId/events/test', sendTest, 'apps'),
]

export function Endpoints({
  request,
  app,
  endpoints,
  lags,
}: {
  request: AdminRequest
  app: App
  endpoints: readonly Endpoint[]
  lags: ReadonlyMap<string, EndpointLag>
}) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Endpoints</h2>
      </div>
      {endpoints.length === 0 ? (
        <Empty title="No endpoint">The app reads its events from the feed. An endpoint gets them sent.</Empty>
      ) : (
        <Table label="Endpoints" head={['Address', 'State', 'Since', 'Events that wait', 'Last delivery']}>
          {endpoints.map((endpoint) => (
            <tr key={endpoint.id}>
              <td class="wide">
                <a href={endpointPath(endpoint)}>{shownTo(request, endpoint).url}</a>
              </td>
              <td>
                <Health endpoint={endpoint} />
              </td>
              <td>
                <When at={endpoint.disabledAt ?? endpoint.failingSince ?? endpoint.createdAt} />
              </td>
              <td>{lagText(lags.get(endpoint.id))}</td>
              <td>
                <When at={endpoint.lastSuccessAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <div class="pager">
        {may(request, 'secrets') && endpoints.length < maxEndpoints && <AddEndpoint request={request} app={app} />}
        {may(request, 'apps') && endpoints.length > 0 && (
          <Form request={request} action={`${tabPath(app.clientId, 'events')}/test`}>
            <button class="button quiet small" type="submit">
              Send a test event
            </button>
          </Form>
        )}
      </div>
    </section>
  )
}

function AddEndpoint({ request, app }: { request: AdminRequest; app: App }) {
  return (
    <details class="stretch">
      <summary>Add an endpoint…</summary>
      <Form request={request} action={`/admin/client-apps/${app.clientId}/endpoints`} class="stack">
        <FormId />
        <Field label="Address" name="url" hint="https://shop.example/webhooks" />
        <fieldset class="stack tight">
          <legend class="small">
            <strong>Types</strong> (none chosen: all, also those of later versions)
          </legend>
          <div class="row">
            {eventTypes.map((type) => (
              <label class="choice" key={type}>
                <input type="checkbox" name="type" value={type} />
                <code>{type}</code>
              </label>
            ))}
          </div>
        </fieldset>
        <div>
          <button class="button" type="submit">
            Add the endpoint
          </button>
        </div>
      </Form>
    </details>
  )
}

async function addAppEndpoint(request: AdminRequest): Promise<Response> {
  const { service, form, actor } = request
  const clientId = request.param('clientId')
  const checked = parseEndpoint({ url: form.text('url'), types: form.list('type') }, service.config)
  if (checked.problems)
    return await showProblem(
      request,
      422,
      Object.entries(checked.problems)
        .map(([field, problem]) => `${field === 'url' ? 'Address' : 'Types'}: ${problem}.`)
        .join(' '),
    )
  if (!(await findApp(service.db.pool, clientId))) return await showNotFound(request, 'app')
  const content = { url: checked.url, types: (checked.types ?? []).join(' ') }
  const refused = await takeOnce(request, { subject: `app:${clientId}`, content })
  if (refused) return refused
  const added = await addEndpoint(service, actor, clientId, checked)
  if (added.kind === 'added') return await showSigningSecret(request, 'The new endpoint', { ...added, clientId })
  if (added.kind === 'no-app') return await showNotFound(request, 'app')
  return await showProblem(
    request,
    409,
    added.kind === 'events-off'
      ? 'Switch the app’s events on first.'
      : `The app has ${maxEndpoints} endpoints already. Remove one first.`,
  )
}

export async function showSigningSecret(
  request: AdminRequest,
  title: string,
  { id, clientId, secret }: { readonly id: string; readonly clientId: string; readonly secret: string },
): Promise<Response> {
  return await showOnce(request, {
    title,
    sub: <code>{id}</code>,
    note: 'The receiver checks every event’s signature with it.',
    address: endpointPath({ clientId, id }),
    children: <Copy label="secret" text={secret} isBlock />,
  })
}

async function sendTest(request: AdminRequest): Promise<Response> {
  const clientId = request.param('clientId')
  if (!(await findApp(request.service.db.pool, clientId))) return await showNotFound(request, 'app')
  return (await pingApp(request.service, request.actor, clientId))
    ? redirect(`${tabPath(clientId, 'events')}?done=test-sent`)
    : await showProblem(request, 409, 'Switch the app’s events on first.')
}
