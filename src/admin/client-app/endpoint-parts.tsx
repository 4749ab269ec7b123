/** What the pages about endpoints share. */
import { healthOf, maskEndpoint, type EndpointHealth } from '../../actions/webhooks/describe-endpoint.ts'
import type { EndpointLag } from '../../store/events/endpoint-lag.ts'
import { findEndpoint, type Endpoint } from '../../store/events/endpoints.ts'
import { Badge, countText, lengthText } from '../kit/parts.tsx'
import { showNotFound } from '../kit/respond.tsx'
import { may, type AdminRequest } from '../kit/route.ts'

export const endpointsPath = '/admin/client-apps/:clientId/endpoints'

export const endpointPath = ({ clientId, id }: Pick<Endpoint, 'clientId' | 'id'>) =>
  `/admin/client-apps/${clientId}/endpoints/${id}`

/** An endpoint is found only under its own app. */
export async function withEndpoint(
  request: AdminRequest,
  handle: (request: AdminRequest, endpoint: Endpoint) => Promise<Response>,
): Promise<Response> {
  const endpoint = await findEndpoint(request.service.db.pool, request.param('id'))
  if (endpoint?.clientId !== request.param('clientId')) return await showNotFound(request, 'endpoint')
  return await handle(request, endpoint)
}

/** The address may hold a token: only operators who may change the endpoint see all of it. */
export function shownTo(request: AdminRequest, endpoint: Endpoint): Endpoint {
  return may(request, 'apps') ? endpoint : maskEndpoint(endpoint)
}

const badges: Readonly<Record<EndpointHealth, '' | 'good' | 'warn' | 'bad'>> = {
  working: 'good',
  failing: 'warn',
  ill: 'bad',
  disabled: '',
}

export function Health({ endpoint }: { endpoint: Endpoint }) {
  const health = healthOf(endpoint)
  return <Badge kind={badges[health]}>{health}</Badge>
}

export function lagText({ events, seconds }: EndpointLag = { events: 0, seconds: 0 }): string {
  return events === 0 ? 'none' : `${countText(events)}, for ${lengthText(seconds * 1_000)}`
}
