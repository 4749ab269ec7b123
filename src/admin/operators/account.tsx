/** The signed-in operator's account: password, second factor, sessions. */
import {
  changeOperatorPassword,
  changeRecoveryCodes,
  passwordProblem,
  restartSecondFactor,
  type OwnPassword,
} from '../../actions/operators/manage-operators.ts'
import { endSessions, listOperatorSessions } from '../../actions/operators/manage-sessions.ts'
import { isUuid } from '../../actions/tokens.ts'
import { findIdentityOf } from '../../store/operator-access/operator-identities.ts'
import { countRecoveryCodes } from '../../store/operators.ts'
import { Badge, Facts, Field, Form, Heading, Table, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, tooMany, withCookie } from '../kit/respond.tsx'
import { get, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { OwnIdentity } from './oidc.tsx'
import { showRecoveryCodes } from './recovery-codes.tsx'

export const accountRoutes: AdminRoute[] = [
  get('/admin/account', (request) => showAccount(request)),
  post('/admin/account/password', setPassword, 'view'),
  post('/admin/account/recovery-codes', renewCodes, 'view'),
  post('/admin/account/second-factor', restartFactor, 'view'),
  post('/admin/account/sessions/end', endOne, 'view'),
  post('/admin/account/sessions/end-all', endAll, 'view'),
]

async function showAccount(request: AdminRequest, problems: Readonly<Record<string, string>> = {}): Promise<Response> {
  const { service, me } = request
  const { operator } = me
  const { oidc } = service.config
  const [sessions, codesLeft, identity] = await Promise.all([
    listOperatorSessions(service, operator.id),
    countRecoveryCodes(service.db.pool, operator.id),
    oidc && findIdentityOf(service.db.pool, oidc.issuer, operator.id),
  ])
  const hasPassword = operator.passwordHash !== null
  const facts = [
    ['Name', operator.name],
    ['Email', operator.email],
    ['Role', operator.role],
    ['Last signed in', <When at={operator.signedInAt} />],
  ] as const
  const body = (
    <>
      <Heading title="Your account" />
      <div class="columns">
        <section class="card stack">
          <h2>You</h2>
          <Facts rows={facts} />
          {hasPassword && (
            <>
              <h2>Second factor</h2>
              <p>
                {operator.totpSealed ? <Badge kind="good">On</Badge> : <Badge kind="warn">Off</Badge>}{' '}
                {operator.totpSealed && `${codesLeft} recovery ${codesLeft === 1 ? 'code' : 'codes'} left`}
              </p>
              <details open={'own' in problems}>
                <summary>Change it…</summary>
                <form class="stack" method="post" action="/admin/account/second-factor">
                  <input type="hidden" name="_token" value={request.formToken} />
                  <Field
                    label="Your password"
                    name="own"
                    type="password"
                    problem={problems['own']}
                    attributes={{ autocomplete: 'current-password', required: true }}
                  />
                  <div class="row">
                    <button class="button small" type="submit">
                      Set up {operator.totpSealed ? 'another' : 'an'} authenticator
                    </button>
                    {operator.totpSealed && (
                      <button class="button quiet small" type="submit" formaction="/admin/account/recovery-codes">
                        New recovery codes
                      </button>
                    )}
                  </div>
                </form>
              </details>
            </>
          )}
        </section>
        <OwnIdentity {...{ request, operator, identity }} />
        {hasPassword && (
          <section class="card stack">
            <h2>Password</h2>
            <Form request={request} action="/admin/account/password" class="stack">
              <input type="hidden" name="email" autocomplete="username" value={operator.email} />
              <Field
                label="Current password"
                name="before"
                type="password"
                problem={problems['before']}
                attributes={{ autocomplete: 'current-password', required: true }}
              />
              <Field
                label="New password"
                name="after"
                type="password"
                hint="At least 12 characters. Your other sessions are signed out."
                problem={problems['after']}
                attributes={{ autocomplete: 'new-password', required: true, minlength: 12, maxlength: 256 }}
              />
              <div>
                <button class="button small" type="submit">
                  Change password
                </button>
              </div>
            </Form>
          </section>
        )}
      </div>
      <section class="card stack">
        <div class="heading">
          <h2>Sessions</h2>
          <Form request={request} action="/admin/account/sessions/end-all">
            <button class="button quiet small" type="submit">
              Sign out everywhere
            </button>
          </Form>
        </div>
        <Table label="Sessions" head={['Browser', 'Address', 'Signed in', 'Last seen', '']}>
          {sessions.map((session) => (
            <tr key={session.id}>
              <td>
                {session.browser} {session.id === me.session.id && <Badge kind="good">this one</Badge>}
              </td>
              <td>{session.address}</td>
              <td>
                <When at={session.createdAt} />
              </td>
              <td>
                <When at={session.seenAt} />
              </td>
              <td class="end">
                {session.id !== me.session.id && (
                  <Form request={request} action="/admin/account/sessions/end">
                    <input type="hidden" name="id" value={session.id} />
                    <button class="link-button" type="submit">
                      Sign out
                    </button>
                  </Form>
                )}
              </td>
            </tr>
          ))}
        </Table>
        <p class="muted small">
          A session ends after 30 minutes of inactivity, and after 12 hours at the latest
          {oidc && `, or 8 with ${oidc.name}`}.
        </p>
      </section>
    </>
  )
  const status = Object.keys(problems).length > 0 ? { status: 422 } : {}
  return await showPage(request, { title: 'Your account', here: 'account', body, ...status })
}

function problemOf(checked: Exclude<OwnPassword, 'right'>): string {
  return checked === 'wrong' ? 'that is not your password' : tooMany(checked.retryAfterSeconds).problem
}

async function setPassword(request: AdminRequest): Promise<Response> {
  const { form, service, me, device } = request
  const after = form.text('after')
  const weakness = passwordProblem(after, me.operator.email)
  if (weakness) return await showAccount(request, { after: weakness })
  const checked = await changeOperatorPassword(
    service,
    me,
    { before: form.text('before').slice(0, 1024), after },
    device.address,
  )
  return checked === 'right'
    ? redirect('/admin/account?done=password-changed')
    : await showAccount(request, { before: problemOf(checked) })
}

async function renewCodes(request: AdminRequest): Promise<Response> {
  const { service, me, form, device } = request
  const result = await changeRecoveryCodes(service, me.operator, form.text('own').slice(0, 1024), device.address)
  return typeof result === 'object' && 'codes' in result
    ? await showRecoveryCodes(request, result.codes)
    : await showAccount(request, { own: problemOf(result) })
}

async function restartFactor(request: AdminRequest): Promise<Response> {
  const result = await restartSecondFactor(
    request.service,
    request.me,
    request.form.text('own').slice(0, 1024),
    request.device,
  )
  return typeof result === 'object' && 'token' in result
    ? withCookie(request, redirect('/admin/second-factor'), 'session', result.token)
    : await showAccount(request, { own: problemOf(result) })
}

async function endOne(request: AdminRequest): Promise<Response> {
  const id = request.form.text('id')
  const ended = isUuid(id) ? await endSessions(request.service, request.actor, request.me.operator.id, { only: id }) : 0
  return ended > 0 ? redirect('/admin/account?done=session-ended') : await showNotFound(request, 'session')
}

async function endAll(request: AdminRequest): Promise<Response> {
  await endSessions(request.service, request.actor, request.me.operator.id)
  return withCookie(request, redirect('/admin/sign-in?done=signed-out'), 'session', '')
}
