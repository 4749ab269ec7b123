/** One card top-up: its state at the processor, its ledger entries, and its refund. */
import { refundTopup } from '../../actions/topups/refund-topup.ts'
import { isUuid } from '../../actions/tokens.ts'
import { parseDecimal, formatMinor } from '../../ledger/money.ts'
import { findPerson } from '../../store/people/user-search.ts'
import { listMovements, type Movement } from '../../store/topup-movements.ts'
import { findTopup, type Topup } from '../../store/topups.ts'
import { findWallet } from '../../store/wallets.ts'
import { findWorkDueAt } from '../../store/work/work-report.ts'
import { AmountAndReason, readAmount, reasonProblem, type Problems } from '../kit/amount-and-reason.tsx'
import { Badge, Copy, Facts, Form, Heading, Money, Notice, Table, When, withQuery } from '../kit/parts.tsx'
import { otherContent, redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { currencyOf, nameOf, problemTexts, TopupBadges } from '../kit/states.tsx'

export const topupRoutes: AdminRoute[] = [
  get('/admin/topups/:id', async (request) => await withTopup(request, (topup) => showTopup(request, topup))),
  post(
    '/admin/topups/:id/refund',
    async (request) => await withTopup(request, (topup) => confirmRefund(request, topup)),
    'refund',
  ),
  post(
    '/admin/topups/:id/refund/order',
    async (request) => await withTopup(request, (topup) => orderRefund(request, topup)),
    'refund',
  ),
]

async function withTopup(request: AdminRequest, show: (topup: Topup) => Promise<Response>): Promise<Response> {
  const id = request.param('id')
  const topup = isUuid(id) ? await findTopup(request.service.db.pool, id) : undefined
  return topup ? await show(topup) : await showNotFound(request, 'top-up')
}

/** The amount that can still be refunded according to our rows. The processor may know of more refunds and refuse. */
function refundableOf({ problem, amountMinor, creditedMinor, refundedMinor, disputedMinor }: Topup): bigint {
  return problem === null ? creditedMinor - refundedMinor - disputedMinor : amountMinor
}

async function showTopup(request: AdminRequest, topup: Topup, problems: Problems = {}): Promise<Response> {
  const db = request.service.db.pool
  const [person, movements, dueAt] = await Promise.all([
    findPerson(db, { id: topup.userId }),
    listMovements(db, topup.id),
    findWorkDueAt(db, 'resolve-topup', topup.id),
  ])
  const isRefundable = may(request, 'refund') && refundableOf(topup) > 0n
  const body = (
    <>
      <Heading title="Card top-up" sub={person && [nameOf(person), person.email].filter(Boolean).join(' · ')}>
        <a class="button quiet small" href={`/admin/wallets/${topup.userId}`}>
          The wallet
        </a>
        <a class="button quiet small" href={withQuery('/admin/audit', { subject: `topup:${topup.id}` })}>
          History
        </a>
      </Heading>
      {topup.problem && <Notice kind="bad">{problemTexts[topup.problem][1]}</Notice>}
      <div class="columns">
        <TopupFacts topup={topup} dueAt={dueAt} />
        {isRefundable && <RefundForm request={request} topup={topup} problems={problems} />}
      </div>
      <Movements topup={topup} movements={movements} />
    </>
  )
  const status = Object.keys(problems).length > 0 ? { status: 422 } : {}
  return await showPage(request, { title: 'Card top-up', here: 'topups', body, ...status })
}

function TopupFacts({ topup, dueAt }: { topup: Topup; dueAt: Date | null }) {
  const currency = currencyOf(topup)
  return (
    <section class="card stack hero">
      <div>
        <p class="label muted">Ordered</p>
        <p class="value">
          <Money minor={topup.amountMinor} currency={currency} />
        </p>
      </div>
      <Facts
        rows={[
          ['State', <TopupBadges topup={topup} />],
          ['Credited', <Money minor={topup.creditedMinor} currency={currency} />],
          ['Refunded', <Money minor={topup.refundedMinor} currency={currency} />],
          ['Held by disputes', <Money minor={topup.disputedMinor} currency={currency} />],
          ['Last decline', topup.declineCode ?? 'none'],
          ['Processor', topup.processor],
          ['Payment', topup.paymentIntentId === null ? 'none' : <Copy label="payment" text={topup.paymentIntentId} />],
          ['Started', <When at={topup.createdAt} />],
          ['Last update', <When at={topup.updatedAt} />],
          ['Next check', <When at={dueAt} />],
        ]}
      />
    </section>
  )
}

function RefundForm({ request, topup, problems }: { request: AdminRequest; topup: Topup; problems: Problems }) {
  const left = formatMinor(refundableOf(topup), currencyOf(topup))
  return (
    <section class="card stack">
      <h2>Refund</h2>
      <Form request={request} action={`/admin/topups/${topup.id}/refund`} class="stack">
        <AmountAndReason
          request={request}
          problems={problems}
          currency={topup.currency}
          value={left}
          amountHint={`At most ${left}. It goes back to the same card.`}
          reasonName="reason"
          reasonHint="For the audit log."
        />
      </Form>
    </section>
  )
}

function Movements({ topup, movements }: { topup: Topup; movements: readonly Movement[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>In the ledger</h2>
      </div>
      {movements.length === 0 ? (
        <p class="empty muted">No ledger entries yet.</p>
      ) : (
        <Table label="In the ledger" head={['Type', 'Reference', 'Amount', 'Posted']}>
          {movements.map((movement) => (
            <tr key={movement.number}>
              <td>{movement.referenceType}</td>
              <td>
                <code>{movement.referenceId}</code>
              </td>
              <td>
                <Money minor={movement.amountMinor} currency={currencyOf(topup)} isSigned />
              </td>
              <td>
                {movement.refusal ? <Badge kind="bad">{movement.refusal}</Badge> : <When at={movement.postedAt} />}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

type Order = { readonly amountMinor: bigint; readonly reason: string }

function readRefund(request: AdminRequest, topup: Topup): Order | { problems: Problems } {
  const amount = readAmount(request.form.text('amount'), currencyOf(topup), refundableOf(topup))
  const reason = request.form.text('reason').trim()
  const problem = reasonProblem(reason)
  if ('amountMinor' in amount && !problem) return { ...amount, reason }
  return { problems: { ...('problem' in amount && { amount: amount.problem }), ...(problem && { reason: problem }) } }
}

async function confirmRefund(request: AdminRequest, topup: Topup): Promise<Response> {
  const order = readRefund(request, topup)
  if ('problems' in order) return await showTopup(request, topup, order.problems)
  const currency = currencyOf(topup)
  const { balanceMinor, heldMinor } = (await findWallet(request.service.db.pool, topup.userId))!
  // A top-up with a problem was never credited, so its refund takes nothing out of the wallet.
  const after = topup.problem === null ? balanceMinor - order.amountMinor : balanceMinor
  const body = (
    <>
      <Heading title="Refund this?" sub={topup.paymentIntentId} />
      <Form request={request} action={`/admin/topups/${topup.id}/refund/order`} class="card stack">
        <input type="hidden" name="amount" value={formatMinor(order.amountMinor, currency)} />
        <input type="hidden" name="reason" value={order.reason} />
        <input type="hidden" name="key" value={crypto.randomUUID()} />
        <Facts
          rows={[
            ['Back to the card', <Money minor={order.amountMinor} currency={currency} />],
            ['Balance now', <Money minor={balanceMinor} currency={currency} />],
            ['Balance after', <Money minor={after} currency={currency} />],
            ...(heldMinor > 0n ? ([['Held by apps', <Money minor={heldMinor} currency={currency} />]] as const) : []),
            ['Reason', order.reason],
          ]}
        />
        {after < heldMinor && (
          <Notice kind="warn">
            {after < 0n
              ? 'The money is already spent. The wallet falls below zero and stays frozen until the debt is repaid.'
              : 'Apps hold more than would be left. The wallet is frozen until money comes in, or holds are voided or expire.'}
          </Notice>
        )}
        <div class="row">
          <button class="button danger" type="submit">
            Refund
          </button>
          <a class="button quiet" href={`/admin/topups/${topup.id}`}>
            Cancel
          </a>
        </div>
      </Form>
    </>
  )
  return await showPage(request, { title: 'Refund a top-up', here: 'topups', body })
}

/** The form carries the idempotency key, so a form sent twice refunds once. The processor checks that the amount is left. */
async function orderRefund(request: AdminRequest, topup: Topup): Promise<Response> {
  const key = request.form.text('key')
  const amountMinor = parseDecimal(request.form.text('amount').trim(), currencyOf(topup))
  const reason = request.form.text('reason').trim()
  if (!isUuid(key) || amountMinor === undefined || reasonProblem(reason))
    return await showProblem(request, 422, 'This form is incomplete. Start again from the top-up.')
  const result = await refundTopup(request.service, request.actor, { topupId: topup.id, amountMinor, key, reason })
  if (result.kind === 'refunded') return redirect(`/admin/topups/${topup.id}?done=topup-refunded`)
  if (result.kind === 'refused') return await showProblem(request, 409, `Nothing was refunded. ${result.message}`)
  if (result.kind === 'reused') return await showProblem(request, 409, otherContent)
  return await showProblem(
    request,
    503,
    'The card processor does not answer. It may have made the refund: check the top-up in a few minutes before you try again.',
  )
}
