/** The list of client apps: name, state, scopes and last use. */
import { recordAudit } from '../../actions/audit.ts'
import { listApps, type App } from '../../store/apps.ts'
import { csvLine, csvPages, download } from '../../web/csv.ts'
import { byTime } from '../kit/filters.tsx'
import {
  Badge,
  dayText,
  Empty,
  Field,
  type Head,
  Heading,
  ListHead,
  Pager,
  sortable,
  Table,
  When,
  withQuery,
} from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import { AppState } from '../kit/states.tsx'
import { get, may, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const clientAppsRoutes: AdminRoute[] = [
  get('/admin/client-apps', showApps),
  get('/admin/client-apps.csv', exportApps),
]

const pageSize = 50

const states = [
  ['', 'All'],
  ['active', 'Active'],
  ['inactive', 'Inactive'],
] as const

type Compare = (a: App, b: App) => number

const byAge: Compare = (a, b) => a.createdAt.getTime() - b.createdAt.getTime()
const byName: Compare = (a, b) => a.name.localeCompare(b.name, 'en')
const byUse: Compare = (a, b) => (lastUseOf(a)?.getTime() ?? 0) - (lastUseOf(b)?.getTime() ?? 0)
const reversed =
  (compare: Compare): Compare =>
  (a, b) =>
    compare(b, a)

/** By the order in the address; newest first by default. */
const orders: Readonly<Record<string, Compare>> = {
  '': reversed(byAge),
  oldest: byAge,
  'name-z': reversed(byName),
  name: byName,
  used: reversed(byUse),
  unused: byUse,
}

/** Apps are filtered and sorted in memory: every process holds all of them anyway. */
async function findMatching(request: AdminRequest): Promise<{ all: App[]; matching: App[] }> {
  const all = await listApps(request.service.db.pool)
  const [q, state] = [request.query('q').trim().toLowerCase(), request.query('state')]
  const order = orders[request.query('order')] ?? orders['']
  return { all, matching: all.filter((app) => isMatch(app, q, state)).toSorted(order) }
}

async function showApps(request: AdminRequest): Promise<Response> {
  const q = request.query('q').trim()
  const [state, order] = [request.query('state'), request.query('order')]
  const { all, matching } = await findMatching(request)
  const hrefOf = (changed: string) => withQuery('/admin/client-apps', { q, state, order: changed })
  // `after` is the cursor: the clientId of the last app shown.
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
              Register the first one. It gets a clientId and a clientSecret, with which its backend reads, debits and
              credits wallets.
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
          <ListHead
            total={matching.length}
            what={matching.length === 1 ? 'app' : 'apps'}
            filters={[
              ['has', q],
              ['state', state],
            ]}
            clear="/admin/client-apps"
            csv={withQuery('/admin/client-apps.csv', { q, state, order })}
          />
          <AppTable
            apps={shown}
            name={sortable('App', { ascending: 'name', descending: 'name-z' }, { order, hrefOf })}
            used={sortable('Last used', { descending: 'used', ascending: 'unused' }, { order, hrefOf })}
            since={sortable('Registered', byTime, { order, hrefOf })}
          />
          <Pager
            first={start > 0 ? hrefOf(order) : undefined}
            next={next && withQuery('/admin/client-apps', { q, state, order, after: next })}
          />
        </section>
      )}
    </>
  )
  return await showPage(request, { title: 'Client apps', here: 'apps', body })
}

type AppTableProps = { apps: readonly App[]; name: Head; used: Head; since: Head }

function AppTable({ apps, name, used, since }: AppTableProps) {
  if (apps.length === 0)
    return (
      <Empty title="Nothing found">
        <p>No app matches by name, clientId or origin.</p>
      </Empty>
    )
  return (
    <Table label="Client apps" head={[name, 'State', 'Scopes', 'Secrets', used, since]}>
      {apps.map((app) => {
        const live = app.secrets.filter((secret) => !secret.hasEnded)
        return (
          <tr key={app.clientId}>
            <td class="wide">
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

const head = [
  'clientId',
  'name',
  'state',
  'scopes',
  'liveSecrets',
  'lastUsedAt',
  'createdAt',
  'origins',
  'iframeParents',
]

async function exportApps(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  await recordAudit(service.db.pool, actor, 'apps.exported', 'apps')
  const { matching } = await findMatching(request)
  const lines = matching.map((app) =>
    csvLine([
      app.clientId,
      app.name,
      app.isActive ? 'active' : 'inactive',
      app.scopes.join(' '),
      app.secrets.filter((secret) => !secret.hasEnded).length,
      lastUseOf(app)?.toISOString(),
      app.createdAt.toISOString(),
      app.allowedOrigins.join(' '),
      app.allowedIframeParents.join(' '),
    ]),
  )
  const read = async (before: { lines: string[] } | undefined) => (before ? undefined : { lines })
  return download(`apps-${dayText(service.now())}.csv`, csvPages(head, read))
}
