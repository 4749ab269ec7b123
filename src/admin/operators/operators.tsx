/** The operators: their roles, access and invitation links. */
import { changeAccess, inviteOperator, resetOperator, revokeInvite } from '../../actions/operators/manage-operators.ts'
import { endSessions } from '../../actions/operators/manage-sessions.ts'
import { grantDays } from '../../actions/operators/independence.ts'
import { rights, roleNames, roleTexts } from '../../actions/operators/rights.ts'
import { isName } from '../../actions/people/create-user.ts'
import { isUuid } from '../../actions/tokens.ts'
import { listInvites, type ListedInvite } from '../../store/operator-invites.ts'
import { listGrantsOf } from '../../store/operator-grants.ts'
import { listOperators, roles, type Operator, type Role } from '../../store/operators.ts'
import { GrantList } from '../kit/grants.tsx'
import { Badge, Copy, Field, Form, Heading, Notice, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const operatorRoutes: AdminRoute[] = [
  get('/admin/operators', (request) => showOperators(request)),
  post('/admin/operators/invite', invite, 'operators'),
  post('/admin/operators/invites/:id/revoke', revokeLink, 'operators'),
  post('/admin/operators/:id/access', setAccess, 'operators'),
  post('/admin/operators/:id/reset', reset, 'operators'),
  post('/admin/operators/:id/sign-out', signOutOperator, 'operators'),
]

const roleLabels = roles.map((role): [string, string] => [role, `${role}: ${roleTexts[role]}`])

async function showOperators(request: AdminRequest): Promise<Response> {
  const db = request.service.db.pool
  const [operators, invites] = await Promise.all([listOperators(db), listInvites(db)])
  const grants = await listGrantsOf(
    db,
    operators.map(({ id }) => id),
    { until: null, days: grantDays },
  )
  const mayChange = may(request, 'operators')
  const body = (
    <>
      <Heading title="Operators" sub="The people who sign in to this admin area." />
      {mayChange && (
        <section class="card stack">
          <h2>Invite an operator</h2>
          <Form request={request} action="/admin/operators/invite" class="row bottom">
            <Field label="Role" name="role" options={roleLabels} value="viewer" />
            <Field
              label="For"
              name="for"
              attributes={{ placeholder: 'name or email', maxlength: 100, autocomplete: 'off' }}
            />
            <button class="button" type="submit">
              Create a one-time link
            </button>
          </Form>
        </section>
      )}
      <section class="card flush">
        <Table
          label="Operators"
          head={['Operator', 'Role', 'Second factor', 'Last signed in', ...(mayChange ? ['Access'] : [])]}
        >
          {operators.map((operator) => (
            <tr key={operator.id}>
              <td>
                <strong>{operator.name}</strong> {operator.id === request.me.operator.id && <Badge>you</Badge>}
                <br />
                <span class="muted">{operator.email}</span>
              </td>
              <td>
                {operator.role} {!operator.isActive && <Badge kind="bad">no access</Badge>}
              </td>
              <td>{operator.totpSealed ? <Badge kind="good">on</Badge> : <Badge kind="warn">not yet</Badge>}</td>
              <td>
                <When at={operator.signedInAt} />
              </td>
              {mayChange && (
                <td>
                  <Access request={request} operator={operator} />
                </td>
              )}
            </tr>
          ))}
        </Table>
      </section>
      {invites.length > 0 && <Invites request={request} invites={invites} operators={operators} />}
      {grants.length > 0 && (
        <section class="card stack">
          <h2>Access given in the last {grantDays} days</h2>
          <GrantList grants={grants} operators={operators} />
        </section>
      )}
      <Rights mine={request.me.operator.role} />
    </>
  )
  return await showPage(request, { title: 'Operators', here: 'operators', body })
}

function Rights({ mine }: { mine: Role }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Rights</h2>
      </div>
      <Table label="Rights" head={['Right', ...roles.map((role) => (role === mine ? `${role} (you)` : role))]}>
        {rights.map(({ right, about, roles: holders }) => (
          <tr key={right}>
            <td>{about}</td>
            {roles.map((role) => (
              <td key={role}>{holders.includes(role) ? 'yes' : <span class="muted">no</span>}</td>
            ))}
          </tr>
        ))}
      </Table>
    </section>
  )
}

type InvitesProps = { request: AdminRequest; invites: readonly ListedInvite[]; operators: readonly Operator[] }

function Invites({ request, invites, operators }: InvitesProps) {
  const mayChange = may(request, 'operators')
  const operatorName = (id: string) => operators.find((operator) => operator.id === id)?.name
  const makerOf = ({ createdBy }: ListedInvite) =>
    operatorName(createdBy.replace(/^operator:/, '')) ?? createdBy.replace(/^cli:?/, 'command line ')
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Open links</h2>
      </div>
      <Table label="Open links" head={['For', 'Gives', 'Created by', 'Until', ...(mayChange ? ['Revoke'] : [])]}>
        {invites.map((invite) => {
          const forWhom = invite.operatorId ? operatorName(invite.operatorId) : invite.forWhom
          return (
            <tr key={invite.id}>
              <td>{forWhom ?? <span class="muted">first to open it</span>}</td>
              <td>{invite.operatorId ? 'new password and second factor' : `role ${invite.role}`}</td>
              <td>{makerOf(invite)}</td>
              <td>
                <When at={invite.expiresAt} />
              </td>
              {mayChange && (
                <td>
                  <Form request={request} action={`/admin/operators/invites/${invite.id}/revoke`}>
                    <button class="link-button" type="submit">
                      Revoke
                      <span class="visually-hidden"> the link for {forWhom ?? `a new ${invite.role}`}</span>
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

function Access({ request, operator }: { request: AdminRequest; operator: Operator }) {
  const base = `/admin/operators/${operator.id}`
  const change = (role: Role, isActive: boolean, label: string) => (
    <Form request={request} action={`${base}/access`} key={role}>
      <input type="hidden" name="role" value={role} />
      {isActive && <input type="hidden" name="active" value="yes" />}
      <button class="link-button" type="submit">
        {label}
      </button>
    </Form>
  )
  return (
    <details>
      <summary>
        Change…<span class="visually-hidden"> access of {operator.name}</span>
      </summary>
      <div class="stack tight">
        {operator.isActive &&
          roles.filter((role) => role !== operator.role).map((role) => change(role, true, `Make ${roleNames[role]}`))}
        {change(operator.role, !operator.isActive, operator.isActive ? 'Remove access' : 'Restore access')}
        <Form request={request} action={`${base}/sign-out`}>
          <button class="link-button" type="submit">
            Sign out everywhere
          </button>
        </Form>
        <Form request={request} action={`${base}/reset`}>
          <button class="link-button" type="submit">
            Lost password or phone: create a new link
          </button>
        </Form>
      </div>
    </details>
  )
}

async function invite(request: AdminRequest): Promise<Response> {
  const role = roles.find((known) => known === request.form.text('role'))
  if (!role) return await showProblem(request, 422, 'Choose a role.')
  const forWhom = request.form.text('for').trim() || null
  if (forWhom !== null && !isName(forWhom))
    return await showProblem(request, 422, 'Enter a name of up to 100 characters, or leave it empty.')
  const path = await inviteOperator(request.service, request.actor, { role, forWhom })
  return await showLink(request, path, `Invitation for the role ${role}`)
}

async function revokeLink(request: AdminRequest): Promise<Response> {
  const id = request.param('id')
  if (!isUuid(id) || !(await revokeInvite(request.service, request.actor, id)))
    return await showNotFound(request, 'link')
  return redirect('/admin/operators?done=link-revoked')
}

async function reset(request: AdminRequest): Promise<Response> {
  const id = request.param('id')
  const path = isUuid(id) ? await resetOperator(request.service, request.actor, id) : undefined
  return path
    ? await showLink(request, path, 'Link for a new password and second factor')
    : await showNotFound(request, 'operator')
}

async function showLink(request: AdminRequest, path: string, title: string): Promise<Response> {
  const body = (
    <>
      <Heading title={title} />
      <section class="card stack">
        <Notice kind="warn">
          The link works once, for the first person who opens it. Send it to one person, over a channel you trust. It is
          not shown again. It ends in 24 hours, when you revoke it, or when you are no longer an admin.
        </Notice>
        <Copy label="link" text={`${request.service.config.publicUrl}${path}`} isBlock />
        <p>
          <a class="button quiet" href="/admin/operators">
            Back to the operators
          </a>
        </p>
      </section>
    </>
  )
  return await showPage(request, { title, here: 'operators', body })
}

async function setAccess(request: AdminRequest): Promise<Response> {
  const role = roles.find((known) => known === request.form.text('role'))
  const id = request.param('id')
  if (!role || !isUuid(id)) return await showNotFound(request, 'operator')
  const result = await changeAccess(request.service, request.actor, id, {
    role,
    isActive: request.form.isChecked('active'),
  })
  if (result === 'unknown') return await showNotFound(request, 'operator')
  if (result === 'last-admin')
    return await showProblem(request, 409, 'This is the last admin. Make another operator an admin first.')
  return redirect('/admin/operators?done=access-changed')
}

async function signOutOperator(request: AdminRequest): Promise<Response> {
  const id = request.param('id')
  if (!isUuid(id)) return await showNotFound(request, 'operator')
  await endSessions(request.service, request.actor, id)
  return redirect('/admin/operators?done=operator-signed-out')
}
