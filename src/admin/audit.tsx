/** Who did what, when and from where. */
import { record } from '../actions/audit.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import { listAudit, listAuditActions, type AuditFilter } from '../store/audit.ts'
import { listOperators } from '../store/operators.ts'
import { csvLine, download } from '../web/csv.ts'
import { AuditTable } from './kit/audit-table.tsx'
import { Empty, Field, Heading, Pager, withQuery } from './kit/parts.tsx'
import { showPage } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'

export const auditRoutes: AdminRoute[] = [get('/admin/audit', show), get('/admin/audit.csv', exportCsv)]

const pageSize = 50

function filterOf(request: AdminRequest): AuditFilter {
  const text = (name: string) => request.query(name).trim() || undefined
  const until = dayOf(request.query('until'))
  return {
    actor: text('actor'),
    action: text('action'),
    subject: text('subject'),
    from: dayOf(request.query('from')),
    until: until && new Date(until.getTime() + 86_400_000),
  }
}

function dayOf(text: string): Date | undefined {
  const at = /^20\d\d-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined
  return at && !Number.isNaN(at.getTime()) ? at : undefined
}

async function show(request: AdminRequest): Promise<Response> {
  const db = request.service.db.pool
  const after = isUuid(request.query('after')) ? request.query('after') : undefined
  const [found, actions, operators] = await Promise.all([
    listAudit(db, filterOf(request), { after, limit: pageSize + 1 }),
    listAuditActions(db),
    listOperators(db),
  ])
  const records = found.slice(0, pageSize)
  const names = ['actor', 'action', 'subject', 'from', 'until']
  const kept = Object.fromEntries(names.map((name) => [name, request.query(name)]))
  const hasFilter = Object.values(kept).some((value) => value !== '')
  const body = (
    <>
      <Heading title="Audit log" sub="Everything operators did, and everything that was refused. Nobody can change it.">
        <a class="button quiet small" href={withQuery('/admin/audit.csv', kept)}>
          Export as CSV
        </a>
      </Heading>
      <section class="card flush">
        <form class="row bottom" method="get" action="/admin/audit" data-auto>
          <Field
            label="Who"
            name="actor"
            value={kept['actor'] ?? ''}
            options={[
              ['', 'Anyone'],
              ...operators.map((each): [string, string] => [`operator:${each.id}`, each.name]),
              ['cli', 'Command line'],
              ['system', 'The service'],
              ['stranger', 'Nobody signed in'],
            ]}
          />
          <Field
            label="What"
            name="action"
            value={kept['action'] ?? ''}
            options={[['', 'Anything'], ...actions.map((action): [string, string] => [action, action])]}
          />
          <Field label="From" name="from" type="date" value={kept['from'] ?? ''} />
          <Field label="Until" name="until" type="date" value={kept['until'] ?? ''} />
          <div class="stretch">
            <Field
              label="Subject"
              name="subject"
              value={kept['subject'] ?? ''}
              attributes={{ placeholder: 'app:app_…, wallet:…, operator:…' }}
            />
          </div>
          <button class="button quiet" type="submit">
            Apply
          </button>
          {hasFilter && (
            <a class="button quiet" href="/admin/audit">
              Clear
            </a>
          )}
        </form>
        {records.length === 0 ? (
          <Empty title={hasFilter ? 'Nothing fits' : 'Nothing yet'}>
            <p>{hasFilter ? 'No record fits the filter.' : 'What operators do shows here.'}</p>
          </Empty>
        ) : (
          <AuditTable label="Audit log" records={records} operators={operators} />
        )}
        <Pager
          first={after && withQuery('/admin/audit', kept)}
          next={found.length > pageSize ? withQuery('/admin/audit', { ...kept, after: records.at(-1)!.id }) : undefined}
          label="Older"
        />
      </section>
    </>
  )
  return await showPage(request, { title: 'Audit log', here: 'audit', body })
}

async function exportCsv(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const filter = filterOf(request)
  await record(service.db.pool, actor, 'audit.exported', 'audit')
  return download(`audit-${service.now().toISOString().slice(0, 10)}.csv`, linesOf(service, filter))
}

async function* linesOf(service: Service, filter: AuditFilter): AsyncGenerator<string> {
  yield csvLine(['at', 'actor', 'action', 'subject', 'address', 'detail', 'id'])
  for (let after: string | undefined; ;) {
    const records = await listAudit(service.db.pool, filter, { after, limit: 1_000 })
    yield records
      .map(({ at, actor, action, subject, address, detail, id }) =>
        csvLine([at.toISOString(), actor, action, subject, address, JSON.stringify(detail), id]),
      )
      .join('')
    if (records.length < 1_000) return
    after = records.at(-1)!.id
  }
}
