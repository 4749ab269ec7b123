/** Setting up the second factor: a QR code, a first code, and the recovery codes. */
import { signOutOperator } from '../../actions/operators/manage-sessions.ts'
import { getPendingSecret, totpUri } from '../../actions/operators/second-factor.ts'
import { confirmSecondFactor, maySkipSecondFactor, skipSecondFactor } from '../../actions/operators/sign-in-operator.ts'
import { Copy, Field, Form, Notice } from '../kit/parts.tsx'
import { QrPicture } from '../../web/qr-picture.tsx'
import { endUnfinished } from './end-unfinished.tsx'
import { showRecoveryCodes } from './recovery-codes.tsx'
import { redirect, showPage, showProblem, withCookie } from '../kit/respond.tsx'
import { get, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const secondFactorRoutes: AdminRoute[] = [
  get('/admin/second-factor', (request) => showSetUp(request), 'enrol'),
  post('/admin/second-factor', confirmCode, 'enrol'),
  post('/admin/second-factor/skip', skip, 'enrol'),
  post('/admin/second-factor/cancel', cancel, 'enrol'),
]

async function showSetUp(request: AdminRequest, problem?: string): Promise<Response> {
  const { service, me } = request
  const secret = await getPendingSecret(service, me.operator)
  const body = (
    <section class="card stack narrow">
      <div>
        <h1>Protect your account</h1>
        <p class="muted">
          From now on, signing in needs a code from your phone after the password. Scan this QR code with an
          authenticator app.
        </p>
      </div>
      {problem && <Notice kind="bad">{problem}</Notice>}
      <QrPicture text={totpUri(service, me.operator, secret)} label="QR code for your authenticator app" />
      <details>
        <summary>Cannot scan it?</summary>
        <p class="muted small">Enter this key in the app, with the name {me.operator.email}:</p>
        <Copy label="key" text={secret.match(/.{1,4}/g)!.join(' ')} />
      </details>
      <Form request={request} action="/admin/second-factor" class="stack">
        <Field
          label="The six digits the app shows now"
          name="code"
          attributes={{
            autocomplete: 'one-time-code',
            inputmode: 'numeric',
            required: true,
            class: 'code-input',
            maxlength: 10,
          }}
        />
        <button class="button" type="submit">
          Confirm
        </button>
      </Form>
      <div class="row">
        {maySkipSecondFactor(service.config) && (
          <Form request={request} action="/admin/second-factor/skip">
            <button class="link-button" type="submit">
              Not now (development only)
            </button>
          </Form>
        )}
        <Form request={request} action="/admin/second-factor/cancel">
          <button class="link-button" type="submit">
            Sign out
          </button>
        </Form>
      </div>
    </section>
  )
  return await showPage(request, { title: 'Protect your account', body, ...(problem && { status: 422 }) })
}

const problems = {
  wrong: 'That code is wrong. Check the phone’s clock, and try the next code.',
  ended: 'The previous QR code expired after ten minutes. Scan this one instead.',
}

async function confirmCode(request: AdminRequest): Promise<Response> {
  const done = await confirmSecondFactor(
    request.service,
    request.me,
    request.form.text('code').slice(0, 100),
    request.device,
  )
  if (done === 'oidc-only') return await endUnfinished(request)
  if (typeof done === 'string') return await showSetUp(request, problems[done])
  const response = await showRecoveryCodes(request, done.recoveryCodes)
  return withCookie(request, response, 'session', done.token)
}

async function skip(request: AdminRequest): Promise<Response> {
  const token = await skipSecondFactor(request.service, request.me, request.device)
  if (!token)
    return await showProblem(
      request,
      403,
      'The second factor can be skipped only in development, and not with OIDC_ONLY.',
      {},
      { href: '/admin/second-factor', text: 'Set it up' },
    )
  return withCookie(request, redirect('/admin'), 'session', token)
}

async function cancel(request: AdminRequest): Promise<Response> {
  await signOutOperator(request.service, request.me, request.device.address)
  return withCookie(request, redirect('/admin/sign-in?done=signed-out'), 'session', '')
}
