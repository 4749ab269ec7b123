/** Lines of a report file that contradict the card processor's API: the list, one of them, and resolving it by hand. */
import { resolveContradiction } from '../../actions/topups/reconcile.ts'
import { formatMinor, type Currency } from '../../ledger/money.ts'
import { findOpenContradiction, type Contradiction } from '../../store/books/processor-lines.ts'
import { listOperators, type Operator } from '../../store/operators.ts'
import { reasonProblem } from '../kit/amount-and-reason.tsx'
import { actorName } from '../kit/audit-table.tsx'
import { Facts, Heading, Table, When, withQuery } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { ResolveForm } from './resolve-form.tsx'

const path = '/admin/reconciliation/contradiction'

export const contradictionRoutes: AdminRoute[] = [
  get(path, async (request) => {
    const contradiction = await findOpenContradiction(request.service.db.pool, request.query('id'))
    return contradiction
      ? await showContradiction(request, contradiction)
      : await showNotFound(request, 'open contradiction')
  }),
  post(path, resolveByHand, 'settle'),
]

export function saidText(said: Contradiction['processorSaid'], currency: Currency): string {
  if (!said) return 'no such booking'
  const { kind, payment, amount, fee, at } = said
  const minor = (text: string) => formatMinor(BigInt(text), currency)
  return `${kind} of ${minor(amount)}, fee ${minor(fee)}, ${payment ?? 'no payment'}, ${at} UTC`
}

type ListProps = {
  request: AdminRequest
  contradictions: readonly Contradiction[]
  operators: readonly Operator[]
}

export function Contradictions({ request, contradictions, operators }: ListProps) {
  const { currency } = request.service.config
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Files that contradict the processor</h2>
        <p class="muted">The processor’s API counts; these lines of files do not.</p>
      </div>
      <Table
        label="Files that contradict the processor"
        head={['Day', 'Booking', 'Processor', 'File', 'Uploaded by', 'Found']}
      >
        {contradictions.map((each) => (
          <tr key={each.id}>
            <td>{each.day}</td>
            <td>
              <a href={withQuery(path, { id: each.id })}>
                <code>{each.lineId}</code>
              </a>
            </td>
            <td class="wide">{saidText(each.processorSaid, currency)}</td>
            <td class="wide">{saidText(each.fileSaid, currency)}</td>
            <td>{actorName(operators, each.readBy)}</td>
            <td>
              <When at={each.readAt} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

async function showContradiction(
  request: AdminRequest,
  contradiction: Contradiction,
  problem?: string,
): Promise<Response> {
  const { currency } = request.service.config
  const operators = await listOperators(request.service.db.pool)
  const body = (
    <>
      <Heading title="A contradiction" sub="A report file and the card processor’s API disagree about a booking.">
        <a class="button quiet small" href="/admin/reconciliation">
          All differences
        </a>
      </Heading>
      <section class="card stack">
        <Facts
          rows={[
            ['Day', contradiction.day],
            ['Booking', <code>{contradiction.lineId}</code>],
            ['Processor', saidText(contradiction.processorSaid, currency)],
            ['File', saidText(contradiction.fileSaid, currency)],
            ['Uploaded by', actorName(operators, contradiction.readBy)],
            ['Found', <When at={contradiction.readAt} />],
          ]}
        />
      </section>
      <ResolveForm request={request} action={path} subject={{ id: contradiction.id }} problem={problem}>
        Ask the operator where the file came from. The processor’s booking counts either way; resolving only closes the
        contradiction.
      </ResolveForm>
    </>
  )
  return await showPage(request, {
    title: 'A contradiction',
    here: 'reconciliation',
    body,
    ...(problem && { status: 422 }),
  })
}

async function resolveByHand(request: AdminRequest): Promise<Response> {
  const { form, service, actor } = request
  const contradiction = await findOpenContradiction(service.db.pool, form.text('id'))
  const reason = form.text('reason').trim()
  const problem = reasonProblem(reason)
  if (contradiction && problem) return await showContradiction(request, contradiction, problem)
  if (!contradiction || !(await resolveContradiction(service, actor, contradiction, reason)))
    return await showProblem(request, 409, 'Nothing was resolved: this contradiction is closed.')
  return redirect('/admin/reconciliation?done=contradiction-resolved')
}
