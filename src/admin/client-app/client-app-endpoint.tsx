/** The page of one endpoint: how far it has come, its last attempts, and what an admin can do. */
import { describeEndpoint, maskAttempt } from '../../actions/webhooks/describe-endpoint.ts'
import {
  disableEndpoint,
  enableEndpoint,
  noSecretText,
  removeEndpoint,
  rotateEndpointSecret,
} from '../../actions/webhooks/manage-endpoints.ts'
import { findApp } from '../../store/apps.ts'
import { findEndpointLags } from '../../store/events/endpoint-lag.ts'
import { findEventHeads } from '../../store/events/feed.ts'
import { listAttempts, type Attempt, type Endpoint } from '../../store/events/endpoints.ts'
import { Badge, Copy, countText, Empty, Facts, Field, Form, Heading, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { showSigningSecret } from './client-app-endpoints.tsx'
import { tabPath } from './client-app-tabs.tsx'
import { endpointPath, endpointsPath, Health, lagText, shownTo, withEndpoint } from './endpoint-parts.tsx'
import { ReplayForm } from './endpoint-replay.tsx'
import { RotateForm, takeRotation } from './shown-once.tsx'

const path = `${endpointsPath}/:id`

export const endpointRoutes: AdminRoute[] = [
  get(path, (request) => withEndpoint(request, showEndpoint)),
  post(`${path}/rotate`, (request) => withEndpoint(request, rotate), 'secrets'),
  post(`${path}/state`, (request) => withEndpoint(request, changeState), 'apps'),
  post(`${path}/remove`, (request) => withEndpoint(request, remove), 'apps'),
]

const attemptsShown = 100

async function showEndpoint(request: AdminRequest, whole: Endpoint): Promise<Response> {
  const { db } = request.service
  const endpoint = shownTo(request, whole)
  const { clientId, id } = endpoint
  const [app, heads, lags, attempts] = await Promise.all([
    findApp(db.pool, clientId),
    findEventHeads(db.pool, [clientId]),
    findEndpointLags(db.pool, clientId),
    listAttempts(db.pool, id, attemptsShown),
  ])
  const title = `Endpoint of ${app?.name ?? clientId}`
  const mayChange = may(request, 'apps')
  const body = (
    <>
      <Heading
        title={
          <>
            {title} <Health endpoint={endpoint} />
          </>
        }
        sub={mayChange ? <Copy label="address" text={endpoint.url} /> : <code class="breaks">{endpoint.url}</code>}
      >
        <a class="button quiet small" href={tabPath(clientId, 'events')}>
          All endpoints
        </a>
      </Heading>
      <section class="card stack">
        <p>{describeEndpoint(endpoint, heads.get(clientId) ?? 0)}</p>
        <Facts
          rows={[
            ['Delivered up to event', countText(endpoint.deliveredUpTo)],
            ['Events that wait', lagText(lags.get(id))],
            ['Last delivery', <When at={endpoint.lastSuccessAt} />],
            ['Types', endpoint.types?.join(', ') ?? 'all'],
            ['Added', <When at={endpoint.createdAt} />],
          ]}
        />
      </section>
      <Attempts attempts={mayChange ? attempts : attempts.map(maskAttempt)} />
      {mayChange && <Actions request={request} endpoint={endpoint} />}
    </>
  )
  return await showPage(request, { title, here: 'apps', body })
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Attempts</h2>
        <p class="muted small">
          Every failure, and up to five successes of each second. The newest first, up to {attemptsShown}.
        </p>
      </div>
      {attempts.length === 0 ? (
        <Empty title="No attempt yet">Nothing has happened since the endpoint was added.</Empty>
      ) : (
        <Table label="Attempts" head={['Time', 'Event', 'Answer', ['Milliseconds'], 'What failed']}>
          {attempts.map((attempt) => (
            <tr key={`${attempt.at.toISOString()} ${attempt.number}`}>
              <td>
                <When at={attempt.at} />
              </td>
              <td>{attempt.number}</td>
              <td>
                <Badge kind={attempt.error === null ? 'good' : 'bad'}>{attempt.status ?? 'none'}</Badge>
              </td>
              <td class="number">{countText(attempt.tookMs)}</td>
              <td class="wrap">{attempt.error ?? ''}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function Actions({ request, endpoint }: ActionProps) {
  const action = endpointPath(endpoint)
  return (
    <section class="card stack">
      <h2>Change it</h2>
      {endpoint.secret === null ? <NoSecret endpoint={endpoint} /> : <State request={request} endpoint={endpoint} />}
      <ReplayForm endpoint={endpoint} />
      {may(request, 'secrets') && (
        <details open={endpoint.secret === null}>
          <summary>Rotate the secret…</summary>
          {endpoint.secret !== null && <p class="small">While the old secret is valid, both sign every event.</p>}
          <RotateForm request={request} action={`${action}/rotate`} />
        </details>
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

type ActionProps = { request: AdminRequest; endpoint: Endpoint }

function State({ request, endpoint }: ActionProps) {
  return (
    <Form request={request} action={`${endpointPath(endpoint)}/state`} class="row bottom">
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
  )
}

/** It cannot be enabled without a secret. One that was disabled for this alone is enabled by the rotation. */
function NoSecret({ endpoint }: { endpoint: Endpoint }) {
  return (
    <p>
      The key of its secret is lost, so its events cannot be signed. Rotate the secret below:{' '}
      {endpoint.disabledFor === 'secret-lost'
        ? 'the endpoint then continues with the events that wait.'
        : 'then you can enable the endpoint.'}
    </p>
  )
}

async function rotate(request: AdminRequest, { id, clientId }: Endpoint): Promise<Response> {
  const { overlap, refused } = await takeRotation(request, `endpoint:${id}`)
  if (refused) return refused
  const secret = await rotateEndpointSecret(request.service, request.actor, id, overlap)
  if (secret === undefined) return await showNotFound(request, 'endpoint')
  return await showSigningSecret(request, 'The new secret', { id, clientId, secret })
}

async function changeState(request: AdminRequest, endpoint: Endpoint): Promise<Response> {
  const to = request.form.text('to')
  if (to === 'disabled') await disableEndpoint(request.service, request.actor, endpoint.id)
  else if (to === 'where-it-stood' || to === 'now') {
    const enabled = await enableEndpoint(request.service, request.actor, endpoint.id, to)
    if (enabled === 'no-secret') return await showProblem(request, 409, noSecretText)
  } else return await showProblem(request, 422, 'An endpoint can be disabled or enabled.')
  return redirect(`${endpointPath(endpoint)}?done=endpoint-${to === 'disabled' ? 'disabled' : 'enabled'}`)
}

async function remove(request: AdminRequest, { id, clientId }: Endpoint): Promise<Response> {
  await removeEndpoint(request.service, request.actor, id)
  return redirect(`${tabPath(clientId, 'events')}?done=endpoint-removed`)
}
