/** Who gave which operator access, and why two operators do not count as independent. */
import type { Dependence } from '../../actions/operators/independence.ts'
import type { Grant, GrantKind } from '../../store/operator-access/operator-grants.ts'
import type { Operator } from '../../store/operators.ts'
import { actorName } from './audit-table.tsx'
import { Notice, When } from './parts.tsx'

export const grantVerbs: Readonly<Record<GrantKind, string>> = {
  created: 'created by',
  invited: 'invited by',
  reset: 'access reset by',
  renewed: 'set a new password and second factor with a link from',
  role: 'got a role from',
  restored: 'got access back from',
}

export function GrantList({ grants, operators }: { grants: readonly Grant[]; operators: readonly Operator[] }) {
  return (
    <ul role="list" class="small">
      {grants.map((grant) => (
        <li key={`${grant.operatorId} ${grant.kind} ${grant.at.toISOString()}`}>
          <strong>
            <bdi>{actorName(operators, `operator:${grant.operatorId}`)}</bdi>
          </strong>
          : {grantVerbs[grant.kind]} <bdi>{actorName(operators, grant.madeBy)}</bdi>
          {grant.approvedBy && (
            <>
              , approved by <bdi>{actorName(operators, grant.approvedBy)}</bdi>
            </>
          )}
          , <When at={grant.at} />
        </li>
      ))}
    </ul>
  )
}

type WhyNotProps = { dependence: Dependence; asker: string; operators: readonly Operator[] }

/** In place of the button that approves. */
export function WhyNot({ dependence, asker, operators }: WhyNotProps) {
  return (
    <Notice kind="warn">
      <p>
        {dependence.kind === 'fresh' ? (
          'Your access was reset less than 24 hours ago, so you cannot approve yet.'
        ) : (
          <>
            You cannot approve what <bdi>{actorName(operators, asker)}</bdi> asked for: in the last 7 days one of you
            gave the other access, or both got it from the same operator.
          </>
        )}{' '}
        This ends <When at={dependence.endsAt} />. Until then an operator who is independent of both can approve.
      </p>
      <GrantList grants={dependence.grants} operators={operators} />
    </Notice>
  )
}
