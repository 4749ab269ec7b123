/** Who did what, when and from where. */
import { record } from '../actions/audit.ts'
import { isUuid } from '../actions/tokens.ts'
import { countAudit, listAudit, listAuditActions, type AuditFilter } from '../store/audit.ts'
import { listOperators } from '../store/operators.ts'
import { csvLine, csvPages, download } from '../web/csv.ts'
import { actorName, AuditTable } from './kit/audit-table.tsx'
import {
  dayAfter,
  dayOf,
  Empty,
  Field,
  Heading,
  ListHead,
  maxTotal,
  orderOptions,
  Pager,
  withQuery,
} from './kit/parts.tsx'
import { showPage } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'

export const auditRoutes: AdminRoute[] = [get('/admin/audit', show), get('/admin/audit.csv', exportCsv)]

const pageSize = 50

function filterOf(request: AdminRequest): AuditFilter {
  const text = (name: string) => request.query(name).trim() || undefined
  return {
    actor: text('actor'),
    action: text('action'),
    subject: text('subject'),
    from: dayOf(request.query('from')),
    until: dayAfter(request.query('until')),
  }
}

async function show(request: AdminRequest): Promise<Response> {
  const db = request.service.db.pool
  const after = isUuid(request.query('after')) ? request.query('after') : undefined
  const filter = filterOf(request)
  const isOldestFirst = request.query('order') === 'oldest'
  const [found, total, actions, operators] = await Promise.all([
    listAudit(db, filter, { after, limit: pageSize + 1, isOldestFirst }),
    countAudit(db, filter, maxTotal + 1),
    listAuditActions(db),
    listOperators(db),
  ])
  const records = found.slice(0, pageSize)
  const names = ['actor', 'action', 'subject', 'from', 'until', 'order']
  const kept = Object.fromEntries(names.map((name) => [name, request.query(name)]))
  const text = (name: string) => kept[name] ?? ''
  const hasFilter = Object.values(filter).some((value) => value !== undefined)
  const body = (
    <>
      <Heading
        title="Audit log"
        sub="Everything operators did, and everything that was refused. Nobody can change it."
      />
      <section class="card flush">
        <form class="row bottom" method="get" action="/admin/audit" data-auto>
          <Field
            label="Who"
            name="actor"
            value={text('actor')}
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
            value={text('action')}
            options={[['', 'Anything'], ...actions.map((action): [string, string] => [action, action])]}
          />
          <Field label="From" name="from" type="date" value={text('from')} />
          <Field label="Until" name="until" type="date" value={text('until')} />
          <div class="stretch">
            <Field
              label="Subject"
              name="subject"
              value={text('subject')}
              attributes={{ placeholder: 'app:app_…, wallet:…, operator:…' }}
            />
          </div>
          <Field label="Order" name="order" value={text('order')} options={orderOptions} />
          <button class="button quiet" type="submit">
            Apply
          </button>
        </form>
        <ListHead
          total={total}
          what={total === 1 ? 'record' : 'records'}
          filters={[
            ['who', text('actor') && actorName(operators, text('actor'))],
            ['what', text('action')],
            ['subject', text('subject')],
            ['from', text('from') && `${text('from')} UTC`],
            ['until', text('until') && `${text('until')} UTC`],
          ]}
          clear="/admin/audit"
          csv={withQuery('/admin/audit.csv', kept)}
        />
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
          label={isOldestFirst ? 'Newer' : 'Older'}
        />
      </section>
    </>
  )
  return await showPage(request, { title: 'Audit log', here: 'audit', body })
}

type Page = { readonly last: string | undefined; readonly lines: readonly string[] }

async function exportCsv(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const filter = filterOf(request)
  const isOldestFirst = request.query('order') === 'oldest'
  await record(service.db.pool, actor, 'audit.exported', 'audit')
  const read = async (before: Page | undefined): Promise<Page | undefined> => {
    if (before && before.last === undefined) return undefined
    const records = await listAudit(service.db.pool, filter, { after: before?.last, limit: 1_000, isOldestFirst })
    const lines = records.map(({ at, actor: who, action, subject, address, detail, id }) =>
      csvLine([at.toISOString(), who, action, subject, address, JSON.stringify(detail), id]),
    )
    return { last: records.length < 1_000 ? undefined : records.at(-1)!.id, lines }
  }
  const head = ['at', 'actor', 'action', 'subject', 'address', 'detail', 'id']
  return download(`audit-${service.now().toISOString().slice(0, 10)}.csv`, csvPages(head, read))
}
