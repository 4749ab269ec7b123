/** Serves logos from our own origin: an app's at /widget/logo/:clientId, the service's at /widget/logo. Each process fetches one at most once an hour. */
import { fetchLogo, openLogoCache } from '../actions/fetch-logo.ts'
import type { Service } from '../actions/service.ts'
import { plainHeaders } from '../web/headers.ts'
import type { WebApp } from '../web/request-context.ts'

export function logoRoute(service: Service, web: WebApp): void {
  const keep = openLogoCache(fetchLogo)
  web.get('/widget/logo/:clientId', async (c) => {
    c.env.route = '/widget/logo/:clientId'
    const app = await service.apps.findActive(c.req.param('clientId'))
    return (await sendLogo(app?.logoUrl)) ?? c.notFound()
  })
  web.get('/widget/logo', async (c) => {
    c.env.route = '/widget/logo'
    return (await sendLogo(service.config.about.logoUrl)) ?? c.notFound()
  })

  async function sendLogo(logoUrl: string | null | undefined): Promise<Response | undefined> {
    const logo = logoUrl ? await keep(logoUrl, performance.now()) : undefined
    if (!logo) return undefined
    return new Response(logo.bytes, {
      headers: { ...plainHeaders, 'content-type': logo.type, 'cache-control': 'public, max-age=3600' },
    })
  }
}
