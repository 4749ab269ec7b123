/**
 * The checks before every page and action, in this order: session, stage, origin, right, form token. All but the last are made before
 * the body is read.
 */
import { randomBytes } from 'node:crypto'
import { browserName } from '../../actions/browser-name.ts'
import {
  actorOf,
  findSignedInOperator,
  formTokenOf,
  isFormToken,
  type SignedInOperator,
} from '../../actions/operators/manage-sessions.ts'
import { hasRight, lacking, type Right } from '../../actions/operators/rights.ts'
import type { Service } from '../../actions/service.ts'
import { isFromOwnPage } from '../../web/own-origin.ts'
import type { RequestContext } from '../../web/request-context.ts'
import { readCookie, setCookie } from './cookies.ts'
import { beginUpload, readForm, tidy, toForm, type Form, type FormProblem } from './form.ts'
import { redirect, showProblem } from './respond.tsx'
import type { AdminRoute, PublicRequest } from './route.ts'

export async function answerTo(
  service: Service,
  route: AdminRoute,
  raw: Request,
  params: Record<string, string>,
  context: RequestContext,
): Promise<Response> {
  const url = new URL(raw.url)
  const { config } = service
  const sessionToken = readCookie(config, raw, 'session') ?? ''
  const me = await findSignedInOperator(service, sessionToken, { isByHand: url.searchParams.get('auto') !== '1' })
  const formCookie = readCookie(config, raw, 'form') ?? ''
  const isNewcomer = me === undefined && !/^[\w-]{43}$/.test(formCookie)
  const bound = me ? sessionToken : isNewcomer ? randomBytes(32).toString('base64url') : formCookie
  const request: PublicRequest = {
    service,
    raw,
    path: url.pathname,
    param: (name) => tidy(params[name] ?? ''),
    query: (name) => tidy(url.searchParams.get(name) ?? '').slice(0, 400),
    form: toForm(new URLSearchParams()),
    device: { address: context.address, browser: browserOf(raw) },
    formToken: formTokenOf(bound),
    me,
  }
  const response = await decide(route, request, isNewcomer ? '' : bound)
  if (isNewcomer && raw.method === 'GET') response.headers.append('set-cookie', setCookie(config, 'form', bound))
  return response
}

async function decide(route: AdminRoute, request: PublicRequest, bound: string): Promise<Response> {
  const { me, raw } = request
  if (route.access !== 'public' && !isAtStage(route.access, me)) return await sendElsewhere(request)
  if (route.method === 'POST' && !isFromOwnPage(request.service.config, raw, { mustNameOrigin: true }))
    return showProblem(request, 403, 'This form was sent from another site.')
  const right = isRight(route.access) ? route.access : undefined
  if (right && !hasRight(me!.operator.role, right)) return showProblem(request, 403, lacking(me!.operator.role, right))
  if (route.method !== 'POST') return await handle(route, request)
  const upload = route.maxFormBytes === undefined ? undefined : await beginUpload(raw)
  if (!upload) return await handleForm(route, request, bound, await readForm(raw))
  if (upload === 'too-late') return await refuseForm(request, upload)
  const problem = !isOwnToken(bound, upload.token) ? 'stranger' : uploads >= maxUploads ? 'busy' : undefined
  if (problem) {
    upload.cancel()
    return await refuseForm(request, problem)
  }
  uploads++
  try {
    return await handleForm(route, request, bound, await upload.readRest(route.maxFormBytes!))
  } finally {
    uploads--
  }
}

/** Each upload holds its bytes in memory until it is answered. */
const maxUploads = 2
let uploads = 0

function isRight(access: AdminRoute['access']): access is Right {
  return access !== 'public' && access !== 'code' && access !== 'enrol'
}

function isOwnToken(bound: string, token: string): boolean {
  return bound !== '' && isFormToken(bound, token)
}

async function handleForm(
  route: AdminRoute,
  request: PublicRequest,
  bound: string,
  form: Form | FormProblem | undefined,
): Promise<Response> {
  if (form === undefined || typeof form === 'string') return await refuseForm(request, form ?? 'no-form')
  if (!isOwnToken(bound, form.text('_token'))) return await refuseForm(request, 'stranger')
  try {
    return await handle(route, { ...request, form })
  } finally {
    // The next page shows what this form has resolved.
    request.service.waitingCounts.expire()
  }
}

async function handle(route: AdminRoute, request: PublicRequest): Promise<Response> {
  if (route.access === 'public') return await route.handle(request)
  const me = request.me!
  return await route.handle({ ...request, me, actor: actorOf(me.operator, request.device.address) })
}

const formProblems = {
  'too-late': [408, 'The form arrived too slowly. Send it again.'],
  'too-long': [413, 'This form is too large.'],
  twice: [400, 'A field of this form appears twice.'],
  'no-form': [415, 'This request is not a form.'],
  stranger: [403, 'This form is too old, or belongs to another session. Open the page again and send it from there.'],
  busy: [429, 'Other files are being read. Send this one again in a minute.'],
} as const

async function refuseForm(request: PublicRequest, problem: keyof typeof formProblems): Promise<Response> {
  const [status, text] = formProblems[problem]
  return await showProblem(request, status, text)
}

function isAtStage(access: Exclude<AdminRoute['access'], 'public'>, me: SignedInOperator | undefined): boolean {
  if (!me) return false
  return me.session.stage === (access === 'code' || access === 'enrol' ? access : 'full')
}

/** Redirects to the next sign-in step. After it, a GET continues to the requested page. */
async function sendElsewhere(request: PublicRequest): Promise<Response> {
  const { stage } = request.me?.session ?? {}
  if (stage === 'code') return redirect('/admin/sign-in/code')
  if (stage === 'enrol') return redirect('/admin/second-factor')
  if (stage === 'full') return redirect('/admin')
  if (request.raw.method !== 'GET') return await showProblem(request, 401, 'You are no longer signed in.')
  const { pathname, search } = new URL(request.raw.url)
  return redirect(
    pathname === '/admin' ? '/admin/sign-in' : `/admin/sign-in?next=${encodeURIComponent(pathname + search)}`,
  )
}

/** The path to open after sign-in. Only paths below /admin, so that a sign-in link cannot redirect to another site. */
export function safeNext(text: string): string {
  return /^\/admin(\/[\w./-]*)?(\?[\w.~%=&+:-]*)?$/.test(text) && !/\.\.|\/sign-/.test(text) ? text : '/admin'
}

function browserOf(request: Request): string {
  const [browser, system] = (browserName(request.headers.get('user-agent')) ?? '/').split('/')
  return `${browser || 'Browser'}${system && ` on ${system}`}`
}
