/** One hold: what is left of it, its steps with the entries of its captures, and the form that voids it. */
import { voidHoldByOperator } from '../../actions/money/void-hold.ts'
import { isUuid } from '../../actions/tokens.ts'
import { remainingOf, viewHold, type HoldView } from '../../ledger/hold.ts'
import type { Currency } from '../../ledger/money.ts'
import { listHoldSteps, type HoldStep } from '../../store/books/hold-lists.ts'
import { listOperators, type Operator } from '../../store/operators.ts'
import { holdIdOf, parseHoldId } from '../../store/outcomes.ts'
import { findPerson } from '../../store/people/user-search.ts'
import { findHold, type SeenHold } from '../../store/writer/stored-holds.ts'
import { reasonProblem, type Problems } from '../kit/amount-and-reason.tsx'
import { actorName } from '../kit/audit-table.tsx'
import { AppLink, HoldBadges, holdPath, isLateHold } from '../kit/hold-table.tsx'
import { Copy, Facts, Field, Form, Heading, Money, Notice, Table, When, withQuery } from '../kit/parts.tsx'
import { otherContent, redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { nameOf } from '../kit/states.tsx'

export const holdRoutes: AdminRoute[] = [
  get('/admin/holds/:id', async (request) => await withHold(request, (seen) => showHold(request, seen))),
  post('/admin/holds/:id/void', async (request) => await withHold(request, (seen) => voidIt(request, seen)), 'holds'),
]

/** A hold has any number of captures: the newest are shown. */
const maxSteps = 200

async function withHold(request: AdminRequest, show: (seen: SeenHold) => Promise<Response>): Promise<Response> {
  const id = parseHoldId(request.param('id'))
  const seen = id && (await findHold(request.service.db.pool, id))
  return seen ? await show(seen) : await showNotFound(request, 'hold')
}

async function showHold(request: AdminRequest, seen: SeenHold, problems: Problems = {}): Promise<Response> {
  const { service } = request
  const db = service.db.pool
  const hold = viewHold(seen.hold, seen.at)
  const [person, steps, operators, apps] = await Promise.all([
    findPerson(db, { id: hold.walletId }),
    listHoldSteps(db, hold, maxSteps),
    listOperators(db),
    service.apps.list(),
  ])
  const { currency } = service.config
  const body = (
    <>
      <Heading title="Hold" sub={person && [nameOf(person), person.email].filter(Boolean).join(' · ')}>
        <a class="button quiet small" href={`/admin/wallets/${hold.walletId}#holds`}>
          The wallet
        </a>
        <a class="button quiet small" href={withQuery('/admin/audit', { subject: `wallet:${hold.walletId}` })}>
          History
        </a>
      </Heading>
      {isLateHold(seen) && (
        <Notice kind="bad">
          The hold has expired and is not closed yet. Its money is available all the same.{' '}
          <a href="/admin/work">Work</a> says what keeps the service from closing it.
        </Notice>
      )}
      <div class="columns">
        <section class="card stack hero">
          <div>
            <p class="label muted">Remaining</p>
            <p class="value">
              <Money minor={remainingOf(hold)} currency={currency} />
            </p>
          </div>
          <Facts
            rows={[
              ['State', <HoldBadges seen={seen} />],
              ['App', <AppLink apps={apps} clientId={hold.clientId} />],
              ...factsOf(hold, currency),
              ['Hold id', <Copy label="hold id" text={holdIdOf(hold.id)} />],
            ]}
          />
        </section>
        {hold.status === 'OPEN' && may(request, 'holds') && (
          <VoidForm request={request} hold={hold} problems={problems} />
        )}
      </div>
      <Steps hold={hold} steps={steps} operators={operators} currency={currency} />
    </>
  )
  const status = Object.keys(problems).length > 0 ? { status: 422 } : {}
  return await showPage(request, { title: 'Hold', here: 'holds', body, ...status })
}

function factsOf(hold: HoldView, currency: Currency) {
  return [
    ['Held', <Money minor={hold.amountMinor} currency={currency} />],
    ['Captured', <Money minor={hold.capturedMinor + hold.extraMinor} currency={currency} />],
    ...(hold.extraMinor > 0n
      ? ([['Of that, beyond what was held', <Money minor={hold.extraMinor} currency={currency} />]] as const)
      : []),
    ['Given back', <Money minor={hold.releasedMinor} currency={currency} />],
    ['Reference type', hold.referenceType],
    ['Reference id', <Copy label="reference id" text={hold.referenceId} />],
    ['Description', hold.description ?? 'none'],
    ['Made', <When at={hold.createdAt} />],
    [hold.closedAt ? 'Would have expired' : 'Expires', <When at={hold.expiresAt} />],
    ...(hold.closedAt ? ([['Ended', <When at={hold.closedAt} />]] as const) : []),
  ] as const
}

function VoidForm({ request, hold, problems }: { request: AdminRequest; hold: HoldView; problems: Problems }) {
  return (
    <section class="card stack" id="void">
      <h2>Void</h2>
      <Form request={request} action={`${holdPath(hold)}/void`} class="stack">
        <input type="hidden" name="form" value={crypto.randomUUID()} />
        <p>
          The user can spend the rest at once, and the app cannot capture it any more. This cannot be undone: the app
          has to ask for a new hold.
        </p>
        <Field
          label="Reason"
          name="reason"
          value={request.form.text('reason')}
          hint="For the audit log and the steps of the hold."
          problem={problems['reason']}
          attributes={{ required: true, maxlength: 500 }}
        />
        <div>
          <button class="button small danger" type="submit">
            Void the hold
          </button>
        </div>
      </Form>
    </section>
  )
}

const kindTexts: Readonly<Record<HoldStep['kind'], string>> = {
  capture: 'captured',
  void: 'voided',
  expiry: 'expired',
  extend: 'extended',
  expiring: 'reported as expiring',
}

type StepsProps = {
  hold: HoldView
  steps: readonly HoldStep[]
  operators: readonly Operator[]
  currency: Currency
}

function Steps({ hold, steps, operators, currency }: StepsProps) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Steps</h2>
        {steps.length === maxSteps && <p class="muted small">The newest {maxSteps}</p>}
      </div>
      {steps.length === 0 ? (
        <p class="empty muted">Nothing has happened to it since it was made.</p>
      ) : (
        <Table label="Steps" head={['Time', 'What', ['Amount'], 'Entry', 'By', 'Reason']}>
          {steps.map((step) => (
            <tr key={step.number}>
              <td>
                <When at={step.at} />
              </td>
              <td>{kindTexts[step.kind]}</td>
              <td class="number">
                {step.kind === 'extend' || step.kind === 'expiring' ? (
                  ''
                ) : (
                  <Money minor={step.amountMinor} currency={currency} />
                )}
              </td>
              <td class="wide">
                <StepEntry hold={hold} step={step} />
              </td>
              <td>{actorName(operators, step.actor).replace(/^app:.*/, 'the app')}</td>
              <td class="wide">{step.reason}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function StepEntry({ hold, step }: { hold: HoldView; step: HoldStep }) {
  const { sequence, referenceType, referenceId } = step
  if (sequence === null) return null
  const reference = { app: hold.clientId, type: referenceType ?? '', id: referenceId ?? '' }
  return (
    <>
      <a href={withQuery('/admin/references', reference)}>{referenceId ?? 'missing'}</a>{' '}
      <span class="muted">#{sequence}</span>
    </>
  )
}

async function voidIt(request: AdminRequest, seen: SeenHold): Promise<Response> {
  const { form, service, actor } = request
  const reason = form.text('reason').trim()
  const problem = reasonProblem(reason)
  if (problem) return await showHold(request, seen, { reason: problem })
  const formId = form.text('form')
  if (!isUuid(formId)) return await showProblem(request, 422, 'This form is incomplete. Start again from the hold.')
  const { hold } = seen
  const result = await voidHoldByOperator(service, actor, { holdId: hold.id, reason, formId })
  if (result.kind === 'reused') return await showProblem(request, 409, otherContent)
  if (result.kind === 'voided') return redirect(`${holdPath(hold)}?done=hold-voided`)
  return await showProblem(
    request,
    409,
    'The hold has already ended: it was captured, or it has expired. Nothing was changed.',
    {},
    { href: holdPath(hold), text: 'Go to the hold' },
  )
}
