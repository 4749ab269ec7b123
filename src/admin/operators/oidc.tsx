/** Sign-in with the company's own account: the way to the provider and back, and the account on the operator's own page. */
import { connectIdentity, disconnectIdentity } from '../../actions/operators/oidc/own-identity.ts'
import { callbackPath } from '../../actions/operators/oidc/provider.ts'
import { finishOidc, startOidc, type OidcRefusal, type OidcStarted } from '../../actions/operators/oidc/sign-in.ts'
import { hashSecret } from '../../actions/tokens.ts'
import type { OperatorIdentity } from '../../store/operator-access/operator-identities.ts'
import type { Operator } from '../../store/operators.ts'
import { readCookie } from '../kit/cookies.ts'
import { safeNext } from '../kit/guard.ts'
import { Badge, Field, Form, When } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem, showTooMany, withCookie } from '../kit/respond.tsx'
import { post, type AdminRequest, type AdminRoute, type PublicRequest } from '../kit/route.ts'

export const oidcRoutes: AdminRoute[] = [
  { method: 'POST', path: '/admin/sign-in/oidc', access: 'public', handle: begin },
  { method: 'POST', path: '/admin/welcome/oidc', access: 'public', handle: beginWithLink },
  { method: 'GET', path: callbackPath, access: 'public', handle: finish },
  post('/admin/account/oidc', connect, 'view'),
  post('/admin/account/oidc/disconnect', disconnect, 'view'),
]

/** The button of the sign-in page and of a one-time link. */
export function OidcButton({ request, action, token }: { request: PublicRequest; action: string; token?: string }) {
  const { oidc } = request.service.config
  if (!oidc) return null
  const next = safeNext(request.query('next') || request.form.text('next'))
  return (
    <Form request={request} action={action} class="stack">
      {token === undefined ? (
        <input type="hidden" name="next" value={next} />
      ) : (
        <input type="hidden" name="token" value={token} />
      )}
      <button class="button" type="submit">
        Continue with {oidc.name}
      </button>
    </Form>
  )
}

async function begin(request: PublicRequest): Promise<Response> {
  const next = safeNext(request.form.text('next'))
  return await send(request, { purpose: { purpose: 'sign-in' }, next })
}

async function beginWithLink(request: PublicRequest): Promise<Response> {
  const inviteHash = hashSecret(request.form.text('token').slice(0, 200))
  return await send(request, { purpose: { purpose: 'accept', inviteHash }, next: '/admin' })
}

async function send(
  request: PublicRequest,
  start: Omit<Parameters<typeof startOidc>[1], 'browser'>,
): Promise<Response> {
  const { service, raw, device } = request
  if (!service.oidc) return await showNotFound(request)
  const browser = readCookie(service.config, raw, 'oidc')
  return await showStarted(request, await startOidc(service, { ...start, browser }, device))
}

async function showStarted(request: PublicRequest, started: OidcStarted): Promise<Response> {
  if (started.kind === 'limited') return await showTooMany(request, started.retryAfterSeconds)
  if (started.kind === 'refused') return await showRefusal(request, started.refusal)
  return withCookie(request, await forward(request, started.url), 'oidc', started.browser)
}

/**
 * A page that goes on by itself. A redirect would not do: after a form the policy of the page allows no other site, and after an answer
 * from another site the browser withholds the cookie of the session.
 */
async function forward(request: PublicRequest, url: string): Promise<Response> {
  const body = (
    <section class="card stack narrow">
      <h1>One moment</h1>
      <p>
        <a class="button" href={url}>
          Continue
        </a>
      </p>
    </section>
  )
  return await showPage(request, { title: 'One moment', body, headers: { refresh: `0; url=${url}` } })
}

async function finish(request: PublicRequest): Promise<Response> {
  const { service, raw, device } = request
  if (!service.oidc) return await showNotFound(request)
  const browser = readCookie(service.config, raw, 'oidc')
  const query = new URL(raw.url).searchParams
  const result = await finishOidc(service, { browser, query }, device)
  if (result.kind === 'refused') return await showRefusal(request, result.refusal)
  const page =
    result.kind === 'connected'
      ? await forward(request, '/admin/account?done=identity-connected')
      : withCookie(request, await forward(request, safeNext(result.next)), 'session', result.token)
  return withCookie(request, withCookie(request, page, 'oidc', ''), 'form', '')
}

async function showRefusal(request: PublicRequest, refusal: OidcRefusal): Promise<Response> {
  const { name } = request.service.config.oidc!
  const [status, text] = refusalText(refusal, name)
  return await showProblem(request, status, text, {}, { href: '/admin/sign-in', text: 'Go to the sign-in' })
}

/** One text for each cause: the operator must know which person can help. */
function refusalText(refusal: OidcRefusal, name: string): readonly [status: number, text: string] {
  switch (refusal.reason) {
    case 'stale':
      return [
        403,
        'This sign-in was already used, took longer than ten minutes, or began in another browser. Start again.',
      ]
    case 'away':
      return [503, `The provider of ${name} does not answer. Try again in a few minutes.`]
    case 'not-proven':
      return [
        403,
        `The answer of the provider of ${name} did not pass its checks. Start again; if it stays so, the log says why.`,
      ]
    case 'provider-refused':
      return [403, `The provider of ${name} refused: ${refusal.code}.`]
    case 'unknown-identity':
      return [
        403,
        `No operator is connected with this account. Ask an admin for an invitation, or sign in with your password and connect it under “Your account”.`,
      ]
    case 'no-access':
      return [403, 'Your access to this admin area was taken away. Ask an admin.']
    case 'no-role':
      return [
        403,
        `Your account of ${name} has no role here, and your sessions are signed out. Ask the person who manages its groups.`,
      ]
    case 'absent':
      return [
        403,
        `The provider sent no “${refusal.claim}”, so your role is not known. Nothing was changed. Ask the person who manages the provider.`,
      ]
    case 'overage':
      return [
        403,
        `The provider did not send “${refusal.claim}”, because there are too many groups; use app roles in OIDC_ROLES. Nothing was changed.`,
      ]
    case 'last-admin':
      return [
        409,
        'The provider gives you a lower role, but you are the last admin. Nothing was changed. Make another operator an admin first.',
      ]
    case 'no-email':
      return [
        403,
        'The provider sent no email address. Add the scope “email” to OIDC_SCOPES, or the claim at the provider.',
      ]
    case 'email-unverified':
      return [403, 'The provider says that your email address is not verified. Verify it there, then start again.']
    case 'email-taken':
      return [
        409,
        'An operator with this email address exists. Sign in with your password, then connect the account under “Your account”.',
      ]
    case 'identity-taken':
      return [409, 'Another operator is connected with this account. One account is one operator.']
    case 'session-ended':
      return [
        403,
        'You were signed out in the meantime, so the account was not connected. Sign in, then connect it again.',
      ]
    case 'link-used':
      break
  }
  return [404, 'This link was already used, or is older than a day. Ask an admin for a new one.']
}

/** On the operator's own page. */
export function OwnIdentity({
  request,
  operator,
  identity,
}: {
  request: AdminRequest
  operator: Operator
  identity: OperatorIdentity | undefined
}) {
  const { oidc } = request.service.config
  if (!oidc) return null
  return (
    <section class="card stack">
      <h2>Sign-in with {oidc.name}</h2>
      <p>
        {identity ? (
          <>
            <Badge kind="good">Connected</Badge> since <When at={identity.createdAt} />, as{' '}
            <code>{identity.subject}</code>
          </>
        ) : (
          'Not connected. Connect it to sign in without your password.'
        )}
      </p>
      {operator.passwordHash === null ? (
        <p class="muted small">You have no password here: this account is your only way to sign in.</p>
      ) : (
        <form class="stack" method="post" action="/admin/account/oidc">
          <input type="hidden" name="_token" value={request.formToken} />
          <Field
            label="Your password"
            name="oidc-own"
            type="password"
            attributes={{ autocomplete: 'current-password', required: true }}
          />
          <div class="row">
            <button class="button small" type="submit">
              Connect {identity ? 'another account' : 'it'}
            </button>
            {identity && (
              <button class="button quiet small" type="submit" formaction="/admin/account/oidc/disconnect">
                Disconnect it
              </button>
            )}
          </div>
        </form>
      )}
    </section>
  )
}

async function connect(request: AdminRequest): Promise<Response> {
  const { service, me, device, raw } = request
  if (!service.oidc) return await showNotFound(request)
  const browser = readCookie(service.config, raw, 'oidc')
  const password = request.form.text('oidc-own').slice(0, 1024)
  const started = await connectIdentity(service, me, { browser, password }, device)
  return started === 'wrong' ? await showWrongPassword(request) : await showStarted(request, started)
}

async function disconnect(request: AdminRequest): Promise<Response> {
  const { service, me, device } = request
  if (!service.oidc) return await showNotFound(request)
  const result = await disconnectIdentity(service, me, request.form.text('oidc-own').slice(0, 1024), device)
  if (result === 'done') return redirect('/admin/account?done=identity-disconnected')
  if (result === 'none') return await showNotFound(request, 'connection')
  return result === 'wrong' ? await showWrongPassword(request) : await showTooMany(request, result.retryAfterSeconds)
}

async function showWrongPassword(request: AdminRequest): Promise<Response> {
  const wayOn = { href: '/admin/account', text: 'Go back' }
  return await showProblem(request, 422, 'That is not your password. Nothing was changed.', {}, wayOn)
}
