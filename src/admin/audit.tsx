/** Who did what, when and from where. */
import { record } from '../actions/audit.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import { listAudit, listAuditActions, type AuditFilter, type AuditRecord } from '../store/audit.ts'
import { listOperators, type Operator } from '../store/operators.ts'
import { csvLine, download } from '../web/csv.ts'
import { Empty, Field, Heading, Pager, Table, When, withQuery } from './kit/parts.tsx'
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
          <Records records={records} operators={operators} />
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

type RecordsProps = { records: readonly AuditRecord[]; operators: readonly Operator[] }

function Records({ records, operators }: RecordsProps) {
  return (
    <Table label="Audit log" head={['Time', 'Who', 'What', 'Subject', 'From', 'Detail']}>
      {records.map((record) => (
        <tr key={record.id}>
          <td>
            <When at={record.at} />
          </td>
          <td>{nameOf(operators, record.actor)}</td>
          <td>
            <code>{record.action}</code>
          </td>
          <td>
            <Subject subject={record.subject} operators={operators} />
          </td>
          <td class="muted">{record.address}</td>
          <td class="widest">
            <Detail detail={record.detail} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function nameOf(operators: readonly Operator[], text: string): string {
  const known = operators.find((operator) => `operator:${operator.id}` === text)
  if (known) return known.name
  if (text.startsWith('cli:')) return `command line, ${text.slice('cli:'.length)}`
  return { cli: 'command line', system: 'the service', stranger: 'nobody signed in' }[text] ?? text
}

function Subject({ subject, operators }: { subject: string; operators: readonly Operator[] }) {
  const [kind, id = ''] = subject.split(':')
  if (kind === 'app' && id !== 'unknown') return <a href={`/admin/client-apps/${id}`}>{subject}</a>
  if (kind === 'wallet') return <a href={`/admin/wallets/${id}`}>wallet {id.slice(-12)}</a>
  return <>{nameOf(operators, subject)}</>
}

/** A detail with `from` and `to` is shown field by field, "from → to"; any other as it is. */
function Detail({ detail }: { detail: Record<string, unknown> }) {
  const { from, to } = detail
  if (isRecord(from) && isRecord(to))
    return (
      <>
        {Object.keys(to).map((key) => (
          <div key={key}>
            {key}: <span class="muted">{shown(from[key])}</span> → {shown(to[key])}
          </div>
        ))}
      </>
    )
  const rows = Object.entries(detail).map(([key, value]) => (
    <div key={key}>
      <span class="muted">{key}</span> {shown(value)}
    </div>
  ))
  if (rows.length <= 3) return <>{rows}</>
  return (
    <details>
      <summary>{rows.length} values</summary>
      {rows}
    </details>
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(shown).join(', ')
  if (value === null || value === undefined) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
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
