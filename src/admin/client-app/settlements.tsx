/** What the service owes an app, past payouts, and marking a period as paid out. */
import {
  isDay,
  readOwed,
  reverseSettlement,
  settleApp,
  settleProblems,
  type Owed,
  type Settled,
} from '../../actions/apps/settle-app.ts'
import { isUuid } from '../../actions/tokens.ts'
import { findApp, type App } from '../../store/apps.ts'
import { listOperators, type Operator } from '../../store/operators.ts'
import { listSettlements, type Settlement } from '../../store/books/settlements.ts'
import { reasonProblem } from '../kit/amount-and-reason.tsx'
import { actorName } from '../kit/audit-table.tsx'
import { AppHead } from './client-app-tabs.tsx'
import { OwedNow } from './client-app-view.tsx'
import { Badge, Empty, Facts, Field, Form, Money, Pager, Table, When, withQuery } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'

const path = '/admin/client-apps/:clientId/settlements'

export const settlementRoutes: AdminRoute[] = [
  get(path, (request) => withApp(request, (app) => showSettlements(request, app))),
  post(path, (request) => withApp(request, (app) => markPaidOut(request, app)), 'settle'),
  post(`${path}/:id/reverse`, (request) => withApp(request, (app) => reverse(request, app)), 'settle'),
]

const pathOf = ({ clientId }: App) => `/admin/client-apps/${clientId}/settlements`

async function withApp(request: AdminRequest, work: (app: App) => Promise<Response>): Promise<Response> {
  const app = await findApp(request.service.db.pool, request.param('clientId'))
  return app ? await work(app) : await showNotFound(request, 'app')
}

const pageSize = 50

async function showSettlements(request: AdminRequest, app: App, problem?: string): Promise<Response> {
  const { service } = request
  const db = service.db.pool
  const { currency } = service.config
  const asked = request.form.text('through') || request.query('through')
  const below = /^\d{1,9}$/.test(request.query('below')) ? Number(request.query('below')) : undefined
  const [owed, found, operators] = await Promise.all([
    readOwed(db, app.clientId, isDay(asked) ? asked : undefined),
    listSettlements(db, app.clientId, { below, limit: pageSize + 1 }),
    listOperators(db),
  ])
  const shown = found.slice(0, pageSize)
  const body = (
    <>
      <AppHead app={app} here="settlements">
        <a class="button quiet small" href={withQuery('/admin/settlements', { app: app.clientId })}>
          Filter and export
        </a>
      </AppHead>
      <div class="columns">
        <section class="card stack hero">
          <OwedNow owed={owed} currency={currency} />
          <Facts
            rows={[
              ['Paid out so far', <Money minor={owed.settledMinor} currency={currency} />],
              ['Paid out through', owed.last ? `${owed.last.throughDay} (UTC)` : 'nothing yet'],
              ['Last complete day', `${owed.closedDay} (UTC)`],
            ]}
          />
          <p class="muted small">
            Its debits, minus its credits, minus past payouts. A negative amount is what the app owes.
          </p>
        </section>
        {may(request, 'settle') && <SettleForm request={request} app={app} owed={owed} problem={problem} />}
      </div>
      <section class="card flush">
        <div class="heading">
          <h2>History</h2>
        </div>
        {shown.length === 0 ? (
          <Empty title="Nothing paid out yet">
            <p>Periods marked as paid out appear here, with their reference and operator.</p>
          </Empty>
        ) : (
          <History request={request} app={app} settlements={shown} operators={operators} last={owed.last} />
        )}
        <Pager
          first={below === undefined ? undefined : pathOf(app)}
          next={found.length > pageSize ? withQuery(pathOf(app), { below: shown.at(-1)!.number }) : undefined}
          label="Older"
        />
      </section>
    </>
  )
  return await showPage(request, {
    title: `Settlements of ${app.name}`,
    here: 'apps',
    body,
    ...(problem && { status: 422 }),
  })
}

type SettleProps = { request: AdminRequest; app: App; owed: Owed; problem: string | undefined }

function SettleForm({ request, app, owed, problem }: SettleProps) {
  const { currency } = request.service.config
  const { last, throughDay, closedDay, owedMinor } = owed
  const isOpen = throughDay <= closedDay && !(last && throughDay <= last.throughDay) && owedMinor !== 0n
  return (
    <section class="card stack">
      <h2>Mark a period as paid out</h2>
      <form class="row bottom" method="get" action={pathOf(app)} data-auto>
        <Field
          label="Through (UTC, included)"
          name="through"
          type="date"
          value={throughDay}
          attributes={{ max: closedDay, required: true }}
        />
        <button class="button quiet" type="submit">
          Show the amount
        </button>
      </form>
      {isOpen ? (
        <Form request={request} action={pathOf(app)} class="stack">
          <input type="hidden" name="id" value={crypto.randomUUID()} />
          <input type="hidden" name="through" value={throughDay} />
          <input type="hidden" name="amount" value={String(owedMinor)} />
          <p>
            <strong>
              <Money minor={owedMinor} currency={currency} />
            </strong>{' '}
            {last ? `since ${last.throughDay}` : 'from the beginning'} through {throughDay}.
          </p>
          <Field
            label="Reference of the payout"
            name="reference"
            value={request.form.text('reference')}
            hint="The bank’s reference. The app finds it on its statement."
            problem={problem}
            attributes={{ required: true, maxlength: 500 }}
          />
          <div>
            <button class="button" type="submit">
              Mark as paid out
            </button>
          </div>
        </Form>
      ) : (
        <p class="muted">
          {throughDay > closedDay
            ? settleProblems['not-closed']
            : owedMinor === 0n && !(last && throughDay <= last.throughDay)
              ? settleProblems.nothing
              : settleProblems.settled}
        </p>
      )}
    </section>
  )
}

type HistoryProps = {
  request: AdminRequest
  app: App
  settlements: readonly Settlement[]
  operators: readonly Operator[]
  last: Settlement | undefined
}

function History({ request, app, settlements, operators, last }: HistoryProps) {
  const { currency } = request.service.config
  const isLast = ({ id }: Settlement) => id === last?.id && may(request, 'settle')
  return (
    <Table label="History" head={[['#'], 'Period (UTC)', ['Amount'], 'Reference', 'By', 'When', '']}>
      {settlements.map((each) => (
        <tr key={each.id}>
          <td class="number muted">{each.number}</td>
          <td class="nowrap">
            {each.fromDay ?? 'the beginning'} – {each.throughDay}
          </td>
          <td class="number">
            <Money minor={each.amountMinor} currency={currency} />
          </td>
          <td class="wide">
            {each.reverses && <Badge kind="warn">reversal</Badge>} {each.reference}
          </td>
          <td>{actorName(operators, each.madeBy)}</td>
          <td>
            <When at={each.madeAt} />
          </td>
          <td>{isLast(each) && <Reverse request={request} app={app} settlement={each} />}</td>
        </tr>
      ))}
    </Table>
  )
}

function Reverse({ request, app, settlement }: { request: AdminRequest; app: App; settlement: Settlement }) {
  return (
    <details>
      <summary>Reverse…</summary>
      <Form request={request} action={`${pathOf(app)}/${settlement.id}/reverse`} class="stack tight">
        <input type="hidden" name="id" value={crypto.randomUUID()} />
        <Field label="Reason" name="reason" attributes={{ required: true, maxlength: 500 }} />
        <div>
          <button class="button danger small" type="submit">
            It was not paid out
          </button>
        </div>
      </Form>
    </details>
  )
}

/** The form carries the id and the amount shown: a form sent twice marks one period. */
async function markPaidOut(request: AdminRequest, app: App): Promise<Response> {
  const { form, service, actor } = request
  const [id, throughDay, amount] = [form.text('id'), form.text('through'), form.text('amount')]
  const reference = form.text('reference').trim()
  if (!isUuid(id) || !isDay(throughDay) || !/^-?\d{1,15}$/.test(amount)) return await refuseIncomplete(request)
  const problem = reasonProblem(reference)
  if (problem) return await showSettlements(request, app, problem.replace('a reason', 'a reference'))
  const order = { id, clientId: app.clientId, throughDay, reference, amountMinor: BigInt(amount) }
  return await answerSettled(request, app, await settleApp(service, actor, order), 'settled')
}

async function reverse(request: AdminRequest, app: App): Promise<Response> {
  const { form, service, actor } = request
  const [id, reverses, reason] = [form.text('id'), request.param('id'), form.text('reason').trim()]
  if (!isUuid(id)) return await refuseIncomplete(request)
  if (!isUuid(reverses)) return await showNotFound(request, 'settlement')
  const problem = reasonProblem(reason)
  if (problem) return await showProblem(request, 422, `Nothing was done: ${problem}.`)
  const order = { id, clientId: app.clientId, reverses, reason }
  return await answerSettled(request, app, await reverseSettlement(service, actor, order), 'unsettled')
}

async function refuseIncomplete(request: AdminRequest): Promise<Response> {
  return await showProblem(request, 422, 'This form is incomplete. Start again from the app.')
}

async function answerSettled(request: AdminRequest, app: App, settled: Settled, done: string): Promise<Response> {
  if ('problem' in settled) return await showProblem(request, 409, settleProblems[settled.problem])
  return redirect(`${pathOf(app)}?done=${done}`)
}
