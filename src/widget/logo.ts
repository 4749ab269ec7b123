/** Logos from our own origin, fetched at most once an hour in each process: an app's at /widget/logo/:clientId, the service's at /widget/logo. */
import { createHash } from 'node:crypto'
import { fetchLogo, keepLogos } from '../actions/fetch-logo.ts'
import type { About } from '../config.ts'
import type { Service } from '../actions/service.ts'
import type { App } from '../store/apps.ts'
import { plainHeaders } from '../web/headers.ts'
import type { WebApp } from '../web/request-context.ts'

/** The logo's address in our pages. It changes whenever the app's logoUrl does, so browsers may cache what it answers. */
export function logoPath({ clientId, logoUrl }: Pick<App, 'clientId' | 'logoUrl'>): string | null {
  return logoUrl === null ? null : `/widget/logo/${encodeURIComponent(clientId)}?v=${markOf(logoUrl)}`
}

/** The service's own logo. */
export function serviceLogoPath({ logoUrl }: Pick<About, 'logoUrl'>): string | null {
  return logoUrl === undefined ? null : `/widget/logo?v=${markOf(logoUrl)}`
}

function markOf(logoUrl: string): string {
  return createHash('sha256').update(logoUrl).digest('hex').slice(0, 8)
}

export function logoRoute(service: Service, web: WebApp): void {
  const keep = keepLogos(fetchLogo)
  web.get('/widget/logo/:clientId', async (c) => {
    c.env.route = '/widget/logo/:clientId'
    const app = await service.apps.find(c.req.param('clientId'))
    return (await sendLogo(app?.isActive ? app.logoUrl : null)) ?? c.notFound()
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
