/** The list of corrections, and one correction with the second operator's decision. */
import { isArchived } from '../store/closing/archived-entries.ts'
import type { ComponentChildren } from 'preact'
import {
  approveCorrection,
  correctionRefusals,
  declineCorrection,
  withdrawCorrection,
  type Decided,
} from '../actions/money/correct-wallet.ts'
import {
  findDependence,
  grantDays,
  isSamePerson,
  operatorIdOf,
  type Dependence,
} from '../actions/operators/independence.ts'
import { isUuid } from '../actions/tokens.ts'
import { formatMinor } from '../ledger/money.ts'
import { correctionType, serviceNamespace } from '../ledger/reference.ts'
import { correctionListing, findCorrection, listWaitingCorrections, type Correction } from '../store/corrections.ts'
import { listGrantsOf, type Grant } from '../store/operator-access/operator-grants.ts'
import { transactionIdOf } from '../store/outcomes.ts'
import { listOperators, type Operator } from '../store/operators.ts'
import { findPerson, listPeople } from '../store/people/user-search.ts'
import { findTransferByReference } from '../store/wallets.ts'
import { plain } from '../web/csv.ts'
import { reasonProblem } from './kit/amount-and-reason.tsx'
import { actorName } from './kit/audit-table.tsx'
import { CorrectionBadge } from './kit/correction-marks.tsx'
import { deskList, ListTable, userName, type ListColumn } from './kit/desk-list.tsx'
import { GrantList, WhyNot } from './kit/grants.tsx'
import { ageText, Copy, Facts, Field, Form, Heading, Money, Notice, When, withQuery } from './kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from './kit/respond.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { accountName, nameOf } from './kit/states.tsx'

export const correctionRoutes: AdminRoute[] = [
  get('/admin/corrections/:id', (request) => showCorrection(request)),
  post('/admin/corrections/:id/approve', approve, 'correct'),
  post('/admin/corrections/:id/decline', decline, 'correct'),
  post('/admin/corrections/:id/withdraw', withdraw, 'correct'),
]

const maxWaiting = 200

const columns: readonly ListColumn<Correction>[] = [
  {
    head: 'Requested',
    class: 'nowrap',
    sort: 'time',
    cell: (each, { request }) => (
      <>
        <a href={`/admin/corrections/${each.id}`}>
          <When at={each.askedAt} />
        </a>
        {each.state === 'waiting' && <div class="muted">for {ageText(each.askedAt, request.service.now())}</div>}
      </>
    ),
  },
  {
    head: 'User',
    cell: (each, names) => <a href={`/admin/wallets/${each.walletId}`}>{userName(names, each.walletId)}</a>,
  },
  {
    head: 'Amount',
    class: 'number',
    sort: 'amount',
    cell: (each, { currency }) => <Money minor={each.amountMinor} currency={currency} isSigned />,
  },
  { head: 'Other side', class: 'nowrap', cell: (each, { apps }) => accountName(apps, each.counterAccount) },
  { head: 'State', cell: (each) => <CorrectionBadge state={each.state} /> },
  { head: 'Requested by', cell: (each, { operators }) => actorName(operators, each.askedBy) },
  {
    head: 'Decided by',
    cell: (each, { operators }) =>
      each.decidedBy ? actorName(operators, each.decidedBy) : <span class="muted">–</span>,
  },
  { head: 'Reason', class: 'wide', cell: (each) => each.reason },
]

export const correctionList = deskList<Correction>({
  path: '/admin/corrections',
  name: 'corrections',
  here: 'corrections',
  title: 'Corrections',
  sub: 'Debits and credits made by operators.',
  what: ['correction', 'corrections'],
  empty: 'Start a correction on the page of a wallet, or at an entry of its ledger.',
  idLabel: 'Id',
  labels: { state: 'State', type: 'Type', wallet: 'Wallet' },
  listing: correctionListing,
  userOf: (each) => each.walletId,
  columns,
  csv: {
    id: (each) => each.id,
    requestedAt: (each) => each.askedAt.toISOString(),
    state: (each) => each.state,
    type: (each) => (each.amountMinor < 0n ? 'debit' : 'credit'),
    amount: (each, { currency }) => plain(formatMinor(each.amountMinor, currency)),
    currency: (_, { currency }) => currency.code,
    otherSide: (each) => each.counterAccount,
    walletId: (each) => each.walletId,
    user: (each, names) => userName(names, each.walletId),
    requestedBy: (each, { operators }) => actorName(operators, each.askedBy),
    requestedById: (each) => each.askedBy,
    neededApproval: (each) => (each.needsApproval ? 'yes' : 'no'),
    decidedBy: (each, { operators }) => each.decidedBy && actorName(operators, each.decidedBy),
    decidedById: (each) => each.decidedBy,
    decidedAt: (each) => each.decidedAt?.toISOString(),
    reason: (each) => each.reason,
    decisionReason: (each) => each.decisionReason,
    refusal: (each) => each.refusal,
    correctsTransactionId: (each) => each.corrects && transactionIdOf(each.corrects),
  },
  above: showWaiting,
})

async function showWaiting(request: AdminRequest): Promise<ComponentChildren> {
  const { service } = request
  const db = service.db.pool
  const waiting = await listWaitingCorrections(db, maxWaiting)
  if (waiting.length === 0) return null
  const [operators, apps, people] = await Promise.all([
    listOperators(db),
    service.apps.list(),
    listPeople(db, [...new Set(waiting.map((each) => each.walletId))]),
  ])
  const names = { request, operators, apps, people, currency: service.config.currency }
  const shown = columns.filter(({ head }) => head !== 'Decided by')
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Waiting for a second operator</h2>
      </div>
      <ListTable label="Waiting" columns={shown} rows={waiting} names={names} />
    </section>
  )
}

async function showCorrection(request: AdminRequest, problem?: string): Promise<Response> {
  const { service } = request
  const db = service.db.pool
  const id = request.param('id')
  const correction = isUuid(id) ? await findCorrection(db, id) : undefined
  if (!correction) return await showNotFound(request, 'correction')
  const { corrects, walletId, state, askedAt, decidedBy, decidedAt, refusal } = correction
  const mayDecide = state === 'waiting' && may(request, 'correct')
  const [person, corrected, operators, apps, grants, dependence] = await Promise.all([
    findPerson(db, { id: walletId }),
    corrects === null ? undefined : findTransferByReference(db, corrects),
    listOperators(db),
    service.apps.list(),
    listGrantsAround(request, correction),
    mayDecide ? findDependence(db, { approver: request.actor.name, asker: correction.askedBy }) : undefined,
  ])
  const { currency } = service.config
  const verb = state === 'declined' ? 'Declined by' : state === 'withdrawn' ? 'Withdrawn by' : 'Approved by'
  const body = (
    <>
      <Heading
        title={
          <>
            Correction <CorrectionBadge state={state} />
          </>
        }
        sub={person && [nameOf(person), person.email].filter(Boolean).join(' · ')}
      >
        <a class="button quiet small" href={`/admin/wallets/${walletId}`}>
          The wallet
        </a>
        <a class="button quiet small" href={withQuery('/admin/audit', { subject: `wallet:${walletId}` })}>
          History
        </a>
      </Heading>
      {refusal && <Notice kind="bad">{`Nothing moved. ${correctionRefusals[refusal] ?? refusal}`}</Notice>}
      {state === 'approved' && (
        <Notice kind="warn">
          The correction is being posted. If posting was interrupted, it finishes within a minute.
        </Notice>
      )}
      <section class="card stack">
        <Facts
          rows={[
            ['Amount', <Money minor={correction.amountMinor} currency={currency} isSigned />],
            ['Other side', accountName(apps, correction.counterAccount)],
            ['Reason', correction.reason],
            [
              'Corrects',
              isArchived(corrected) ? (
                <>
                  an archived transaction, <Money minor={corrected.amountMinor} currency={currency} isSigned />{' '}
                  <Copy label="transactionId" text={transactionIdOf(corrects!)} />
                </>
              ) : corrected ? (
                <>
                  <a
                    href={withQuery('/admin/references', { type: corrected.referenceType, id: corrected.referenceId })}
                  >
                    {corrected.referenceType} · {corrected.referenceId}
                  </a>
                  , entry {corrected.sequence}, <Money minor={corrected.amountMinor} currency={currency} isSigned />{' '}
                  <Copy label="transactionId" text={transactionIdOf(corrected.referenceKey)} />
                </>
              ) : (
                'no transaction'
              ),
            ],
            ['Requested by', <ActorAt operators={operators} actor={correction.askedBy} at={askedAt} />],
            ...(state === 'waiting'
              ? [['Waiting for', ageText(askedAt, service.now())] as const]
              : [
                  [
                    verb,
                    decidedBy ? (
                      <ActorAt operators={operators} actor={decidedBy} at={decidedAt} />
                    ) : (
                      'no approval needed'
                    ),
                  ] as const,
                ]),
            ...(correction.decisionReason === null ? [] : [['Decision reason', correction.decisionReason] as const]),
            ...(state === 'done'
              ? [
                  [
                    'In the ledger',
                    <a
                      href={withQuery('/admin/references', { app: serviceNamespace, type: correctionType, id })}
                    >{`${correctionType} · ${id}`}</a>,
                  ] as const,
                ]
              : []),
          ]}
        />
      </section>
      {grants.length > 0 && (
        <section class="card stack">
          <h2>Access given in the {grantDays} days before</h2>
          <GrantList grants={grants} operators={operators} />
        </section>
      )}
      {mayDecide && <Decision {...{ request, correction, problem, dependence, operators }} />}
    </>
  )
  return await showPage(request, { title: 'Correction', here: 'corrections', body, ...(problem && { status: 422 }) })
}

function ActorAt({ operators, actor, at }: { operators: readonly Operator[]; actor: string; at: Date | null }) {
  return (
    <>
      {actorName(operators, actor)}, <When at={at} />
    </>
  )
}

/** The grants of the operator who asked and the one who decided, or may decide now. */
async function listGrantsAround(request: AdminRequest, correction: Correction): Promise<Grant[]> {
  const { askedBy, decidedBy, decidedAt, needsApproval } = correction
  if (!needsApproval) return []
  const actors = [askedBy, decidedBy ?? request.actor.name]
  const ids = [...new Set(actors.flatMap((actor) => operatorIdOf(actor) ?? []))]
  return await listGrantsOf(request.service.db.pool, ids, { until: decidedAt, days: grantDays })
}

type DecisionProps = {
  request: AdminRequest
  correction: Correction
  problem: string | undefined
  dependence: Dependence | undefined
  operators: readonly Operator[]
}

function Decision({ request, correction, problem, dependence, operators }: DecisionProps) {
  const base = `/admin/corrections/${correction.id}`
  if (isSamePerson(correction.askedBy, request.actor.name))
    return (
      <section class="card stack">
        <h2>You requested this</h2>
        <p>Another operator with the role finance or admin must approve it. Until then nothing moves.</p>
        <Form request={request} action={`${base}/withdraw`}>
          <button class="button quiet" type="submit">
            Withdraw
          </button>
        </Form>
      </section>
    )
  return (
    <section class="card stack">
      <h2>Your decision</h2>
      {dependence ? (
        <WhyNot dependence={dependence} asker={correction.askedBy} operators={operators} />
      ) : (
        <Form request={request} action={`${base}/approve`}>
          <button class="button" type="submit">
            Approve: move the money now
          </button>
        </Form>
      )}
      <details open={problem !== undefined}>
        <summary>Decline…</summary>
        <Form request={request} action={`${base}/decline`} class="row bottom">
          <div class="stretch">
            <Field
              label="Reason"
              name="reason"
              value={request.form.text('reason')}
              problem={problem}
              attributes={{ required: true, maxlength: 500 }}
            />
          </div>
          <button class="button danger" type="submit">
            Decline
          </button>
        </Form>
      </details>
    </section>
  )
}

async function approve(request: AdminRequest): Promise<Response> {
  return await answerDecision(request, (id) => approveCorrection(request.service, request.actor, id))
}

async function withdraw(request: AdminRequest): Promise<Response> {
  return await answerDecision(request, (id) => withdrawCorrection(request.service, request.actor, id))
}

async function decline(request: AdminRequest): Promise<Response> {
  const reason = request.form.text('reason').trim()
  const problem = reasonProblem(reason)
  if (problem) return await showCorrection(request, problem)
  return await answerDecision(request, (id) => declineCorrection(request.service, request.actor, id, reason))
}

const decisionProblems = {
  own: 'You requested this correction yourself. Another operator must decide on it.',
  'not-own': 'Only the operator who requested a correction can withdraw it. You can decline it.',
  dependent:
    'You and the operator who requested it do not count as two people yet, because access was given lately. The page of the correction says who gave it, and when this ends.',
} as const

/** A correction that is already decided, by another operator or an earlier click, is shown as it is. */
async function answerDecision(request: AdminRequest, decide: (id: string) => Promise<Decided>): Promise<Response> {
  const id = request.param('id')
  const result: Decided = isUuid(id) ? await decide(id) : { problem: 'unknown' }
  if (!('problem' in result)) return redirect(`/admin/corrections/${id}?done=correction-${result.correction.state}`)
  if (result.problem === 'unknown') return await showNotFound(request, 'correction')
  if (result.problem === 'decided') return redirect(`/admin/corrections/${id}?done=correction-decided`)
  return await showProblem(request, 409, decisionProblems[result.problem])
}
