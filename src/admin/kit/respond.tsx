/** Responses of the admin area: pages, problems, redirects. */
import type { ComponentChildren } from 'preact'
import { scriptUrls, styleUrl } from '../../web/assets.ts'
import { plainHeaders } from '../../web/headers.ts'
import { newNonce, pageHeaders, renderPage } from '../../web/page.tsx'
import { setCookie, type CookieName } from './cookies.ts'
import type { PublicRequest } from './route.ts'
import { Shell, type NavName } from './shell.tsx'

export type PageParts = {
  readonly title: string
  readonly here?: NavName
  readonly body: ComponentChildren
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

export async function showPage(request: PublicRequest, { title, here, body, status = 200, headers }: PageParts) {
  const nonce = newNonce()
  const waiting = request.me?.session.stage === 'full' ? await request.service.waitingCounts.read() : undefined
  const html = renderPage(
    {
      title: `${title} · ${request.service.config.about.name}`,
      styles: [await styleUrl('style.css'), await styleUrl('admin.css')],
      scripts: await scriptUrls('admin.js'),
      body: (
        <Shell request={request} here={here} waiting={waiting}>
          {body}
        </Shell>
      ),
    },
    nonce,
  )
  return new Response(html, {
    status,
    headers: {
      ...pageHeaders({ nonce, formAction: "'self'" }),
      // With no-referrer, browsers send our own forms with `Origin: null`, which the origin check refuses.
      'referrer-policy': 'same-origin',
      ...headers,
    },
  })
}

export async function showProblem(
  request: PublicRequest,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
  wayOn = { href: '/admin', text: 'Go to the overview' },
): Promise<Response> {
  const title = status === 404 ? 'Not found' : status >= 500 ? 'Not available' : 'Not done'
  return await showPage(request, {
    title,
    status,
    headers,
    body: (
      <section class="card stack narrow">
        <h1>{title}</h1>
        <p>{text}</p>
        <p>
          <a class="button quiet" href={wayOn.href}>
            {wayOn.text}
          </a>
        </p>
      </section>
    ),
  })
}

/** For a form whose id was used with other content: which of the two the operator wants is unknown, so nothing is done. */
export const otherContent =
  'This form was already sent with other content. Nothing was done now: check what the first one did, and start again for a new order.'

export async function showNotFound(request: PublicRequest, what = 'page'): Promise<Response> {
  return await showProblem(request, 404, `This ${what} does not exist.`)
}

/** 303 after a change, so that a reload does not send the form again. */
export function redirect(path: string): Response {
  return new Response(null, { status: 303, headers: { ...plainHeaders, location: path } })
}

export function withCookie(request: PublicRequest, response: Response, name: CookieName, value: string): Response {
  response.headers.append('set-cookie', setCookie(request.service.config, name, value))
  return response
}

export async function showTooMany(request: PublicRequest, seconds: number): Promise<Response> {
  const { problem, headers } = tooMany(seconds)
  return await showProblem(request, 429, problem, headers)
}

export function tooMany(seconds: number): { problem: string; headers: Record<string, string> } {
  const minutes = Math.ceil(seconds / 60)
  const problem = `Too many attempts. Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again.`
  return { problem, headers: { 'retry-after': String(seconds) } }
}
