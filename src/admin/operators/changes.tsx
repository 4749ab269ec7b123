/** Changes of operators that wait for a second admin, and the decisions on them. */
import { decideChange, type DecidedChange, type DecisionProblem } from '../../actions/operators/change-operators.ts'
import { describeChange } from '../../actions/operators/describe-change.ts'
import { findDependence, isSamePerson, type Dependence } from '../../actions/operators/independence.ts'
import { isUuid } from '../../actions/tokens.ts'
import type { DecidedState, WaitingChange } from '../../store/operator-access/operator-changes.ts'
import type { Operator } from '../../store/operators.ts'
import { actorName } from '../kit/audit-table.tsx'
import { WhyNot } from '../kit/grants.tsx'
import { Form, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showProblem } from '../kit/respond.tsx'
import { may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'

export const changeRoutes: AdminRoute[] = [
  post('/admin/operators/changes/:id/approve', (request) => decide(request, 'approved'), 'operators'),
  post('/admin/operators/changes/:id/decline', (request) => decide(request, 'declined'), 'operators'),
  post('/admin/operators/changes/:id/withdraw', (request) => decide(request, 'withdrawn'), 'operators'),
]

export const changeProblems: Readonly<Record<DecisionProblem | 'another-waits' | 'too-many-wait', string>> = {
  unknown: 'This operator does not exist.',
  'unknown-change': 'This change does not exist.',
  'email-taken': 'An operator with this email already exists.',
  'last-admin': 'This is the last admin. Make another operator an admin first.',
  'no-access': 'This operator has no access. Give it back first.',
  'has-access': 'This operator has access already.',
  'has-role': 'This operator has this role already.',
  'no-right': 'You are no longer an admin.',
  'asker-left': 'The operator who requested it is no longer an admin. Decline it, and request it yourself.',
  'another-waits': 'A change of this kind already waits for this operator. Decide on it, or withdraw it, first.',
  'too-many-wait': 'Too many changes wait for a second admin. Decide on them, or withdraw some, first.',
  decided: 'This change was already decided.',
  expired: 'This change waited for more than 7 days. Request it again.',
  own: 'You requested this change yourself. Another admin must decide on it.',
  'not-own': 'Only the admin who requested a change can withdraw it. You can decline it.',
}

/** By asker, for the operator who sees the page. */
export async function findDependences(
  { service, actor }: AdminRequest,
  waiting: readonly WaitingChange[],
): Promise<ReadonlyMap<string, Dependence>> {
  const askers = [...new Set(waiting.map(({ askedBy }) => askedBy))]
  const found = new Map<string, Dependence>()
  for (const asker of askers) {
    const dependence = await findDependence(service.db.pool, { approver: actor.name, asker })
    if (dependence) found.set(asker, dependence)
  }
  return found
}

type WaitingProps = {
  request: AdminRequest
  waiting: readonly WaitingChange[]
  operators: readonly Operator[]
  dependences: ReadonlyMap<string, Dependence>
}

export function WaitingChanges({ request, waiting, operators, dependences }: WaitingProps) {
  const mayChange = may(request, 'operators')
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Waiting for a second admin</h2>
      </div>
      <Table label="Waiting changes" head={['Change', 'Requested by', 'Until', ...(mayChange ? ['Decision'] : [])]}>
        {waiting.map((each) => (
          <tr key={each.id}>
            <td class="wide">{describeChange(each.change, operators)}</td>
            <td>
              <bdi>{actorName(operators, each.askedBy)}</bdi>
              <br />
              <When at={each.askedAt} />
            </td>
            <td>
              <When at={each.expiresAt} />
            </td>
            {mayChange && (
              <td class="wide">
                <Decision {...{ request, each, operators }} dependence={dependences.get(each.askedBy)} />
              </td>
            )}
          </tr>
        ))}
      </Table>
    </section>
  )
}

type DecisionProps = {
  request: AdminRequest
  each: WaitingChange
  operators: readonly Operator[]
  dependence: Dependence | undefined
}

function Decision({ request, each, operators, dependence }: DecisionProps) {
  const base = `/admin/operators/changes/${each.id}`
  const hidden = <span class="visually-hidden">: {describeChange(each.change, operators)}</span>
  const form = (verb: string, label: string, kind: string) => (
    <Form request={request} action={`${base}/${verb}`}>
      <button class={`button small ${kind}`} type="submit">
        {label}
        {hidden}
      </button>
    </Form>
  )
  if (isSamePerson(each.askedBy, request.actor.name)) return form('withdraw', 'Withdraw', 'quiet')
  return (
    <div class="stack tight">
      {dependence && <WhyNot dependence={dependence} asker={each.askedBy} operators={operators} />}
      <div class="row">
        {!dependence && form('approve', 'Approve', '')}
        {form('decline', 'Decline', 'quiet')}
      </div>
    </div>
  )
}

async function decide(request: AdminRequest, state: DecidedState): Promise<Response> {
  const id = request.param('id')
  const result: DecidedChange = isUuid(id)
    ? await decideChange(request.service, request.actor, id, state)
    : { kind: 'problem', problem: 'unknown-change' }
  if (result.kind === 'done') return redirect(`/admin/operators?done=change-${state}`)
  if (result.kind === 'dependent')
    return await showProblem(
      request,
      409,
      'You and the admin who requested it do not count as two people yet. The operators’ page says why, and when this ends.',
    )
  if (result.problem === 'unknown-change') return await showNotFound(request, 'change')
  return await showProblem(request, 409, changeProblems[result.problem])
}
