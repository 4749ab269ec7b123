/** The HTTP app. It never listens, so tests call it directly. */
import { Hono } from 'hono'
import { Registry } from 'prom-client'
import { adminPages } from './admin/pages.tsx'
import { docsPages } from './api/docs.ts'
import { healthRoutes, type Readiness } from './api/health.ts'
import { openapiRoute } from './api/openapi.ts'
import { webhookRoutes } from './api/webhooks.ts'
import { refuse, refuseFor, type Answer } from './api/reply.ts'
import type { Route } from './api/route.ts'
import { sandboxPages } from './api/sandbox.ts'
import { bulkRoute } from './api/server-bulk.ts'
import { logRoutes, tilePages } from './api/proofs/log-pages.ts'
import { serverEventsRoute } from './api/events/server-events.ts'
import { serverReplayRoute } from './api/events/server-replay.ts'
import { serverProofRoute } from './api/proofs/server-proof.ts'
import { holdRoutes } from './api/holds/server-holds.ts'
import { serverRoutes } from './api/server.ts'
import { widgetRoutes } from './api/widget.ts'
import { topupRoutes } from './api/widget-topup.ts'
import type { Service } from './actions/service.ts'
import type { Config } from './config.ts'
import { clientAddress, isCallerHidden } from './platform/client-address.ts'
import { faultFields, openRateLimit } from './platform/log.ts'
import { forWidget, longRunning } from './store/connection/database.ts'
import { beginTogether } from './store/writer/turns.ts'
import { isRetryable } from './store/writer/posting.ts'
import { assetRoute } from './web/assets.ts'
import { compressAnswer } from './web/compress.ts'
import { plainHeaders } from './web/headers.ts'
import { hasGoodHost, pathOf } from './web/host.ts'
import { mayReadMetrics } from './web/metrics-access.ts'
import { sdkRoute } from './web/sdk-files.ts'
import type { RequestContext, WebApp } from './web/request-context.ts'
import { widgetPages } from './widget/pages.tsx'

export type App = {
  readonly fetch: (request: Request, addressOf?: (() => string | undefined) | string) => Promise<Response>
  readonly readiness: Readiness
  /** JSON routes by path, pages by pattern. */
  readonly routes: readonly Route[]
  readonly pages: readonly { readonly method: string; readonly path: string }[]
}

export function buildApp(service: Service): App {
  const readiness: Readiness = { isDraining: false }
  const web: WebApp = new Hono()
  const routes: Route[] = [
    ...serverRoutes(service),
    ...holdRoutes(service),
    bulkRoute(service),
    serverEventsRoute(service),
    serverReplayRoute(service),
    serverProofRoute(service),
    ...logRoutes(forWidget(service)),
    ...widgetRoutes(forWidget(service)),
    ...topupRoutes(forWidget(service)),
    ...webhookRoutes(service),
    ...healthRoutes(service, readiness),
  ]
  routes.push(openapiRoute(service, routes))
  // JSON routes have fixed paths, so one lookup finds them; Hono serves the pages and answers unknown paths.
  const exact = new Map(
    routes.flatMap((route) => methodsOf(route).map((method) => [`${method} ${route.path}`, route] as const)),
  )
  if (service.config.metricsPort === undefined) web.get('/metrics', (c) => metricsPage(service, c.req.raw, c.env))
  docsPages(web)
  assetRoute(web)
  sdkRoute(web, service.config.publicUrl)
  tilePages(forWidget(service), web)
  widgetPages(forWidget(service), web)
  // Admin pages run longer statements.
  adminPages(longRunning(service), web)
  sandboxPages(service, web)
  service.metrics.expect({ routes: [...new Set(routes.map(({ path }) => path))] })
  const routesAt = Map.groupBy(routes, (route) => route.path)
  // Not as a second handler of each path: Hono is fastest on paths with one handler.
  web.notFound((c) => {
    const { path } = c.req
    const here =
      routesAt.get(path)?.flatMap((route) => methodsOf(route).map((method) => ({ method, path }))) ?? pagesAt(web, path)
    const methods = here.map(({ method }) => method)
    // A page that exists and found nothing answers 404, not 405.
    if (methods.length === 0 || methods.includes(c.req.method)) return toResponse(refuse('NOT_FOUND'), c.env.requestId)
    c.env.route = here[0]!.path
    return toResponse(refuse('METHOD_NOT_ALLOWED', {}, { allow: methods.join(', ') }), c.env.requestId)
  })
  web.onError((error, c) => toResponse(faultAnswer(service, error, c.req.raw, c.env), c.env.requestId))
  return {
    readiness,
    routes,
    pages: web.routes,
    fetch: (request, address = '127.0.0.1') => {
      const addressOf = typeof address === 'string' ? () => address : address
      return answerRequest(service, web, exact, request, addressOf, readiness)
    },
  }
}

/** The pages with this path, one per method, without middleware and catch-all routes. */
function pagesAt(web: WebApp, path: string): { method: string; path: string }[] {
  return ['GET', 'POST'].flatMap((method) => {
    const [found] = web.router.match(method, path)
    const pages = found.map(([[, route]]) => route).filter((route) => route.method === method)
    return pages.filter((page) => !page.path.endsWith('*')).slice(0, 1)
  })
}

/** Answers one request: gives it an id, measures, logs and counts it. */
async function answerRequest(
  service: Service,
  web: WebApp,
  exact: ReadonlyMap<string, Route>,
  request: Request,
  addressOf: () => string | undefined,
  readiness: Readiness,
): Promise<Response> {
  const startedAt = performance.now()
  const env: RequestContext = {
    // Read from the socket on demand: most requests never need it.
    get address() {
      return clientAddress(request, service.config.trustedProxies, addressOf() ?? 'unknown')
    },
    requestId: nextRequestId(),
    arrivedAt: startedAt,
    route: 'none',
  }
  const { method } = request
  const path = pathOf(request.url)
  const route = exact.get(`${method} ${path}`)
  await beginTogether(isPatient(route))
  let response: Response
  try {
    // The caller hung up before any work was done, or sent a second request before the first was answered.
    if (request.signal.aborted) response = toResponse(hungUp, env.requestId)
    else if (!hasGoodHost(request) && !(route?.isProbe && !request.headers.get('host')))
      response = toResponse(refuse('INVALID_REQUEST', { fields: { host: 'is not a host' } }), env.requestId)
    else if (!route) response = marked(await answerTo(web, request, env), env.requestId)
    else {
      env.route = route.path
      const result = await route.handle({ request, context: env })
      if (env.appId !== undefined) recordCall(service, env.appId, env.route, result)
      response = result instanceof Response ? marked(result, env.requestId) : toResponse(result, env.requestId)
      if (route.isCompressed && !(result instanceof Response))
        response = await compressAnswer(response, request.headers.get('accept-encoding') ?? '')
      if (method === 'HEAD') response = new Response(null, response)
    }
  } catch (error) {
    const fault = faultAnswer(service, error, request, env)
    if (env.appId !== undefined) recordCall(service, env.appId, env.route, fault)
    response = toResponse(fault, env.requestId)
  }
  env.leave?.()
  // The client's next request must go to another process.
  if (readiness.isDraining) response.headers.set('connection', 'close')
  if (service.config.hasHsts) response.headers.set('strict-transport-security', 'max-age=31536000')
  const ms = performance.now() - startedAt - (env.waitedMs ?? 0)
  const { status } = response
  if (route && (status === 401 || status === 403 || status === 429)) recordRefusal(service, env, status)
  const known = knownMethods.has(method) ? method : 'OTHER'
  service.metrics.request(env.route, known, status, ms)
  service.log.info('request', {
    requestId: env.requestId,
    method: known,
    route: env.route,
    status,
    ms: Math.round(ms * 1000) / 1000,
  })
  return response
}

/** Pages and widgets can wait for the calls of apps and of probes. */
function isPatient(route: Route | undefined): boolean {
  return !route || route.tag === 'Widget'
}

/** Counts the call by its code, for the app's page. */
function recordCall({ appCalls }: Service, appId: string, route: string, result: Answer | Response): void {
  const body: Answer['body'] = result instanceof Response ? {} : result.body
  const { code } = body
  const shown = typeof code === 'string' ? code : body['replayed'] === true ? 'replayed' : 'ok'
  appCalls.record(appId, route, shown, performance.now())
}

const sampled = openRateLimit(10_000)

/** Logs a refusal at most once in ten seconds per address and reason. Logs a clientId only if it has our format: it is untrusted. */
function recordRefusal(
  { metrics, log }: Service,
  { route, address, clientId, requestId }: RequestContext,
  status: number,
) {
  metrics.refused(route, status)
  const named = typeof clientId === 'string' && /^app_\w{1,60}$/.test(clientId) ? clientId : undefined
  sampled(`${route} ${status} ${address}`, (suppressed) =>
    log.info('a call was refused', {
      requestId,
      route,
      status,
      address: address.slice(0, 45),
      clientId: named,
      suppressed,
    }),
  )
}

/** Load balancers may probe with HEAD, or with HTTP/1.0 and no Host. */
function methodsOf({ method, isProbe }: Route): string[] {
  return isProbe ? [method, 'HEAD'] : [method]
}

/** Invented methods must not create new metric labels. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])

/** Files of the service itself: reading one changes nothing. */
const filePath = /^\/(assets|docs|sdk)(\/|$)/

/**
 * Hono runs the GET of a page for a HEAD, and a GET may use up a link or record a visit. So HEAD reads only files; elsewhere it is
 * not allowed, and the answer is that to any other wrong method.
 */
async function answerTo(web: WebApp, request: Request, env: RequestContext): Promise<Response> {
  if (request.method !== 'HEAD') return await web.fetch(request, env)
  const { url, headers } = request
  const method = filePath.test(pathOf(url)) ? 'GET' : 'OPTIONS'
  const response = await web.fetch(new Request(url, { method, headers }), env)
  return new Response(null, { status: response.status, headers: response.headers })
}

/** Only for the log and the metrics: the caller is gone. */
const hungUp: Answer = { status: 499, body: {} }

/** Refusals are values and never arrive here. Faults are a caller that hung up, an unavailable database, or a bug. */
function faultAnswer(service: Service, error: unknown, request: Request, { requestId, route }: RequestContext): Answer {
  // Reading the body of a caller that hangs up fails with this error.
  if (request.signal.aborted && error instanceof DOMException && error.name === 'AbortError') return hungUp
  const mayComeAgain = isRetryable(error)
  service.log[mayComeAgain ? 'warn' : 'error']('a request failed', { requestId, route, ...faultFields(error) })
  return mayComeAgain ? refuseFor(2, 'UNAVAILABLE') : refuse('INTERNAL')
}

// Copying ready-made headers into a response is three times as fast as building ten of them.
const jsonHeaders = new Headers({ ...plainHeaders, 'content-type': 'application/json' })

function toResponse({ status, body, headers }: Answer, requestId: string): Response {
  const isError = status >= 400 && 'code' in body
  jsonHeaders.set('x-request-id', requestId)
  const init = { status, headers: jsonHeaders }
  const response = new Response(JSON.stringify(isError ? { ...body, requestId } : body), init)
  for (const name in headers) response.headers.set(name, headers[name]!)
  return response
}

function marked(response: Response, requestId: string): Response {
  response.headers.set('x-request-id', requestId)
  return response
}

async function metricsPage(service: Service, request: Request, env: RequestContext): Promise<Response> {
  env.route = '/metrics'
  // Behind a proxy on this machine a hidden caller would look local.
  const address = isCallerHidden(request, service.config.trustedProxies) ? 'unknown' : env.address
  if (!mayReadMetrics(service.config, request, address)) return toResponse(refuse('NOT_FOUND'), env.requestId)
  return await renderMetrics(service.metrics.render)
}

async function renderMetrics(render: () => Promise<string>): Promise<Response> {
  const headers = { ...plainHeaders, 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }
  return new Response(await render(), { headers })
}

/**
 * Serves the metrics on their own port. Trusted proxies are in front of the other port only, so here the address is the
 * socket's and X-Forwarded-For is not used.
 */
export async function answerMetrics(
  { metricsToken }: Pick<Config, 'metricsToken'>,
  render: () => Promise<string>,
  request: Request,
  address: string,
): Promise<Response> {
  const requestId = nextRequestId()
  const mayRead = mayReadMetrics({ metricsToken, trustedProxies: 0 }, request, address)
  if (!mayRead || pathOf(request.url) !== '/metrics') return toResponse(refuse('NOT_FOUND'), requestId)
  if (request.method !== 'GET') return toResponse(refuse('METHOD_NOT_ALLOWED', {}, { allow: 'GET' }), requestId)
  return marked(await renderMetrics(render), requestId)
}

const processMark = Math.random().toString(36).slice(2, 10)
let requestCount = 0

function nextRequestId(): string {
  return `req_${processMark}${(++requestCount).toString(36).padStart(6, '0')}`
}
