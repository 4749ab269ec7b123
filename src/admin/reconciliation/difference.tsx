/** One difference between the card processor and the ledger, and resolving it by hand. */
import { resolveDifference } from '../../actions/topups/reconcile.ts'
import {
  findOpenDifference,
  findResolvedDifference,
  type Difference,
  type OpenDifference,
} from '../../store/books/reconciliation.ts'
import { reasonProblem } from '../kit/amount-and-reason.tsx'
import { Facts, Heading, Money, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { ResolveForm } from './resolve-form.tsx'

const path = '/admin/reconciliation/difference'

export const differenceRoutes: AdminRoute[] = [
  get(path, async (request) => {
    const difference = await findDifference(request, request.query)
    return difference ? await showDifference(request, difference) : await showNotFound(request, 'open difference')
  }),
  post(path, resolveByHand, 'settle'),
]

type Described = Pick<Difference, 'kind' | 'processorMinor' | 'ledgerMinor'> & { readonly topupId: string | null }

export function differenceText({ kind, processorMinor, ledgerMinor, topupId }: Described): string {
  if (!topupId) return `a ${kind} without a top-up`
  if (ledgerMinor === 0n) return `a ${kind} missing from the ledger`
  return processorMinor === 0n ? `a ${kind} missing at the processor` : `a ${kind} with another amount`
}

async function findDifference(
  request: AdminRequest,
  text: (name: string) => string,
): Promise<OpenDifference | undefined> {
  return await findOpenDifference(request.service.db.pool, text('payment'), text('kind'))
}

async function showDifference(request: AdminRequest, difference: OpenDifference, problem?: string): Promise<Response> {
  const { currency } = request.service.config
  const { paymentIntentId, kind, processorMinor, ledgerMinor, topupId } = difference
  const body = (
    <>
      <Heading title="A difference" sub={differenceText(difference)}>
        <a class="button quiet small" href="/admin/reconciliation">
          All differences
        </a>
      </Heading>
      <section class="card stack">
        <Facts
          rows={[
            ['Day', difference.day],
            ['Payment', <code>{paymentIntentId}</code>],
            ['Top-up', topupId ? <a href={`/admin/topups/${topupId}`}>Open the top-up</a> : 'none'],
            ['Processor', <Money minor={processorMinor} currency={currency} />],
            ['Ledger', <Money minor={ledgerMinor} currency={currency} />],
            ['Difference', <Money minor={processorMinor - ledgerMinor} currency={currency} />],
            ['Found', <When at={difference.foundAt} />],
          ]}
        />
      </section>
      <ResolveForm
        request={request}
        action={path}
        subject={{ payment: paymentIntentId, kind, seen: seenOf(difference) }}
        problem={problem}
      >
        Use this for a difference that was investigated and is accepted. It moves no money; use a correction to change a
        wallet. If either side of this payment changes, the difference opens again.
      </ResolveForm>
    </>
  )
  return await showPage(request, {
    title: 'A difference',
    here: 'reconciliation',
    body,
    ...(problem && { status: 422 }),
  })
}

/** The amounts the form showed: an operator cannot resolve amounts they have not seen. */
function seenOf({ processorMinor, ledgerMinor }: OpenDifference): string {
  return `${processorMinor} ${ledgerMinor}`
}

async function resolveByHand(request: AdminRequest): Promise<Response> {
  const { form, service, actor } = request
  const difference = await findDifference(request, form.text)
  const isSeen = difference && form.text('seen') === seenOf(difference)
  const reason = form.text('reason').trim()
  const problem = reasonProblem(reason)
  if (isSeen && problem) return await showDifference(request, difference, problem)
  const isDone = isSeen && !problem && (await resolveDifference(service, actor, difference, reason))
  if (!isDone && !(await isResolvedSo(request, reason)))
    return await showProblem(
      request,
      409,
      'Nothing was done: this difference has changed, or is closed or resolved with another reason.',
    )
  return redirect('/admin/reconciliation?done=difference-settled')
}

/** Whether this form, sent twice, has already resolved the difference. */
async function isResolvedSo({ form, service }: AdminRequest, reason: string): Promise<boolean> {
  const resolved = await findResolvedDifference(service.db.pool, form.text('payment'), form.text('kind'))
  return resolved !== undefined && seenOf(resolved) === form.text('seen') && resolved.resolvedReason === reason
}
