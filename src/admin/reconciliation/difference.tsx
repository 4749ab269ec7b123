/** One difference between the card processor and the ledger, and settling it by hand: looked into, explained, and closed. */
import { resolveDifference } from '../../actions/topups/reconcile.ts'
import { findOpenDifference, type Difference, type OpenDifference } from '../../store/books/reconciliation.ts'
import { reasonProblem } from '../kit/amount-and-reason.tsx'
import { Facts, Field, Form, Heading, Money, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'

const path = '/admin/reconciliation/difference'

export const differenceRoutes: AdminRoute[] = [
  get(path, async (request) => {
    const difference = await find(request, request.query)
    return difference ? await show(request, difference) : await showNotFound(request, 'open difference')
  }),
  post(path, settle, 'settle'),
]

type Told = Pick<Difference, 'kind' | 'processorMinor' | 'ledgerMinor'> & { readonly topupId: string | null }

export function differenceText({ kind, processorMinor, ledgerMinor, topupId }: Told): string {
  if (!topupId) return `a ${kind} that no top-up belongs to`
  if (ledgerMinor === 0n) return `a ${kind} that the ledger does not have`
  return processorMinor === 0n ? `a ${kind} that the processor does not have` : `a ${kind} of another amount`
}

async function find(request: AdminRequest, text: (name: string) => string): Promise<OpenDifference | undefined> {
  return await findOpenDifference(request.service.db.pool, text('payment'), text('kind'))
}

async function show(request: AdminRequest, difference: OpenDifference, problem?: string): Promise<Response> {
  const { currency } = request.service.config
  const { paymentIntentId, kind, processorMinor, ledgerMinor, topupId } = difference
  const body = (
    <>
      <Heading title="A difference" sub={differenceText(difference)}>
        <a class="button quiet small" href="/admin/reconciliation">
          All of them
        </a>
      </Heading>
      <section class="card stack">
        <Facts
          rows={[
            ['Day', difference.day],
            ['Payment', <code>{paymentIntentId}</code>],
            ['Top-up', topupId ? <a href={`/admin/topups/${topupId}`}>Look at it</a> : 'none of ours'],
            ['Processor', <Money minor={processorMinor} currency={currency} />],
            ['Ledger', <Money minor={ledgerMinor} currency={currency} />],
            ['Difference', <Money minor={processorMinor - ledgerMinor} currency={currency} />],
            ['Found', <When at={difference.foundAt} />],
          ]}
        />
      </section>
      {may(request, 'settle') && (
        <section class="card stack">
          <h2>Settle it by hand</h2>
          <p>
            For what was looked into and stays as it is. It moves no money: a wallet is put right by a correction.
            Should either side come to say something else of this payment, the difference is open again.
          </p>
          <Form request={request} action={path} class="stack">
            <input type="hidden" name="payment" value={paymentIntentId} />
            <input type="hidden" name="kind" value={kind} />
            <input type="hidden" name="seen" value={seenOf(difference)} />
            <Field
              label="Reason"
              name="reason"
              value={request.form.text('reason')}
              hint="For the audit log, and for whoever asks later."
              problem={problem}
              attributes={{ required: true, maxlength: 500 }}
            />
            <div>
              <button class="button" type="submit">
                Settle it
              </button>
            </div>
          </Form>
        </section>
      )}
    </>
  )
  return await showPage(request, {
    title: 'A difference',
    here: 'reconciliation',
    body,
    ...(problem && { status: 422 }),
  })
}

/** What the form was about: nobody settles amounts they have not seen. */
function seenOf({ processorMinor, ledgerMinor }: OpenDifference): string {
  return `${processorMinor} ${ledgerMinor}`
}

async function settle(request: AdminRequest): Promise<Response> {
  const { form, service, actor } = request
  const difference = await find(request, form.text)
  const isSeen = difference && form.text('seen') === seenOf(difference)
  const reason = form.text('reason').trim()
  const problem = reasonProblem(reason)
  if (isSeen && problem) return await show(request, difference, problem)
  if (!isSeen || !(await resolveDifference(service, actor, difference, reason)))
    return await showProblem(
      request,
      409,
      'Nothing was settled: this difference is closed, or not what it was any more.',
    )
  return redirect('/admin/reconciliation?done=difference-settled')
}
