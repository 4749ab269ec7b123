/** The audit log, with filters and CSV export. */
import { recordAudit } from '../actions/audit.ts'
import { isUuid } from '../actions/tokens.ts'
import { countAudit, listAudit, listAuditActions, type AuditFilter } from '../store/audit.ts'
import { listOperators } from '../store/operators.ts'
import { csvLine, csvPages, download } from '../web/csv.ts'
import { actorName, AuditTable } from './kit/audit-table.tsx'
import {
  dayBadges,
  DayFields,
  isOldestFirst,
  keptOf,
  OrderAndApply,
  PersonField,
  spanOf,
  timeHead,
} from './kit/filters.tsx'
import { dayText, Empty, Field, Heading, ListHead, maxTotal, Pager } from './kit/parts.tsx'
import { showPage } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'

export const auditRoutes: AdminRoute[] = [get('/admin/audit', showAudit), get('/admin/audit.csv', exportAudit)]

const pageSize = 50
const filterNames = ['id', 'actor', 'action', 'subject']

function auditFilterOf(request: AdminRequest): AuditFilter {
  const text = (name: string) => request.query(name).trim() || undefined
  return {
    actor: text('actor'),
    action: text('action'),
    subject: text('subject'),
    id: idOf(text('id')),
    ...spanOf(request),
  }
}

/** No record has the nil id: a text that is no id matches nothing. */
function idOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  return isUuid(text.toLowerCase()) ? text.toLowerCase() : '00000000-0000-0000-0000-000000000000'
}

async function showAudit(request: AdminRequest): Promise<Response> {
  const db = request.service.db.pool
  const after = isUuid(request.query('after')) ? request.query('after') : undefined
  const filter = auditFilterOf(request)
  const page = { after, limit: pageSize + 1, isOldestFirst: isOldestFirst(request) }
  const [found, total, actions, operators] = await Promise.all([
    listAudit(db, filter, page),
    countAudit(db, filter, maxTotal + 1),
    listAuditActions(db),
    listOperators(db),
  ])
  const records = found.slice(0, pageSize)
  const kept = keptOf(request, filterNames)
  const { text, hrefOf } = kept
  const hasFilter = Object.values(filter).some((value) => value !== undefined)
  const body = (
    <>
      <Heading
        title="Audit log"
        sub="Every operator action, and every refused one. No operator can change a record in Billfold; a superuser of the database can."
      />
      <section class="card flush">
        <form class="row bottom filters" method="get" action="/admin/audit" data-auto>
          <Field label="Id" name="id" type="search" value={text('id')} attributes={{ autocomplete: 'off' }} />
          <PersonField {...kept} operators={operators} />
          <Field
            label="What"
            name="action"
            value={text('action')}
            options={[['', 'Anything'], ...actions.map((action): [string, string] => [action, action])]}
          />
          <DayFields {...kept} />
          <div class="stretch">
            <Field
              label="Subject"
              name="subject"
              value={text('subject')}
              attributes={{ placeholder: 'app:app_…, wallet:…, operator:…' }}
            />
          </div>
          <OrderAndApply {...kept} />
        </form>
        <ListHead
          total={total}
          what={total === 1 ? 'record' : 'records'}
          filters={[
            ['id', text('id')],
            ['who', text('actor') && actorName(operators, text('actor'))],
            ['what', text('action')],
            ['subject', text('subject')],
            ...dayBadges(kept),
          ]}
          clear="/admin/audit"
          csv={hrefOf('/admin/audit.csv')}
        />
        {records.length === 0 ? (
          <Empty title={hasFilter ? 'No matches' : 'No records yet'}>
            <p>{hasFilter ? 'No record matches the filter.' : 'Operator actions appear here.'}</p>
            {hasFilter && (
              <a class="button quiet" href="/admin/audit">
                Clear the filter
              </a>
            )}
          </Empty>
        ) : (
          <AuditTable
            label="Audit log"
            records={records}
            operators={operators}
            currency={request.service.config.currency}
            time={timeHead('Time', '/admin/audit', kept)}
          />
        )}
        <Pager
          first={after && hrefOf('/admin/audit')}
          next={found.length > pageSize ? hrefOf('/admin/audit', { after: records.at(-1)!.id }) : undefined}
          label={page.isOldestFirst ? 'Newer' : 'Older'}
        />
      </section>
    </>
  )
  return await showPage(request, { title: 'Audit log', here: 'audit', body })
}

type Page = { readonly last: string | undefined; readonly lines: readonly string[] }

async function exportAudit(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const filter = auditFilterOf(request)
  const page = { limit: 1_000, isOldestFirst: isOldestFirst(request) }
  await recordAudit(service.db.pool, actor, 'audit.exported', 'audit', keptOf(request, filterNames).given())
  const read = async (before: Page | undefined): Promise<Page | undefined> => {
    if (before && before.last === undefined) return undefined
    const records = await listAudit(service.db.pool, filter, { ...page, after: before?.last })
    const lines = records.map(({ at, actor: who, action, subject, address, detail, id }) =>
      csvLine([at.toISOString(), who, action, subject, address, JSON.stringify(detail), id]),
    )
    return { last: records.length < 1_000 ? undefined : records.at(-1)!.id, lines }
  }
  const head = ['at', 'actor', 'action', 'subject', 'address', 'detail', 'id']
  return download(`audit-${dayText(service.now())}.csv`, csvPages(head, read))
}
