/** A client app's secrets: shown once, rotated with an overlap, revoked. */
import { overlaps, revokeSecret, rotateSecret, type Overlap } from '../actions/apps/manage-apps.ts'
import { takeForm } from '../actions/operators/keep-session.ts'
import { isUuid } from '../actions/tokens.ts'
import { findApp } from '../store/apps.ts'
import { redirect, showNotFound, showProblem } from './kit/respond.tsx'
import { showSecret } from './kit/secrets.tsx'
import { post, type AdminRoute, type AdminRequest } from './kit/route.ts'

export const secretRoutes: AdminRoute[] = [
  post('/admin/client-apps/:clientId/secrets', rotate, 'secrets'),
  post('/admin/client-apps/:clientId/secrets/:id/revoke', revoke, 'secrets'),
]

async function rotate(request: AdminRequest): Promise<Response> {
  const { service, form, actor } = request
  const clientId = request.param('clientId')
  const app = await findApp(service.db.pool, clientId)
  if (!app) return await showNotFound(request, 'app')
  const overlap = (Object.keys(overlaps) as Overlap[]).find((known) => known === form.text('overlap'))
  if (!overlap) return await showProblem(request, 422, 'Choose how long the old secret lives on.')
  const formId = form.text('form')
  if (!(await takeForm(service, formId, `app:${clientId}`)))
    return await showProblem(request, 409, 'This form was sent before: the new secret was shown then.')
  const rotated = await rotateSecret(service, actor, clientId, overlap)
  if (!rotated) return await showNotFound(request, 'app')
  const note =
    overlap === 'none'
      ? 'The old secret is refused from now on.'
      : `The old secret ends at ${utc(rotated.previousEndsAt)}.`
  return await showSecret(request, {
    clientId,
    clientSecret: rotated.clientSecret,
    name: app.name,
    title: 'The new secret',
    note,
  })
}

function utc(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

async function revoke(request: AdminRequest): Promise<Response> {
  const [clientId, id] = [request.param('clientId'), request.param('id')]
  const isRevoked = isUuid(id) && (await revokeSecret(request.service, request.actor, clientId, id))
  return isRevoked
    ? redirect(`/admin/client-apps/${clientId}?done=secret-revoked`)
    : await showNotFound(request, 'secret')
}
