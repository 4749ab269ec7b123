/** The endpoints of an app: where its events are posted to, how far each has come, its attempts, and what an admin can do. */
import { overlaps, type Overlap } from '../../actions/apps/manage-apps.ts'
import { takeForm } from '../../actions/operators/manage-sessions.ts'
import { isUuid } from '../../actions/tokens.ts'
import { describeEndpoint, healthOf, type EndpointHealth } from '../../actions/webhooks/describe-endpoint.ts'
import {
  addEndpoint,
  disableEndpoint,
  enableEndpoint,
  eventTypes,
  maxEndpoints,
  maxReplayed,
  parseEndpoint,
  pingApp,
  removeEndpoint,
  replayEvents,
  rotateEndpointSecret,
} from '../../actions/webhooks/manage-endpoints.ts'
import { findApp, type App } from '../../store/apps.ts'
import { findEventHeads } from '../../store/events/feed.ts'
import { findEndpoint, listAttempts, type Attempt, type Endpoint } from '../../store/events/endpoints.ts'
import { Badge, Copy, countText, Empty, Field, Form, Heading, Notice, Table, When } from '../kit/parts.tsx'
import { otherContent, redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { tabPath } from './client-app-tabs.tsx'

const path = '/admin/client-apps/:clientId/endpoints'

export const endpointRoutes: AdminRoute[] = [
  get(`${path}/:id`, (request) => withEndpoint(request, showEndpoint)),
  post(path, addAppEndpoint, 'secrets'),
  post('/admin/client-apps/:clientId/events/test', sendTest, 'apps'),
  post(`${path}/:id/rotate`, (request) => withEndpoint(request, rotate), 'secrets'),
  post(`${path}/:id/state`, (request) => withEndpoint(request, changeState), 'apps'),
  post(`${path}/:id/replay`, (request) => withEndpoint(request, replay), 'apps'),
  post(`${path}/:id/remove`, (request) => withEndpoint(request, remove), 'apps'),
]

const pathOf = ({ clientId, id }: Endpoint) => `/admin/client-apps/${clientId}/endpoints/${id}`
/** An endpoint is found only under its own app. */
async function withEndpoint(
  request: AdminRequest,
  handle: (request: AdminRequest, endpoint: Endpoint) => Promise<Response>,
): Promise<Response> {
  const endpoint = await findEndpoint(request.service.db.pool, request.param('id'))
  if (endpoint?.clientId !== request.param('clientId')) return await showNotFound(request, 'endpoint')
  return await handle(request, endpoint)
}

const badges: Readonly<Record<EndpointHealth, '' | 'good' | 'warn' | 'bad'>> = {
  working: 'good',
  failing: 'warn',
  ill: 'bad',
  disabled: '',
}

function Health({ endpoint }: { endpoint: Endpoint }) {
  const health = healthOf(endpoint)
  return <Badge kind={badges[health]}>{health}</Badge>
}

export function Endpoints({
  request,
  app,
  endpoints,
  last,
}: {
  request: AdminRequest
  app: App
  endpoints: readonly Endpoint[]
  last: number
}) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Endpoints</h2>
      </div>
      {endpoints.length === 0 ? (
        <Empty title="No endpoint">The app reads its events from the feed. An endpoint gets them sent.</Empty>
      ) : (
        <Table label="Endpoints" head={['Address', 'State', 'Waiting', 'Last delivery']}>
          {endpoints.map((endpoint) => (
            <tr key={endpoint.id}>
              <td>
                <a href={pathOf(endpoint)}>{endpoint.url}</a>
              </td>
              <td>
                <Health endpoint={endpoint} />
              </td>
              <td>{countText(Math.max(0, last - endpoint.deliveredUpTo))}</td>
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
        <input type="hidden" name="form" value={crypto.randomUUID()} />
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

async function takeOnce(
  request: AdminRequest,
  subject: string,
  content: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  const id = request.form.text('form')
  if (!isUuid(id)) return await showProblem(request, 422, 'This form is incomplete. Start again from the app.')
  const taken = await takeForm(request.service, { id, subject, content })
  if (taken === 'other') return await showProblem(request, 409, otherContent)
  if (taken === 'repeat')
    return await showProblem(request, 409, 'This form was already sent, and the secret was shown then.')
  return undefined
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
  const refused = await takeOnce(request, `app:${clientId}`, {
    url: checked.url,
    types: (checked.types ?? []).join(' '),
  })
  if (refused) return refused
  const added = await addEndpoint(service, actor, clientId, checked)
  if (added.kind === 'added') return await showSigningSecret(request, 'The new endpoint', added, clientId)
  if (added.kind === 'no-app') return await showNotFound(request, 'app')
  return await showProblem(
    request,
    409,
    added.kind === 'events-off'
      ? 'Switch the app’s events on first.'
      : `The app has ${maxEndpoints} endpoints already. Remove one first.`,
  )
}

/** The only page that shows it. */
async function showSigningSecret(
  request: AdminRequest,
  title: string,
  { id, secret }: { readonly id: string; readonly secret: string },
  clientId: string,
): Promise<Response> {
  const address = tabPath(clientId, 'events')
  const body = (
    <>
      <Heading title={title} sub={<code>{id}</code>} />
      <section class="card stack" data-address={address}>
        <Notice kind="warn">
          This is the only time the secret is shown. The receiver checks every event’s signature with it.
        </Notice>
        <Copy label="secret" text={secret} isBlock />
        <p>
          <a class="button" href={address}>
            I have saved it
          </a>
        </p>
      </section>
    </>
  )
  return await showPage(request, { title, here: 'apps', body })
}

async function sendTest(request: AdminRequest): Promise<Response> {
  const clientId = request.param('clientId')
  if (!(await findApp(request.service.db.pool, clientId))) return await showNotFound(request, 'app')
  return (await pingApp(request.service, request.actor, clientId))
    ? redirect(`${tabPath(clientId, 'events')}?done=test-sent`)
    : await showProblem(request, 409, 'Switch the app’s events on first.')
}

async function showEndpoint(request: AdminRequest, endpoint: Endpoint): Promise<Response> {
  const { db } = request.service
  const [app, heads, attempts] = await Promise.all([
    findApp(db.pool, endpoint.clientId),
    findEventHeads(db.pool, [endpoint.clientId]),
    listAttempts(db.pool, endpoint.id, 100),
  ])
  const title = `Endpoint of ${app?.name ?? endpoint.clientId}`
  const body = (
    <>
      <Heading
        title={
          <>
            {title} <Health endpoint={endpoint} />
          </>
        }
        sub={<Copy label="address" text={endpoint.url} />}
      >
        <a class="button quiet small" href={tabPath(endpoint.clientId, 'events')}>
          All endpoints
        </a>
      </Heading>
      <section class="card stack">
        <p>{describeEndpoint(endpoint, heads.get(endpoint.clientId) ?? 0)}</p>
        <p class="muted">
          Delivered up to event {countText(endpoint.deliveredUpTo)}. Types: {endpoint.types?.join(', ') ?? 'all'}. Added{' '}
          <When at={endpoint.createdAt} />.
        </p>
      </section>
      <Attempts attempts={attempts} />
      {may(request, 'apps') && <Actions request={request} endpoint={endpoint} />}
    </>
  )
  return await showPage(request, { title, here: 'apps', body })
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Attempts</h2>
        <p class="muted small">Every failure, and up to five successes of each second. The newest first.</p>
      </div>
      {attempts.length === 0 ? (
        <Empty title="No attempt yet">Nothing has happened since the endpoint was added.</Empty>
      ) : (
        <Table label="Attempts" head={['Time', 'Event', 'Answer', 'Milliseconds', 'What failed']}>
          {attempts.map((attempt) => (
            <tr key={`${attempt.at.toISOString()} ${attempt.number}`}>
              <td>
                <When at={attempt.at} />
              </td>
              <td>{attempt.number}</td>
              <td>
                <Badge kind={attempt.error === null ? 'good' : 'bad'}>{attempt.status ?? 'none'}</Badge>
              </td>
              <td>{countText(attempt.tookMs)}</td>
              <td class="wrap">{attempt.error ?? ''}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function Actions({ request, endpoint }: { request: AdminRequest; endpoint: Endpoint }) {
  const action = pathOf(endpoint)
  return (
    <section class="card stack">
      <h2>Change it</h2>
      <Form request={request} action={`${action}/state`} class="row bottom">
        {endpoint.disabledAt === null ? (
          <>
            <input type="hidden" name="to" value="disabled" />
            <button class="button quiet" type="submit">
              Disable
            </button>
          </>
        ) : (
          <>
            <Field
              label="Begin"
              name="to"
              value="where-it-stood"
              options={[
                ['where-it-stood', 'with the events that wait'],
                ['now', 'with the next event'],
              ]}
            />
            <button class="button" type="submit">
              Enable
            </button>
          </>
        )}
      </Form>
      <Form request={request} action={`${action}/replay`} class="row bottom">
        <Field label="From event" name="first" />
        <Field label="to event" name="last" />
        <button class="button quiet" type="submit">
          Send again
        </button>
      </Form>
      {may(request, 'secrets') && (
        <Form request={request} action={`${action}/rotate`} class="row bottom">
          <input type="hidden" name="form" value={crypto.randomUUID()} />
          <Field
            label="The old secret signs too"
            name="overlap"
            value="24h"
            options={(Object.keys(overlaps) as Overlap[]).map((overlap) => [overlap, overlapLabels[overlap]])}
          />
          <button class="button quiet" type="submit">
            Create a new secret
          </button>
        </Form>
      )}
      <details>
        <summary>Remove…</summary>
        <Form request={request} action={`${action}/remove`} class="stack tight">
          <p class="small">The events that wait for it are not sent. The app’s feed still has them.</p>
          <div>
            <button class="button danger small" type="submit">
              Remove now
            </button>
          </div>
        </Form>
      </details>
    </section>
  )
}

const overlapLabels: Record<Overlap, string> = {
  none: 'no longer',
  '1h': 'for 1 hour',
  '24h': 'for 24 hours',
  '7d': 'for 7 days',
}

async function rotate(request: AdminRequest, { id, clientId }: Endpoint): Promise<Response> {
  const overlap = (Object.keys(overlaps) as Overlap[]).find((known) => known === request.form.text('overlap'))
  if (!overlap) return await showProblem(request, 422, 'Choose how long the old secret signs too.')
  const refused = await takeOnce(request, `endpoint:${id}`, { overlap })
  if (refused) return refused
  const secret = await rotateEndpointSecret(request.service, request.actor, id, overlap)
  if (secret === undefined) return await showNotFound(request, 'endpoint')
  return await showSigningSecret(request, 'The new secret', { id, secret }, clientId)
}

async function changeState(request: AdminRequest, endpoint: Endpoint): Promise<Response> {
  const to = request.form.text('to')
  if (to === 'disabled') await disableEndpoint(request.service, request.actor, endpoint.id)
  else if (to === 'where-it-stood' || to === 'now')
    await enableEndpoint(request.service, request.actor, endpoint.id, to)
  else return await showProblem(request, 422, 'An endpoint can be disabled or enabled.')
  return redirect(`${pathOf(endpoint)}?done=endpoint-${to === 'disabled' ? 'disabled' : 'enabled'}`)
}

const isNumber = (text: string | undefined) => /^[1-9]\d{0,14}$/.test(text ?? '')

async function replay(request: AdminRequest, endpoint: Endpoint): Promise<Response> {
  const [first, last] = ['first', 'last'].map((name) => request.form.text(name).trim())
  if (!isNumber(first) || (last !== '' && !isNumber(last)))
    return await showProblem(request, 422, 'Write the numbers of the first and the last event.')
  const range = { first: Number(first), last: Number(last || first) }
  const result = await replayEvents(request.service, request.actor, endpoint.id, range)
  if (!result) return await showNotFound(request, 'endpoint')
  if (result.kind === 'nothing') return await showProblem(request, 422, 'The endpoint has had no event of that range.')
  if (result.kind === 'too-many')
    return await showProblem(request, 422, `Ask for at most ${countText(maxReplayed)} events at once.`)
  return redirect(`${pathOf(endpoint)}?done=events-replayed`)
}

async function remove(request: AdminRequest, { id, clientId }: Endpoint): Promise<Response> {
  await removeEndpoint(request.service, request.actor, id)
  return redirect(`${tabPath(clientId, 'events')}?done=endpoint-removed`)
}
