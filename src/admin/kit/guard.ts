/** What stands before every page and action: session, stage, origin, token, role, in this order. */
import { randomBytes } from 'node:crypto'
import { actorOf, findSignedIn, formTokenOf, isFormToken, type SignedIn } from '../../actions/operators/keep-session.ts'
import type { Service } from '../../actions/service.ts'
import type { Config } from '../../config.ts'
import type { RequestContext } from '../../web/request-context.ts'
import { readCookie, setCookie } from './cookies.ts'
import { readForm, tidy, toForm } from './form.ts'
import { redirect, showProblem } from './respond.tsx'
import type { AdminRoute, Call, PublicCall } from './route.ts'

export async function answerTo(
  service: Service,
  route: AdminRoute,
  request: Request,
  params: Record<string, string>,
  context: RequestContext,
): Promise<Response> {
  const url = new URL(request.url)
  const { config } = service
  const sessionToken = readCookie(config, request, 'session') ?? ''
  const me = await findSignedIn(service, sessionToken, { isByHand: url.searchParams.get('auto') !== '1' })
  const formCookie = readCookie(config, request, 'form') ?? ''
  const isNewcomer = me === undefined && !/^[\w-]{43}$/.test(formCookie)
  const bound = me ? sessionToken : isNewcomer ? randomBytes(32).toString('base64url') : formCookie
  const call: PublicCall = {
    service,
    request,
    path: url.pathname,
    param: (name) => tidy(params[name] ?? ''),
    query: (name) => tidy(url.searchParams.get(name) ?? '').slice(0, 400),
    form: toForm(new URLSearchParams()),
    origin: { address: context.address, browser: browserOf(request) },
    formToken: formTokenOf(bound),
    me,
  }
  const response = await decide(route, call, isNewcomer ? '' : bound)
  if (isNewcomer && request.method === 'GET') response.headers.append('set-cookie', setCookie(config, 'form', bound))
  return response
}

async function decide(route: AdminRoute, call: PublicCall, bound: string): Promise<Response> {
  const { me, request } = call
  if (route.access !== 'public' && !isAtStage(route.access, me)) return await sendElsewhere(call)
  if (route.method === 'POST') {
    if (!isOwnOrigin(call.service.config, request))
      return showProblem(call, 403, 'This form was sent from another site.')
    const form = await readForm(request)
    if (!form) return showProblem(call, 415, 'This was not a form of ours.')
    if (bound === '' || !isFormToken(bound, form.text('_token')))
      return showProblem(call, 403, 'This form is too old, or not yours. Open the page again and send it from there.')
    call = { ...call, form }
  }
  if (route.access === 'public') return await route.handle(call)
  const own: Call = { ...call, me: me!, actor: actorOf(me!.operator, call.origin.address) }
  if (route.access === 'admin' && me!.operator.role !== 'admin')
    return showProblem(own, 403, 'Only an admin may do this. You can look at everything.')
  return await route.handle(own)
}

function isAtStage(access: Exclude<AdminRoute['access'], 'public'>, me: SignedIn | undefined): boolean {
  if (!me) return false
  return me.session.stage === (access === 'code' || access === 'enrol' ? access : 'full')
}

/** To where the session is at; what was asked for comes back after signing in, if it was a page. */
async function sendElsewhere(call: PublicCall): Promise<Response> {
  const { stage } = call.me?.session ?? {}
  if (stage === 'code') return redirect('/admin/sign-in/code')
  if (stage === 'enrol') return redirect('/admin/second-factor')
  if (stage === 'full') return redirect('/admin')
  if (call.request.method !== 'GET') return await showProblem(call, 401, 'You are not signed in any more.')
  const { pathname, search } = new URL(call.request.url)
  return redirect(
    pathname === '/admin' ? '/admin/sign-in' : `/admin/sign-in?next=${encodeURIComponent(pathname + search)}`,
  )
}

/**
 * Browsers say where a form comes from, and pages cannot change it. In development the same service has several
 * names (localhost, 127.0.0.1, a port chosen by the system), so there the request's own host counts too.
 */
function isOwnOrigin(config: Config, request: Request): boolean {
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  if (origin === null || !URL.canParse(origin) || (site !== null && site !== 'same-origin')) return false
  if (origin === config.publicUrl) return true
  return !config.isProduction && new URL(origin).host === request.headers.get('host')
}

/** A page of ours to go to after signing in; anything else would make the sign-in page a way to elsewhere. */
export function safeNext(text: string): string {
  return /^\/admin(\/[\w./-]*)?(\?[\w.~%=&+:-]*)?$/.test(text) && !/\.\.|\/sign-/.test(text) ? text : '/admin'
}

function browserOf(request: Request): string {
  const agent = request.headers.get('user-agent') ?? ''
  const name = /(Edg|OPR|Firefox|Chrome|Safari)\//.exec(agent)?.[1] ?? 'Browser'
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1]
  const shown = { Edg: 'Edge', OPR: 'Opera' }[name] ?? name
  return system ? `${shown} on ${system === 'Mac OS X' ? 'macOS' : system}` : shown
}
