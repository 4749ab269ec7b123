/** The shell of every page: rendered on the server, escaped by default, with a content security policy that allows only our own scripts. */
import { randomBytes } from 'node:crypto'
import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { chooseEncoding, compressNow } from './compress.ts'
import { plainHeaders } from './headers.ts'
import { renderIsolated, showControls } from './isolate.ts'

export type Page = {
  readonly title: string
  readonly lang?: string
  readonly dir?: 'ltr' | 'rtl'
  readonly theme?: 'light' | 'dark' | undefined
  /** Addresses from `styleUrl` and `scriptUrls`. Scripts are modules, which run after the page has been parsed. */
  readonly styles?: readonly string[]
  readonly scripts?: readonly string[]
  /** An inline stylesheet for values that differ between pages. It is not escaped, so it must come from our own code. */
  readonly inlineStyle?: string
  /** Data for the page's script, which parses it from `<script type="application/json" id="data">`. */
  readonly data?: unknown
  readonly body: ComponentChildren
  /** The page's script renders the same body again in the browser. */
  readonly isHydrated?: boolean
}

export type PagePolicy = {
  readonly nonce: string
  /** Origins that may frame the page. Default: none. */
  readonly frameAncestors?: readonly string[]
  /** Sources besides our own files: a card processor's script, frame and API. */
  readonly scriptSources?: readonly string[]
  readonly frameSources?: readonly string[]
  readonly connectSources?: readonly string[]
  /** Default: `same-origin`, which separates the page from a window of another site that opened it. */
  readonly openerPolicy?: 'same-origin-allow-popups' | 'unsafe-none'
  /** Where forms may be submitted to. Default: nowhere. */
  readonly formAction?: "'self'"
}

export function newNonce(): string {
  return randomBytes(18).toString('base64url')
}

export function renderPage(page: Page, nonce: string): string {
  const shell = <Shell page={page} nonce={nonce} />
  return `<!doctype html>${page.isHydrated ? renderToString(shell) : renderIsolated(shell, page.dir)}`
}

function Shell({ page, nonce }: { page: Page; nonce: string }) {
  return (
    <html lang={page.lang ?? 'en'} dir={page.dir ?? 'ltr'} data-theme={page.theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content={page.theme ?? 'light dark'} />
        <title>{showControls(page.title)}</title>
        <link rel="icon" href="data:," />
        {page.styles?.map((href) => (
          <link rel="stylesheet" href={href} />
        ))}
        {page.inlineStyle && <style nonce={nonce} dangerouslySetInnerHTML={{ __html: page.inlineStyle }} />}
        {page.scripts?.map((src) => (
          <script type="module" nonce={nonce} src={src} />
        ))}
      </head>
      <body>
        {page.body}
        {page.data !== undefined && (
          <script type="application/json" id="data" dangerouslySetInnerHTML={{ __html: scriptJson(page.data) }} />
        )}
      </body>
    </html>
  )
}

/** JSON that cannot end its script element: `</script>` and `<!--` need a `<`. */
export function scriptJson(data: unknown): string {
  return JSON.stringify(data).replace(/</g, '\\u003c')
}

export function pageResponse(html: string, policy: PagePolicy, status = 200): Response {
  return new Response(html, { status, headers: pageHeaders(policy) })
}

/** Only for pages without secrets; `compress` explains why. */
export function compressedPageResponse(html: string, policy: PagePolicy, acceptEncoding: string): Response {
  const encoding = chooseEncoding(acceptEncoding)
  const headers = { ...pageHeaders(policy), vary: 'accept-encoding' }
  if (encoding === 'identity') return new Response(html, { headers })
  return new Response(compressNow(html, encoding), { headers: { ...headers, 'content-encoding': encoding } })
}

/**
 * A page that any site may be allowed to frame, because there is nothing in it to click: the browser runs no script in it, submits no
 * form, opens no window, and gives it no cookie and no storage. It must hold no data and no links.
 */
export function inertPageResponse(html: string, frameAncestors: readonly string[], status: number): Response {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `frame-ancestors ${frameAncestors.join(' ')}`,
    "form-action 'none'",
    "base-uri 'none'",
    'sandbox',
  ]
  const headers = { ...pageHeaders({ nonce: '', frameAncestors }), 'content-security-policy': policy.join('; ') }
  return new Response(html, { status, headers })
}

/** A page that no origin may frame also sends X-Frame-Options, for old browsers; a page that some may frame must omit it. */
export function pageHeaders(policy: PagePolicy): Record<string, string> {
  const { 'x-frame-options': deny, ...rest } = plainHeaders
  return {
    ...rest,
    ...(policy.frameAncestors === undefined && { 'x-frame-options': deny! }),
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentPolicy(policy),
    'cross-origin-opener-policy': policy.openerPolicy ?? 'same-origin',
    'permissions-policy':
      'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), usb=()',
  }
}

function contentPolicy(policy: PagePolicy): string {
  const { nonce, frameAncestors = [], scriptSources = [], frameSources = [], connectSources = [] } = policy
  return [
    "default-src 'none'",
    `script-src ${[`'nonce-${nonce}'`, ...scriptSources].join(' ')}`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    `connect-src ${["'self'", ...connectSources].join(' ')}`,
    `frame-src ${frameSources.join(' ') || "'none'"}`,
    `frame-ancestors ${frameAncestors.join(' ') || "'none'"}`,
    `form-action ${policy.formAction ?? "'none'"}`,
    "base-uri 'none'",
  ].join('; ')
}
