/** The sandbox processor's own pages: its card form, the bank's challenge, and the panel. Not in production. */
import { Hono } from 'hono'
import { decimalsOf, sandboxPath } from '../actions/topups/open-processor.ts'
import { findTopupParents } from '../actions/apps/find-placement.ts'
import type { Service } from '../actions/service.ts'
import { sandboxRoutes } from '../../sandbox/routes.tsx'
import type { RequestContext, WebApp } from '../web/request-context.ts'

export function sandboxPages(service: Service, web: WebApp): void {
  const { sandbox } = service
  if (!sandbox) return
  const pages = new Hono<{ Bindings: RequestContext }>()
  pages.use(async (c, next) => {
    // Logged instead of the path, because these paths contain payment ids and secrets.
    c.env.route = `${sandboxPath}/*`
    await next()
  })
  const frameAncestors = ({ topupId }: { topupId: string }) => findTopupParents(service, topupId)
  // Not a copy: the pages, the webhooks and the processor have one clock.
  pages.route('/', sandboxRoutes(Object.assign(sandbox, { decimalsOf, frameAncestors })))
  web.route(sandboxPath, pages)
}
