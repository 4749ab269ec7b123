/** Reconciliation of the card processor's account with the ledger: totals by day, and payments on which they differ. */
import { maxReportBytes, parseReport } from '../../cards/stripe/report-file.ts'
import { orderDay, readableDays, reconcileFile } from '../../actions/topups/reconcile.ts'
import {
  getReconciliationState,
  listOpenDifferences,
  listResolvedDifferences,
  type OpenDifference,
  type ReconciliationState,
  type ResolvedDifference,
} from '../../store/books/reconciliation.ts'
import { listDayTotals, type DayTotals } from '../../store/books/day-totals.ts'
import { listOpenContradictions } from '../../store/books/processor-lines.ts'
import { listOperators, type Operator } from '../../store/operators.ts'
import { actorName } from '../kit/audit-table.tsx'
import { Contradictions } from './contradiction.tsx'
import { DayBadge } from './days.tsx'
import { differenceText } from './difference.tsx'
import { Icon } from '../kit/icons.tsx'
import { Empty, Field, Form, Heading, Money, Notice, Table, When, withQuery } from '../kit/parts.tsx'
import { redirect, showPage } from '../kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'

export const reconciliationRoutes: AdminRoute[] = [
  get('/admin/reconciliation', (request) => showReconciliation(request)),
  post('/admin/reconciliation/day', rereadDay, 'settle'),
  { ...post('/admin/reconciliation/file', readReport, 'settle'), maxFormBytes: maxReportBytes + 64 * 1024 },
]

const shownDays = 31
const shownDifferences = 200
const shownResolved = 50

type Problems = { readonly day?: string; readonly file?: readonly string[] }

async function showReconciliation(request: AdminRequest, problems: Problems = {}): Promise<Response> {
  const db = request.service.db.longRunning.pool
  const [state, differences, contradictions, days, resolved, operators] = await Promise.all([
    getReconciliationState(db),
    listOpenDifferences(db, shownDifferences),
    listOpenContradictions(db, shownDifferences),
    listDayTotals(db, shownDays),
    listResolvedDifferences(db, shownResolved),
    listOperators(db),
  ])
  const body = (
    <>
      <Heading
        title="Reconciliation"
        sub="The card processor’s bookings compared with the ledger, payment by payment. Days are in UTC."
      >
        <a class="button quiet small" href="/admin/reconciliation/days">
          All days
        </a>
        <a class="button quiet small" href="/admin/reconciliation/differences">
          All differences
        </a>
        <a class="button quiet small" href="/admin/reconciliation/contradictions">
          All contradictions
        </a>
      </Heading>
      <section class="card stack">
        <div class="checks">
          <Verdict request={request} state={state} />
        </div>
      </section>
      {differences.length > 0 && (
        <Differences request={request} differences={differences} all={state.openDifferences} />
      )}
      {contradictions.length > 0 && (
        <Contradictions request={request} contradictions={contradictions} operators={operators} />
      )}
      {resolved.length > 0 && <Resolved request={request} resolved={resolved} operators={operators} />}
      <Days request={request} days={days} />
      {may(request, 'settle') && <Orders request={request} problems={problems} />}
    </>
  )
  const status = problems.day || problems.file ? 422 : 200
  return await showPage(request, { title: 'Reconciliation', here: 'reconciliation', body, status })
}

const lateAfterMs = 36 * 3_600_000

function Verdict({ request, state }: { request: AdminRequest; state: ReconciliationState }) {
  const { openDifferences, lastFinishedAt, lastDay, unfinishedDays, problem, now } = state
  const isLate = !lastFinishedAt || now.getTime() - lastFinishedAt.getTime() > lateAfterMs
  const [kind, icon, title] =
    openDifferences > 0
      ? (['bad', 'cross', `${openDifferences} ${openDifferences === 1 ? 'difference' : 'differences'}`] as const)
      : problem || (isLate && lastFinishedAt)
        ? (['warn', 'warn', 'The processor could not be read'] as const)
        : lastFinishedAt
          ? (['good', 'check', 'The processor and the ledger agree'] as const)
          : (['', 'dash', 'Nothing compared yet'] as const)
  return (
    <div class={`check ${kind}`} role={kind === 'bad' ? 'alert' : undefined}>
      <Icon name={icon} />
      <strong>{title}</strong>
      <p>
        {lastFinishedAt ? (
          <>
            Read up to {lastDay}, last compared <When at={lastFinishedAt} />.{' '}
          </>
        ) : request.service.cards ? (
          'A day is read two hours after it ends. The first run reads the last seven days. '
        ) : (
          'This service takes no cards. You can still read a report from a file. '
        )}
        {unfinishedDays > 0 && `${unfinishedDays} ${unfinishedDays === 1 ? 'day is' : 'days are'} still to be read. `}
        {problem}
        {openDifferences > 0 && (
          <>
            What to do: <code>docs/books.md#a-difference</code>.
          </>
        )}
      </p>
    </div>
  )
}

function Differences({
  request,
  differences,
  all,
}: {
  request: AdminRequest
  differences: readonly OpenDifference[]
  all: number
}) {
  const { currency } = request.service.config
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Differences</h2>
        {all > differences.length && <p class="muted">The oldest {differences.length}.</p>}
      </div>
      <Table label="Differences" head={['Day', 'Payment', 'What', ['Processor'], ['Ledger'], ['Difference'], 'Found']}>
        {differences.map((each) => (
          <tr key={`${each.paymentIntentId} ${each.kind}`}>
            <td>{each.day}</td>
            <td>
              {each.topupId ? (
                <a href={`/admin/topups/${each.topupId}`}>
                  <code>{each.paymentIntentId}</code>
                </a>
              ) : (
                <code>{each.paymentIntentId}</code>
              )}
            </td>
            <td>
              <a
                href={withQuery('/admin/reconciliation/difference', { payment: each.paymentIntentId, kind: each.kind })}
              >
                {differenceText(each)}
              </a>
            </td>
            <td class="number">
              <Money minor={each.processorMinor} currency={currency} />
            </td>
            <td class="number">
              <Money minor={each.ledgerMinor} currency={currency} />
            </td>
            <td class="number">
              <Money minor={each.processorMinor - each.ledgerMinor} currency={currency} />
            </td>
            <td>
              <When at={each.foundAt} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

type ResolvedProps = {
  request: AdminRequest
  resolved: readonly ResolvedDifference[]
  operators: readonly Operator[]
}

function Resolved({ request, resolved, operators }: ResolvedProps) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Resolved by hand</h2>
        <p class="muted">They still differ, and an operator has accepted them.</p>
      </div>
      <Table label="Resolved by hand" head={['Resolved', 'Payment', 'What', ['Difference'], 'By', 'Reason']}>
        {resolved.map((each) => (
          <tr key={`${each.paymentIntentId} ${each.kind}`}>
            <td class="nowrap">
              <When at={each.resolvedAt} />
            </td>
            <td>
              <code>{each.paymentIntentId}</code>
            </td>
            <td>{differenceText(each)}</td>
            <td class="number">
              <Money minor={each.processorMinor - each.ledgerMinor} currency={request.service.config.currency} />
            </td>
            <td>{actorName(operators, each.resolvedBy)}</td>
            <td class="wide">{each.resolvedReason}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Days({ request, days }: { request: AdminRequest; days: readonly DayTotals[] }) {
  const { currency } = request.service.config
  if (days.length === 0)
    return (
      <section class="card flush">
        <Empty title="No days read yet">
          <p>The first days appear within a minute, or when you read a report file.</p>
        </Empty>
      </section>
    )
  const amount = (minor: bigint) => (
    <td class="number">{minor === 0n ? <span class="muted">–</span> : <Money minor={minor} currency={currency} />}</td>
  )
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Days</h2>
        <p class="muted">
          Each side uses its own clock. A payment around midnight may count for different days; that is not a
          difference.
        </p>
      </div>
      <Table
        label="Days"
        head={[
          'Day',
          'State',
          ['Charges'],
          ['In the ledger'],
          ['Refunds'],
          ['In the ledger'],
          ['Disputes'],
          ['In the ledger'],
          ['Fees'],
          ['Payouts'],
        ]}
      >
        {days.map((day) => (
          <tr key={day.day}>
            <td>{day.day}</td>
            <td>
              <DayBadge day={day} />
            </td>
            {amount(day.charges)}
            {amount(day.ledgerCharges)}
            {amount(day.refunds)}
            {amount(day.ledgerRefunds)}
            {amount(day.disputes)}
            {amount(day.ledgerDisputes)}
            {amount(-day.fees)}
            {amount(day.payouts)}
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Orders({ request, problems }: { request: AdminRequest; problems: Problems }) {
  return (
    <div class="columns">
      <section class="card stack">
        <h2>Read a day again</h2>
        <Form request={request} action="/admin/reconciliation/day" class="stack">
          <Field label="Day" name="day" type="date" value={request.form.text('day')} problem={problems.day} />
          <button class="button" type="submit">
            Read from the processor
          </button>
        </Form>
      </section>
      <section class="card stack">
        <h2>Read a report file</h2>
        {problems.file && (
          <Notice kind="bad">
            <p>Nothing was read from the file.</p>
            <ul>
              {problems.file.map((problem) => (
                <li key={problem}>{problem}</li>
              ))}
            </ul>
          </Notice>
        )}
        <form class="stack" method="post" action="/admin/reconciliation/file" encType="multipart/form-data">
          <input type="hidden" name="_token" value={request.formToken} />
          <div class="field">
            <label for="field-report">CSV file, 10 MB at most</label>
            <input
              id="field-report"
              name="report"
              type="file"
              accept=".csv,text/csv"
              required
              aria-describedby="report-hint"
            />
            <p class="hint" id="report-hint">
              Stripe’s “Balance change from activity”, itemized, with the columns of <code>docs/books.md#a-file</code>.
            </p>
          </div>
          <button class="button" type="submit">
            Compare
          </button>
        </form>
      </section>
    </div>
  )
}

async function rereadDay(request: AdminRequest): Promise<Response> {
  const day = request.form.text('day')
  if (!isDay(day)) return await showReconciliation(request, { day: 'Enter a day, such as 2026-03-01.' })
  if (!request.service.cards) return await showReconciliation(request, { day: 'This service has no card processor.' })
  const readable = await orderDay(request.service, request.actor, day)
  if (readable && day < readable.first)
    return await showReconciliation(request, { day: `The first day that can be read is ${readable.first}.` })
  if (readable) return await showReconciliation(request, { day: 'This day can be read two hours after it ends (UTC).' })
  return redirect('/admin/reconciliation?done=day-ordered')
}

function isDay(text: string): boolean {
  return /^20\d\d-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
}

async function readReport(request: AdminRequest): Promise<Response> {
  const service = { ...request.service, db: request.service.db.longRunning }
  const bytes = request.form.file('report') ?? new TextEncoder().encode(request.form.text('report'))
  const { first, today } = await readableDays(service)
  const report = await parseReport(bytes, service.config.currency, { firstDay: first, lastDay: today })
  if ('problems' in report) return await showReconciliation(request, { file: report.problems })
  const reading = await reconcileFile(service, request.actor, report)
  if (reading === 'another-account')
    return await showReconciliation(request, {
      file: ['More than 100 lines contradict the card processor: this may be the report of another account.'],
    })
  return redirect(`/admin/reconciliation?done=${reading.contradictions > 0 ? 'report-contradicts' : 'report-read'}`)
}
