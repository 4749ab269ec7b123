/** Open links for operators: where they were mailed, mailing them again, revoking them. */
import { maskEmail } from '../../actions/mails/write-letters.ts'
import { resendLink, revokeInvite } from '../../actions/operators/change-operators.ts'
import { isUuid } from '../../actions/tokens.ts'
import type { ListedInvite } from '../../store/operator-access/operator-invites.ts'
import type { Operator } from '../../store/operators.ts'
import { actorName } from '../kit/audit-table.tsx'
import { Badge, Form, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showTooMany } from '../kit/respond.tsx'
import { may, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'

export const linkRoutes: AdminRoute[] = [
  post('/admin/operators/invites/:id/resend', resend, 'operators'),
  post('/admin/operators/invites/:id/revoke', revoke, 'operators'),
]

type LinksProps = { request: AdminRequest; invites: readonly ListedInvite[]; operators: readonly Operator[] }

export function Links({ request, invites, operators }: LinksProps) {
  const mayChange = may(request, 'operators')
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Open links</h2>
      </div>
      <Table
        label="Open links"
        head={['For', 'Gives', 'Mail', 'Created by', 'Until', ...(mayChange ? ['Change'] : [])]}
      >
        {invites.map((invite) => {
          const base = `/admin/operators/invites/${invite.id}`
          const forWhom = invite.operatorEmail ?? invite.email
          const hidden = <span class="visually-hidden"> the link for {forWhom ?? `a new ${invite.role}`}</span>
          return (
            <tr key={invite.id}>
              <td>{forWhom ?? <span class="muted">first to open it</span>}</td>
              <td>{invite.operatorId ? 'new password and second factor' : `role ${invite.role}`}</td>
              <td>
                <MailState invite={invite} />
              </td>
              <td>
                <bdi>{actorName(operators, invite.createdBy)}</bdi>
                {invite.approvedBy && (
                  <div class="muted">
                    approved by <bdi>{actorName(operators, invite.approvedBy)}</bdi>
                  </div>
                )}
              </td>
              <td>
                <When at={invite.expiresAt} />
              </td>
              {mayChange && (
                <td class="nowrap">
                  {invite.mail !== null && (
                    <Form request={request} action={`${base}/resend`}>
                      <button class="link-button" type="submit">
                        Mail again{hidden}
                      </button>
                    </Form>
                  )}
                  <Form request={request} action={`${base}/revoke`}>
                    <button class="link-button" type="submit">
                      Revoke{hidden}
                    </button>
                  </Form>
                </td>
              )}
            </tr>
          )
        })}
      </Table>
    </section>
  )
}

function MailState({ invite: { mail, email, mailedAt, mailError } }: { invite: ListedInvite }) {
  if (mail === null || email === null) return <span class="muted">printed on the server</span>
  if (mail === 'sent')
    return (
      <>
        <Badge kind="good">mailed</Badge> to {maskEmail(email)}, <When at={mailedAt} />
      </>
    )
  if (mail === 'waiting')
    return (
      <>
        <Badge>being mailed</Badge> to {maskEmail(email)}
        {mailError && <div class="muted">{mailError} It is tried again.</div>}
      </>
    )
  return (
    <>
      <Badge kind="bad">not mailed</Badge> to {maskEmail(email)}
      <div class="muted">{mailError ?? 'The process ended while it was sent: it may have arrived.'}</div>
    </>
  )
}

async function resend(request: AdminRequest): Promise<Response> {
  const id = request.param('id')
  const result = isUuid(id) ? await resendLink(request.service, request.actor, id) : 'unknown'
  if (result === 'unknown') return await showNotFound(request, 'link')
  if (result !== 'done') return await showTooMany(request, result.retryAfterSeconds)
  return redirect('/admin/operators?done=link-mailed')
}

async function revoke(request: AdminRequest): Promise<Response> {
  const id = request.param('id')
  if (!isUuid(id) || !(await revokeInvite(request.service, request.actor, id)))
    return await showNotFound(request, 'link')
  return redirect('/admin/operators?done=link-revoked')
}
