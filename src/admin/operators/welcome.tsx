/** The page of a one-time link, for a new operator or one who lost the password or phone. */
import {
  acceptInvite,
  findInvite,
  mayUsePassword,
  operatorProblems,
  type OpenInvite,
} from '../../actions/operators/manage-operators.ts'
import { roleNames, roleTexts } from '../../actions/operators/rights.ts'
import { Field, Form, Notice } from '../kit/parts.tsx'
import { OidcButton } from './oidc.tsx'
import { redirect, showPage, showProblem, withCookie } from '../kit/respond.tsx'
import type { AdminRoute, PublicRequest } from '../kit/route.ts'

export const welcomeRoutes: AdminRoute[] = [
  { method: 'GET', path: '/admin/welcome', access: 'public', handle: showWelcome },
  { method: 'POST', path: '/admin/welcome', access: 'public', handle: accept },
]

const gone = 'This link was already used, or is older than a day. Ask an admin for a new one.'

async function showWelcome(request: PublicRequest): Promise<Response> {
  const invite = await findInvite(request.service, request.query('token'))
  return invite ? await welcomePage(request, invite, request.query('token'), {}) : await showProblem(request, 404, gone)
}

async function welcomePage(
  request: PublicRequest,
  { role, operator, email }: OpenInvite,
  token: string,
  problems: Readonly<Record<string, string>>,
): Promise<Response> {
  const { form } = request
  const hasProblems = Object.keys(problems).length > 0
  // The first operator has no mailbox that a link went to, and needs a way in without the provider.
  const { config } = request.service
  const hasOidc = config.oidc !== undefined && (operator !== undefined || email !== null)
  const hasPassword = mayUsePassword(config, { role })
  const title = operator ? 'Choose a new password' : `Welcome to ${request.service.config.about.name}`
  const body = (
    <section class="card stack narrow">
      <div>
        <h1>{title}</h1>
        <p class="muted">
          {operator
            ? `For ${operator.email}. You set up a second factor next. Open sessions end.`
            : `${email === null ? '' : `For ${email}. `}You will be ${roleNames[role]} here: ${roleTexts[role]}. You set up a second factor next.`}
        </p>
      </div>
      {hasProblems && <Notice kind="bad">Check the fields below.</Notice>}
      {hasOidc && <OidcButton request={request} action="/admin/welcome/oidc" token={token} />}
      {hasOidc && hasPassword && <p class="muted small">or with a password</p>}
      {hasPassword && (
        <Form request={request} action="/admin/welcome" class="stack">
          <input type="hidden" name="token" value={token} />
          {operator ? (
            <input type="hidden" name="email" autocomplete="username" value={operator.email} />
          ) : (
            <>
              <Field
                label="Your name"
                name="name"
                value={form.text('name')}
                problem={problems['name']}
                attributes={{ autocomplete: 'name', required: true, maxlength: 100 }}
              />
              {email === null ? (
                <Field
                  label="Email"
                  name="email"
                  type="email"
                  value={form.text('email')}
                  problem={problems['email']}
                  attributes={{ autocomplete: 'username', required: true }}
                />
              ) : (
                <input type="hidden" name="email" autocomplete="username" value={email} />
              )}
            </>
          )}
          <Field
            label="Password"
            name="password"
            type="password"
            hint="At least 12 characters. A few words are easy to remember and hard to guess."
            problem={problems['password']}
            attributes={{ autocomplete: 'new-password', required: true, minlength: 12, maxlength: 256 }}
          />
          <button class="button" type="submit">
            Continue
          </button>
        </Form>
      )}
    </section>
  )
  return await showPage(request, { title, body, ...(hasProblems && { status: 422 }) })
}

async function accept(request: PublicRequest): Promise<Response> {
  const { service, form } = request
  const token = form.text('token')
  const invite = await findInvite(service, token)
  if (!invite) return await showProblem(request, 404, gone)
  const { operator } = invite
  const password = form.text('password')
  const input = operator
    ? { email: operator.email, name: operator.name, password }
    : { email: invite.email ?? form.text('email'), name: form.text('name'), password }
  const problems = operatorProblems(input)
  if (Object.keys(problems).length > 0) return await welcomePage(request, invite, token, problems)
  const accepted = await acceptInvite(service, token, input, request.device)
  if ('token' in accepted)
    return withCookie(
      request,
      withCookie(request, redirect('/admin/second-factor'), 'session', accepted.token),
      'form',
      '',
    )
  if (accepted.problem === 'oidc-only')
    return await showProblem(request, 403, 'Passwords are for admins. Open the link again, and use the button.')
  if (accepted.problem === 'used') return await showProblem(request, 404, gone)
  const taken = 'an operator with this email already exists'
  if (invite.email !== null) return await showProblem(request, 409, `${invite.email}: ${taken}.`)
  return await welcomePage(request, invite, token, { email: taken })
}
