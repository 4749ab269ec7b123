/** Ends a sign-in with a password that OIDC_ONLY does not accept any more: the role or the setting has changed since it began. */
import { signOutOperator } from '../../actions/operators/manage-sessions.ts'
import { showProblem, withCookie } from '../kit/respond.tsx'
import type { AdminRequest } from '../kit/route.ts'

export async function endUnfinished(request: AdminRequest): Promise<Response> {
  await signOutOperator(request.service, request.me, request.device.address)
  const text = 'Passwords are for admins. Sign in with your company account.'
  const response = await showProblem(request, 403, text, {}, { href: '/admin/sign-in', text: 'Sign in' })
  return withCookie(request, response, 'session', '')
}
