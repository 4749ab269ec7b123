/** An operator connects the company's account while signed in, and disconnects it. Both need the operator's own password. */
import { transact } from '../../../store/connection/database.ts'
import { deleteIdentity } from '../../../store/operator-access/operator-identities.ts'
import { recordAudit } from '../../audit.ts'
import type { Limited } from '../../limits.ts'
import { addOperatorMail, sendOperatorMailSoon } from '../../mails/operator-letters.ts'
import type { Service } from '../../service.ts'
import { checkOwnPassword } from '../manage-operators.ts'
import { actorOf, type Device, type SignedInOperator } from '../manage-sessions.ts'
import { startOidc, type OidcStarted } from './sign-in.ts'

export async function connectIdentity(
  service: Service,
  { operator, session }: SignedInOperator,
  { browser, password }: { browser: string | undefined; password: string },
  device: Device,
): Promise<OidcStarted | 'wrong'> {
  const checked = await checkOwnPassword(service, operator, password)
  if (checked === 'wrong') return 'wrong'
  if (checked !== 'right') return checked
  const purpose = { purpose: 'connect', sessionId: session.id } as const
  return await startOidc(service, { browser, purpose, next: '/admin/account' }, device)
}

export async function disconnectIdentity(
  service: Service,
  { operator }: SignedInOperator,
  password: string,
  device: Device,
): Promise<'done' | 'none' | 'wrong' | Limited> {
  const checked = await checkOwnPassword(service, operator, password)
  if (checked !== 'right') return checked
  const { issuer } = service.config.oidc!
  const actor = actorOf(operator, device.address)
  const isDone = await transact(service.db, async (tx) => {
    if (!(await deleteIdentity(tx, issuer, operator.id))) return false
    await recordAudit(tx, actor, 'operator.identity-disconnected', `operator:${operator.id}`, { issuer })
    const { id: operatorId, role } = operator
    await addOperatorMail(tx, { kind: 'disconnected', operatorId, by: actor.name, approvedBy: null, role })
    return true
  })
  sendOperatorMailSoon(service)
  return isDone ? 'done' : 'none'
}
