/** The client apps: who they are, whether they may request, and when they last did. */
import { listApps, type App } from '../store/apps.ts'
import { Badge, Empty, Field, Heading, Pager, Table, When, withQuery } from './kit/parts.tsx'
import { showPage } from './kit/respond.tsx'
import { AppState } from './kit/states.tsx'
import { get, may, type AdminRoute, type AdminRequest } from './kit/route.ts'

export const clientAppsRoutes: AdminRoute[] = [get('/admin/client-apps', show)]

const pageSize = 50

const states = [
  ['', 'All'],
  ['active', 'Active'],
  ['inactive', 'Inactive'],
] as const

async function show(request: AdminRequest): Promise<Response> {
  const q = request.query('q').trim()
  const state = request.query('state')
  const all = (await listApps(request.service.db.pool)).reverse()
  const matching = all.filter((app) => isMatch(app, q.toLowerCase(), state))
  // All apps are read and filtered here, as every process holds all of them in memory anyway; a page starts after the app
  // that `after` names.
  const start = matching.findIndex((app) => app.clientId === request.query('after')) + 1
  const shown = matching.slice(start, start + pageSize)
  const next = matching.length > start + pageSize ? shown.at(-1)!.clientId : undefined
  const mayRegister = may(request, 'apps')
  const body = (
    <>
      <Heading title="Client apps" sub="The web applications that use wallets through this service.">
        {mayRegister && (
          <a class="button" href="/admin/client-apps/new">
            Register an app
          </a>
        )}
      </Heading>
      {all.length === 0 ? (
        <section class="card">
          <Empty title="No apps yet">
            <p>
              Register the first one: it gets a clientId and a clientSecret, with which its backend reads wallets,
              debits and credits them.
            </p>
            {mayRegister && (
              <a class="button" href="/admin/client-apps/new">
                Register an app
              </a>
            )}
          </Empty>
        </section>
      ) : (
        <section class="card flush">
          <form class="row bottom" method="get" action="/admin/client-apps" data-auto>
            <div class="stretch">
              <Field
                label="Search"
                name="q"
                type="search"
                value={q}
                attributes={{ placeholder: 'Name, clientId or origin' }}
              />
            </div>
            <Field label="State" name="state" value={state} options={states} />
            <button class="button quiet" type="submit">
              Search
            </button>
          </form>
          <AppTable apps={shown} />
          <Pager
            first={start > 0 ? withQuery('/admin/client-apps', { q, state }) : undefined}
            next={next && withQuery('/admin/client-apps', { q, state, after: next })}
          />
        </section>
      )}
    </>
  )
  return await showPage(request, { title: 'Client apps', here: 'apps', body })
}

function AppTable({ apps }: { apps: readonly App[] }) {
  if (apps.length === 0)
    return (
      <Empty title="Nothing found">
        <p>No app has this in its name, clientId or origins.</p>
      </Empty>
    )
  return (
    <Table label="Client apps" head={['App', 'State', 'Scopes', 'Secrets', 'Last used', 'Registered']}>
      {apps.map((app) => {
        const live = app.secrets.filter((secret) => !secret.hasEnded)
        return (
          <tr key={app.clientId}>
            <td>
              <a href={`/admin/client-apps/${app.clientId}`}>{app.name}</a>
              <br />
              <code class="muted">{app.clientId}</code>
            </td>
            <td>
              <AppState app={app} />
            </td>
            <td class="muted">{app.scopes.join(', ') || 'none'}</td>
            <td>
              {live.length} {live.length > 1 && <Badge kind="warn">rotating</Badge>}
              {live.length === 0 && <Badge kind="bad">none</Badge>}
            </td>
            <td>
              <When at={lastUseOf(app)} />
            </td>
            <td>
              <When at={app.createdAt} isShort />
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

function lastUseOf(app: App): Date | null {
  const times = app.secrets.flatMap((secret) => (secret.lastUsedAt ? [secret.lastUsedAt.getTime()] : []))
  return times.length === 0 ? null : new Date(Math.max(...times))
}

function isMatch(app: App, q: string, state: string): boolean {
  if (state === 'active' && !app.isActive) return false
  if (state === 'inactive' && app.isActive) return false
  const texts = [app.name, app.clientId, ...app.allowedOrigins, ...app.allowedIframeParents]
  return texts.some((text) => text.toLowerCase().includes(q))
}
