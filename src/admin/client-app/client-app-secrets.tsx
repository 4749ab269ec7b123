/** A client app's secrets: listed, shown once, rotated with an overlap, revoked. */
import { revokeSecret, rotateSecret } from '../../actions/apps/manage-apps.ts'
import { fingerprintOf, isUuid } from '../../actions/tokens.ts'
import { findApp, type App, type AppSecret } from '../../store/apps.ts'
import { Badge, Copy, Form, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound } from '../kit/respond.tsx'
import { may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { tabPath } from './client-app-tabs.tsx'
import { RotateForm, showOnce, takeRotation } from './shown-once.tsx'

export const secretRoutes: AdminRoute[] = [
  post('/admin/client-apps/:clientId/secrets', rotateAppSecret, 'secrets'),
  post('/admin/client-apps/:clientId/secrets/:id/revoke', revokeAppSecret, 'secrets'),
]

async function rotateAppSecret(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const clientId = request.param('clientId')
  const app = await findApp(service.db.pool, clientId)
  if (!app) return await showNotFound(request, 'app')
  const { overlap, refused } = await takeRotation(request, `app:${clientId}`)
  if (refused) return refused
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

async function revokeAppSecret(request: AdminRequest): Promise<Response> {
  const [clientId, id] = [request.param('clientId'), request.param('id')]
  const isRevoked = isUuid(id) && (await revokeSecret(request.service, request.actor, clientId, id))
  return isRevoked
    ? redirect(`${tabPath(clientId, 'secrets')}?done=secret-revoked`)
    : await showNotFound(request, 'secret')
}

export function Secrets({ request, app }: { request: AdminRequest; app: App }) {
  const mayChange = may(request, 'secrets')
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Secrets</h2>
      </div>
      <Table label="Secrets" head={['Fingerprint', 'Created', 'State', 'Last used', ...(mayChange ? [''] : [])]}>
        {app.secrets.map((secret) => (
          <tr key={secret.id}>
            <td>
              <code>{fingerprintOf(secret.hash)}</code>
            </td>
            <td>
              <When at={secret.createdAt} />
            </td>
            <td>
              <SecretState secret={secret} />
            </td>
            <td>
              <When at={secret.lastUsedAt} />
            </td>
            {mayChange && (
              <td class="end">{!secret.hasEnded && <Revoke request={request} app={app} secret={secret} />}</td>
            )}
          </tr>
        ))}
      </Table>
      {mayChange && (
        <div class="pager">
          <details class="stretch">
            <summary>Rotate the secret…</summary>
            <RotateForm request={request} action={`/admin/client-apps/${app.clientId}/secrets`} />
          </details>
        </div>
      )}
    </section>
  )
}

function SecretState({ secret }: { secret: AppSecret }) {
  if (secret.expiresAt === null) return <Badge kind="good">current</Badge>
  if (secret.hasEnded)
    return (
      <>
        <Badge>ended</Badge> <When at={secret.expiresAt} />
      </>
    )
  return (
    <>
      <Badge kind="warn">ends</Badge> <When at={secret.expiresAt} />
    </>
  )
}

function Revoke({ request, app, secret }: { request: AdminRequest; app: App; secret: AppSecret }) {
  const isLast = app.secrets.filter((other) => !other.hasEnded).length === 1
  return (
    <details>
      <summary>Revoke…</summary>
      <Form
        request={request}
        action={`/admin/client-apps/${app.clientId}/secrets/${secret.id}/revoke`}
        class="stack tight"
      >
        <p class="small">
          {isLast
            ? 'It is the only secret. The app cannot make calls until it has a new one.'
            : 'It is refused within a second.'}
        </p>
        <div>
          <button class="button danger small" type="submit">
            Revoke now
          </button>
        </div>
      </Form>
    </details>
  )
}

type Shown = { clientId: string; clientSecret: string; name: string; title: string; note?: string }

export async function showSecret(
  request: AdminRequest,
  { clientId, clientSecret, name, title, note }: Shown,
): Promise<Response> {
  const base = request.service.config.publicUrl
  const env = `BILLFOLD_URL=${base}\nBILLFOLD_CLIENT_ID=${clientId}\nBILLFOLD_CLIENT_SECRET=${clientSecret}`
  const curl = `curl -s ${base}/api/server/wallet/credit \\
  -H 'content-type: application/json' \\
  -d '{"clientId":"${clientId}","clientSecret":"${clientSecret}",
       "serviceUserId":"su_…","amount":10,"referenceType":"TEST","referenceId":"test-1"}'`
  return await showOnce(request, {
    title,
    sub: name,
    note: `Store it in the backend’s configuration, never in a page or an app.${note ? ` ${note}` : ''}`,
    address: tabPath(clientId, 'secrets'),
    children: (
      <>
        <h2>clientId</h2>
        <Copy label="clientId" text={clientId} isBlock />
        <h2>clientSecret</h2>
        <Copy label="clientSecret" text={clientSecret} isBlock />
        <h2>For the backend’s .env</h2>
        <Copy label=".env lines" text={env} isBlock />
        <h2>A first credit, with one of your serviceUserIds</h2>
        <Copy label="curl command" text={curl} isBlock />
      </>
    ),
  })
}
