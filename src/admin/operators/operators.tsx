/** The operators: their roles and access, who gave it, what waits for a second admin, and open links. */
import {
  maxWaitingChanges,
  needsSecondAdmin,
  requestChange,
  suspendOperator,
} from '../../actions/operators/change-operators.ts'
import { grantDays } from '../../actions/operators/independence.ts'
import { endSessions } from '../../actions/operators/manage-sessions.ts'
import { rights, roleNames, roleTexts } from '../../actions/operators/rights.ts'
import { isEmail, normaliseEmail } from '../../actions/people/create-user.ts'
import { isUuid } from '../../actions/tokens.ts'
import { listWaitingChanges, type Change } from '../../store/operator-access/operator-changes.ts'
import { listGrantsOf } from '../../store/operator-access/operator-grants.ts'
import { listInvites } from '../../store/operator-access/operator-invites.ts'
import { findOperator, listOperators, roles, type Operator, type Role } from '../../store/operators.ts'
import { GrantList } from '../kit/grants.tsx'
import { Badge, Field, Form, Heading, Notice, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem, showTooMany } from '../kit/respond.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { changeProblems, changeRoutes, findDependences, WaitingChanges } from './changes.tsx'
import { linkRoutes, Links } from './open-links.tsx'

export const operatorRoutes: AdminRoute[] = [
  get('/admin/operators', (request) => showOperators(request)),
  post('/admin/operators/invite', invite, 'operators'),
  post('/admin/operators/:id/access', setAccess, 'operators'),
  post('/admin/operators/:id/suspend', suspend, 'operators'),
  post('/admin/operators/:id/reset', reset, 'operators'),
  post('/admin/operators/:id/sign-out', signOutOperator, 'operators'),
  ...linkRoutes,
  ...changeRoutes,
]

const roleLabels = roles.map((role): [string, string] => [role, `${role}: ${roleTexts[role]}`])

async function showOperators(request: AdminRequest, problem?: string): Promise<Response> {
  const { service, actor } = request
  const db = service.db.pool
  const [operators, invites, waiting] = await Promise.all([
    listOperators(db),
    listInvites(db),
    listWaitingChanges(db, maxWaitingChanges),
  ])
  const ids = operators.map(({ id }) => id)
  const mayChange = may(request, 'operators')
  const [grants, dependences, needsTwo] = await Promise.all([
    listGrantsOf(db, ids, { until: null, days: grantDays }),
    mayChange ? findDependences(request, waiting) : new Map(),
    mayChange && needsSecondAdmin(service, db, operators, actor),
  ])
  const body = (
    <>
      <Heading title="Operators" sub="The people who sign in to this admin area.">
        <a class="button quiet small" href="/admin/operators/invites">
          Invitations
        </a>
        <a class="button quiet small" href="/admin/operators/changes">
          Requested changes
        </a>
        <a class="button quiet small" href="/admin/operators/grants">
          Access given
        </a>
      </Heading>
      {waiting.length > 0 && <WaitingChanges {...{ request, waiting, operators, dependences }} />}
      {mayChange && <InviteForm request={request} needsTwo={needsTwo} problem={problem} />}
      <section class="card flush">
        <Table
          label="Operators"
          head={['Operator', 'Role', 'Second factor', 'Last signed in', ...(mayChange ? ['Access'] : [])]}
        >
          {operators.map((operator) => (
            <tr key={operator.id}>
              <td>
                <strong>
                  <bdi>{operator.name}</bdi>
                </strong>{' '}
                {operator.id === request.me.operator.id && <Badge>you</Badge>}
                <br />
                <span class="muted">{operator.email}</span>
              </td>
              <td>
                {operator.role} <AccessBadge operator={operator} />
              </td>
              <td>
                <SecondFactor request={request} operator={operator} />
              </td>
              <td>
                <When at={operator.signedInAt} />
              </td>
              {mayChange && (
                <td>
                  <Access request={request} operator={operator} needsTwo={needsTwo} />
                </td>
              )}
            </tr>
          ))}
        </Table>
      </section>
      {invites.length > 0 && <Links request={request} invites={invites} operators={operators} />}
      {grants.length > 0 && (
        <section class="card stack">
          <h2>Access given in the last {grantDays} days</h2>
          <GrantList grants={grants} operators={operators} />
        </section>
      )}
      <Rights mine={request.me.operator.role} />
    </>
  )
  return await showPage(request, { title: 'Operators', here: 'operators', body, ...(problem && { status: 422 }) })
}

/** An operator without a password has the second factor of the identity provider. */
function SecondFactor({ request, operator }: { request: AdminRequest; operator: Operator }) {
  if (operator.passwordHash === null)
    return <span class="muted">at {request.service.config.oidc?.name ?? 'the identity provider'}</span>
  return operator.totpSealed ? <Badge kind="good">on</Badge> : <Badge kind="warn">not yet</Badge>
}

function AccessBadge({ operator: { isActive, suspendedAt } }: { operator: Operator }) {
  if (isActive) return null
  return <Badge kind="bad">{suspendedAt ? 'suspended' : 'no access'}</Badge>
}

type InviteProps = { request: AdminRequest; needsTwo: boolean; problem: string | undefined }

function InviteForm({ request, needsTwo, problem }: InviteProps) {
  const { form, service } = request
  return (
    <section class="card stack">
      <h2>Invite an operator</h2>
      {needsTwo && <p class="muted">A second admin approves it before the link is mailed.</p>}
      {service.config.mail.smtpUrl === undefined && (
        <Notice kind="warn">
          No mail server is configured (<code>SMTP_URL</code>): mails are files in the folder <code>mail</code> of the
          data folder. To hand over a link without mail, run <code>npx billfold admin invite --email … --role …</code>{' '}
          or <code>npx billfold admin reset …</code> on the server.
        </Notice>
      )}
      <Form request={request} action="/admin/operators/invite" class="row bottom">
        <Field
          label="Email"
          name="email"
          type="email"
          value={form.text('email')}
          problem={problem}
          attributes={{ required: true, maxlength: 254, autocomplete: 'off' }}
        />
        <Field label="Role" name="role" options={roleLabels} value={form.text('role') || 'viewer'} />
        <button class="button" type="submit">
          {needsTwo ? 'Request the invitation' : 'Mail the invitation'}
        </button>
      </Form>
      <p class="muted">The one-time link goes to this mailbox, and is shown to no operator.</p>
    </section>
  )
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

function LinkButton({ label }: { label: string }) {
  return (
    <button class="link-button" type="submit">
      {label}
    </button>
  )
}

type AccessProps = { request: AdminRequest; operator: Operator; needsTwo: boolean }

function Access({ request, operator, needsTwo }: AccessProps) {
  const { id, name, role: mine, isActive, suspendedAt } = operator
  const base = `/admin/operators/${id}`
  const isMe = id === request.me.operator.id
  const change = (role: Role, isKept: boolean, label: string) => (
    <Form request={request} action={`${base}/access`} key={`${role} ${isKept}`}>
      <input type="hidden" name="role" value={role} />
      {isKept && <input type="hidden" name="active" value="yes" />}
      <LinkButton label={label} />
    </Form>
  )
  const post = (verb: string, label: string) => (
    <Form request={request} action={`${base}/${verb}`}>
      <LinkButton label={label} />
    </Form>
  )
  const isAsked = needsTwo && !isMe
  return (
    <details>
      <summary>
        Change…<span class="visually-hidden"> access of {name}</span>
      </summary>
      <div class="stack tight">
        {isAsked && <p class="muted small">A second admin approves:</p>}
        {isActive && roles.filter((role) => role !== mine).map((role) => change(role, true, `Make ${roleNames[role]}`))}
        {(isActive || suspendedAt) && change(mine, false, 'Remove access')}
        {!isActive && change(mine, true, 'Give access back')}
        {isActive && !isMe && post('reset', 'Lost password or phone: mail a link')}
        {isActive && isAsked && <p class="muted small">At once:</p>}
        {isActive && isAsked && post('suspend', 'Suspend')}
        {isActive && post('sign-out', 'Sign out everywhere')}
      </div>
    </details>
  )
}

async function invite(request: AdminRequest): Promise<Response> {
  const role = roles.find((known) => known === request.form.text('role'))
  if (!role) return await showProblem(request, 422, 'Choose a role.')
  const email = normaliseEmail(request.form.text('email').trim())
  if (!isEmail(email)) return await showOperators(request, 'Enter an email address: the link goes there.')
  return await answer(request, { kind: 'invite', email, role }, 'link-mailed')
}

async function reset(request: AdminRequest): Promise<Response> {
  const operatorId = request.param('id')
  if (!isUuid(operatorId)) return await showNotFound(request, 'operator')
  return await answer(request, { kind: 'reset', operatorId }, 'link-mailed')
}

async function setAccess(request: AdminRequest): Promise<Response> {
  const role = roles.find((known) => known === request.form.text('role'))
  const operatorId = request.param('id')
  const operator = isUuid(operatorId) ? await findOperator(request.service.db.pool, operatorId) : undefined
  if (!role || !operator) return await showNotFound(request, 'operator')
  const isKept = request.form.isChecked('active')
  if (role !== operator.role && !(isKept && operator.isActive))
    return await showProblem(request, 409, 'Change the role of an operator with access, or the access alone.')
  const change: Change =
    role === operator.role ? { kind: isKept ? 'restore' : 'remove', operatorId } : { kind: 'role', operatorId, role }
  return await answer(request, change, 'access-changed')
}

async function answer(request: AdminRequest, change: Change, notice: string): Promise<Response> {
  const result = await requestChange(request.service, request.actor, change)
  switch (result.kind) {
    case 'done':
      return redirect(`/admin/operators?done=${notice}`)
    case 'waiting':
      return redirect('/admin/operators?done=change-waiting')
    case 'limited':
      return await showTooMany(request, result.retryAfterSeconds)
    case 'problem':
      break
  }
  if (result.problem === 'unknown') return await showNotFound(request, 'operator')
  return await showProblem(request, 409, changeProblems[result.problem])
}

async function suspend(request: AdminRequest): Promise<Response> {
  const id = request.param('id')
  const result = isUuid(id) ? await suspendOperator(request.service, request.actor, id) : 'unknown'
  if (result === 'unknown') return await showNotFound(request, 'operator')
  if (result !== 'done') return await showProblem(request, 409, changeProblems[result])
  return redirect('/admin/operators?done=operator-suspended')
}

async function signOutOperator(request: AdminRequest): Promise<Response> {
  const id = request.param('id')
  if (!isUuid(id)) return await showNotFound(request, 'operator')
  await endSessions(request.service, request.actor, id)
  return redirect('/admin/operators?done=operator-signed-out')
}
