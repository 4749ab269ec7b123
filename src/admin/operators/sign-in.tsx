/** Signing in and out. */
import { signOutOperator } from '../../actions/operators/manage-sessions.ts'
import { signInWithCode, signInWithPassword, type SignInResult } from '../../actions/operators/sign-in-operator.ts'
import { safeNext } from '../kit/guard.ts'
import { Field, Form, Notice } from '../kit/parts.tsx'
import { endUnfinished } from './end-unfinished.tsx'
import { OidcButton } from './oidc.tsx'
import { redirect, showPage, tooMany, withCookie } from '../kit/respond.tsx'
import { get, post, type AdminRoute, type AdminRequest, type PublicRequest } from '../kit/route.ts'

export const signInRoutes: AdminRoute[] = [
  { method: 'GET', path: '/admin/sign-in', access: 'public', handle: showSignIn },
  { method: 'POST', path: '/admin/sign-in', access: 'public', handle: signIn },
  get('/admin/sign-in/code', (request) => showCode(request), 'code'),
  post('/admin/sign-in/code', checkCode, 'code'),
  post('/admin/sign-out', leaveSession, 'view'),
  post('/admin/sign-in/cancel', leaveSession, 'code'),
]

async function showSignIn(request: PublicRequest): Promise<Response> {
  if (request.me?.session.stage === 'full') return redirect('/admin')
  return await signInPage(request, {})
}

type Shown = { problem?: string; email?: string; status?: number; headers?: Record<string, string> }

async function signInPage(request: PublicRequest, { problem, email = '', status, headers }: Shown): Promise<Response> {
  const next = safeNext(request.query('next') || request.form.text('next'))
  const { about, oidc } = request.service.config
  const form = (
    <>
      <Form request={request} action="/admin/sign-in" class="stack">
        <input type="hidden" name="next" value={next} />
        <Field
          label="Email"
          name="email"
          type="email"
          value={email}
          attributes={{ autocomplete: 'username', required: true, autofocus: email === '' && !oidc }}
        />
        <Field
          label="Password"
          name="password"
          type="password"
          attributes={{ autocomplete: 'current-password', required: true, autofocus: Boolean(email) }}
        />
        <button class="button" type="submit">
          Continue
        </button>
      </Form>
      <p class="muted small">
        No account yet? Ask an admin for an invitation. Create the first admin with{' '}
        <code>npx billfold admin create</code>.
      </p>
    </>
  )
  const body = (
    <section class="card stack narrow">
      <div>
        <h1>Sign in</h1>
        <p class="muted">{`The admin area of ${about.name}.`}</p>
      </div>
      {problem && <Notice kind="bad">{problem}</Notice>}
      <OidcButton request={request} action="/admin/sign-in/oidc" />
      {oidc?.isOnly ? (
        <details open={email !== ''}>
          <summary>Emergency sign-in for admins…</summary>
          <div class="stack">
            <p class="muted small">With password and second factor. Every admin gets a mail about it.</p>
            {form}
          </div>
        </details>
      ) : (
        <>
          {oidc && <p class="muted small">or with your password</p>}
          {form}
        </>
      )}
    </section>
  )
  return await showPage(request, { title: 'Sign in', body, ...(status && { status }), ...(headers && { headers }) })
}

async function signIn(request: PublicRequest): Promise<Response> {
  const email = request.form.text('email')
  const password = request.form.text('password').slice(0, 1024)
  const result = await signInWithPassword(request.service, { email, password }, request.device)
  if (result.kind !== 'session') {
    const wrong = 'The email and password do not match.'
    return await signInPage(request, { email, ...refusal(result, wrong) })
  }
  const next = safeNext(request.form.text('next'))
  const to = result.stage === 'enrol' ? '/admin/second-factor' : `/admin/sign-in/code?next=${encodeURIComponent(next)}`
  // Delete the `form` cookie: forms are bound to the session from now on, and the cookie may have been planted.
  return withCookie(request, withCookie(request, redirect(to), 'session', result.token), 'form', '')
}

function refusal(result: Exclude<SignInResult, { kind: 'session' }>, wrong: string): Shown {
  if (result.kind === 'wrong') return { problem: wrong, status: 401 }
  if (result.kind === 'oidc-only')
    return {
      problem: 'Passwords are for admins with a second factor, in an emergency. Use the button above.',
      status: 403,
    }
  return { ...tooMany(result.retryAfterSeconds), status: 429 }
}

async function showCode(request: AdminRequest, { problem, status, headers }: Shown = {}): Promise<Response> {
  const next = safeNext(request.query('next') || request.form.text('next'))
  const body = (
    <section class="card stack narrow">
      <div>
        <h1>Enter your code</h1>
        <p class="muted">The six digits your authenticator app shows now, or one of your recovery codes.</p>
      </div>
      {problem && <Notice kind="bad">{problem}</Notice>}
      <Form request={request} action="/admin/sign-in/code" class="stack">
        <input type="hidden" name="next" value={next} />
        <Field
          label="Code"
          name="code"
          attributes={{
            autocomplete: 'one-time-code',
            required: true,
            autofocus: true,
            class: 'code-input',
            maxlength: 32,
          }}
        />
        <button class="button" type="submit">
          Sign in
        </button>
      </Form>
      <Form request={request} action="/admin/sign-in/cancel">
        <button class="link-button" type="submit">
          Sign in as someone else
        </button>
      </Form>
    </section>
  )
  return await showPage(request, {
    title: 'Enter your code',
    body,
    ...(status && { status }),
    ...(headers && { headers }),
  })
}

async function checkCode(request: AdminRequest): Promise<Response> {
  const result = await signInWithCode(
    request.service,
    request.me,
    request.form.text('code').slice(0, 100),
    request.device,
  )
  if (result.kind === 'session')
    return withCookie(request, redirect(safeNext(request.form.text('next'))), 'session', result.token)
  if (result.kind === 'oidc-only') return await endUnfinished(request)
  const wrong = 'That code is wrong or was already used. Wait for the next one.'
  return await showCode(request, refusal(result, wrong))
}

async function leaveSession(request: AdminRequest): Promise<Response> {
  await signOutOperator(request.service, request.me, request.device.address)
  return withCookie(request, redirect('/admin/sign-in?done=signed-out'), 'session', '')
}
