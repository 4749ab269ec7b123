import { Hono, type Context } from 'hono'
import { ProcessorUnavailable } from '../src/cards/processor.ts'
import { NoticePage, renderPage, sandboxStyle, type SandboxPageDeps } from './sandbox-page.tsx'
import { panelRoutes } from './panel-routes.tsx'
import { contentSecurityPolicy, payerRoutes } from './payer-routes.tsx'

const isForm = /^(application\/(x-www-form-urlencoded|json)|multipart\/form-data)\s*(;|$)/i

/** All routes of the sandbox. Mount them at `deps.basePath`. */
export function sandboxRoutes(deps: SandboxPageDeps): Hono {
  const app = new Hono()
  app.use(async (c, next) => {
    await next()
    c.header('cache-control', 'no-store')
    // The URLs contain client secrets. `no-referrer` would make browsers send `Origin: null` with our own forms.
    c.header('referrer-policy', 'same-origin')
    c.header('x-content-type-options', 'nosniff')
    // A payer arrives from the top-up window and returns to it: with another value the window would lose its opener on the way.
    c.header('cross-origin-opener-policy', c.req.path.includes('/panel') ? 'same-origin' : 'unsafe-none')
    if (!c.res.headers.has('content-security-policy')) {
      c.header('content-security-policy', contentSecurityPolicy('nobody'))
    }
  })
  app.onError((error, c) => {
    if (!(error instanceof ProcessorUnavailable)) throw error
    return unavailable(c, deps)
  })
  app.use(async (c, next) => {
    if (c.req.method === 'POST' && !isForm.test(c.req.header('content-type') ?? ''))
      return c.text('Send a form, or JSON where a script pays.', 415)
    return next()
  })
  app.get('/style.css', (c) => c.body(sandboxStyle, 200, { 'content-type': 'text/css; charset=utf-8' }))
  app.route('/', payerRoutes(deps))
  app.route('/panel', panelRoutes(deps))
  return app
}

function unavailable(c: Context, deps: SandboxPageDeps) {
  const text = 'The sandbox does not answer right now. Your money is safe; try again in a moment.'
  if (c.req.path.endsWith('/confirm')) return c.json({ error: text }, 503)
  const children = <NoticePage title="Not available" text={text} />
  return c.html(renderPage({ deps, title: 'Not available', children }), 503)
}
