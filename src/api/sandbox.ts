/** The sandbox processor's own pages: its card form, the bank's challenge, and the panel. Not in production. */
import { Hono } from 'hono'
import { decimalsOf, sandboxPath } from '../actions/cards.ts'
import { findTopupParents } from '../actions/find-topup-parents.ts'
import type { Service } from '../actions/service.ts'
import { sandboxRoutes } from '../cards/sandbox-routes.tsx'
import type { Visit, WebApp } from '../web/visit.ts'

export function sandboxPages(service: Service, web: WebApp): void {
  const { sandbox } = service
  if (!sandbox) return
  const pages = new Hono<{ Bindings: Visit }>()
  pages.use(async (c, next) => {
    // Its addresses hold payments and their secrets.
    c.env.route = `${sandboxPath}/*`
    await next()
  })
  pages.route(
    '/',
    sandboxRoutes({ ...sandbox, decimalsOf, frameAncestors: ({ topupId }) => findTopupParents(service, topupId) }),
  )
  web.route(sandboxPath, pages)
}
