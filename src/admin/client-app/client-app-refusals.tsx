/** Calls of an app that were refused for their credentials: which secret, why, and from where. */
import type { App } from '../../store/apps.ts'
import {
  listRefusedCredentials,
  maxAddresses,
  type RefusalCause,
  type RefusalSum,
} from '../../store/calls/refused-credentials.ts'
import { Badge, countText, Table, When } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'

const causes: Readonly<Record<RefusalCause, string>> = {
  missing: 'no secret sent',
  wrong: 'not a secret of this app',
  revoked: 'revoked secret',
  expired: 'overlap ended',
  inactive: 'app is inactive',
}

/** An app has at most some hundred rows: each of its secrets can be refused from 20 addresses. */
const maxShown = 50

export async function readAppRefusals({ service }: AdminRequest, { clientId }: App): Promise<RefusalSum[]> {
  return await listRefusedCredentials(service.db.pool, clientId, maxShown + 1)
}

export function AppRefusals({ refusals }: { refusals: readonly RefusalSum[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Refused credentials</h2>
        {refusals.length > maxShown && <p class="small muted">The newest {maxShown}; there are more.</p>}
      </div>
      {refusals.length === 0 ? (
        <p class="empty muted">
          No call got 401 INVALID_CLIENT in the last 31 days. One that does appears here within a minute.
        </p>
      ) : (
        <>
          <Table label="Refused credentials" head={['Cause', 'Secret', 'Address', ['Calls'], 'First', 'Last']}>
            {refusals.slice(0, maxShown).map((each) => (
              <tr key={`${each.cause} ${each.fingerprint} ${each.address}`}>
                <td>
                  <Badge kind="bad">{causes[each.cause]}</Badge>
                </td>
                <td>{each.fingerprint ? <code>{each.fingerprint}</code> : <span class="muted">–</span>}</td>
                <td class="wide">{each.address || <span class="muted">other addresses</span>}</td>
                <td class="number">{countText(each.calls)}</td>
                <td>
                  <When at={each.firstAt} />
                </td>
                <td>
                  <When at={each.lastAt} />
                </td>
              </tr>
            ))}
          </Table>
          <p class="pager small muted">
            Calls that got 401 INVALID_CLIENT. Each cause and secret has the {maxAddresses} newest addresses; the others
            are summed. Wrong secrets are not stored. A row is deleted 31 days after its last call.
          </p>
        </>
      )}
    </section>
  )
}
