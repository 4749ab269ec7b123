import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { parseDecimal } from '../src/ledger/money.ts'
import { isFromOwnPage } from '../src/web/own-origin.ts'
import { changePayment, findPayment, listPayments } from './change.ts'
import { deliverAgain, deliverReversed, deliveryModes, holdEvent } from './events.ts'
import { renderPage, type SandboxPageDeps } from './sandbox-page.tsx'
import { PanelPage } from './panel-page.tsx'
import { closeDispute, hasten, openDispute, paymentView, refund, type Transition } from './payment.ts'
import { readSettings, writeSettings } from './settings.ts'

const shownPayments = 50

/** Lets a developer simulate the bank, the network and failures. It has no sign-in: production has no sandbox. */
export function panelRoutes(deps: SandboxPageDeps): Hono {
  const app = new Hono()
  app.use(
    bodyLimit({ maxSize: 4 * 1024, onError: (c) => c.text('This is longer than any form here.', 413) }),
    sameSiteOnly,
  )

  app.get('/', (c) => showPanel(c, deps, 200, undefined))

  app.post('/settings', async (c) => {
    const form = await readForm(c)
    const mode = deliveryModes.find((known) => known === form['mode'])
    if (!mode) return showPanel(c, deps, 422, 'Choose how webhooks are delivered.')
    await writeSettings(deps.store, { mode, outage: form['outage'] === 'on' })
    return c.redirect(`${deps.basePath}/panel`, 303)
  })

  app.post('/payments/:id/refund', async (c) => {
    const id = c.req.param('id')
    const payment = await findPayment(deps.store, id)
    if (!payment) return showPanel(c, deps, 404, 'There is no such payment.')
    const { amount } = await readForm(c)
    const view = paymentView(payment, '')
    const isAll = typeof amount !== 'string' || amount.trim() === ''
    const minor = isAll
      ? view.amountReceivedMinor - view.refundedMinor
      : parseDecimal(amount.trim(), { code: view.currency, decimals: deps.decimalsOf(view.currency) })
    if (minor === undefined) return showPanel(c, deps, 422, 'Write the amount as a plain number, like 12.50.')
    return change(c, deps, id, refund(`panel-${deps.newId()}`, minor))
  })

  app.post('/payments/:id/:action', async (c) => {
    const transition = paymentActions.get(c.req.param('action'))
    if (!transition) return showPanel(c, deps, 404, 'There is no such action.')
    return change(c, deps, c.req.param('id'), transition)
  })

  app.post('/payments/:id/events/:event/:when', async (c) => {
    const transition = eventActions.get(c.req.param('when'))
    if (!transition) return showPanel(c, deps, 404, 'There is no such action.')
    return change(c, deps, c.req.param('id'), transition(c.req.param('event')))
  })

  return app
}

/** A body that is not a form has no fields. */
async function readForm(c: Context): Promise<Record<string, unknown>> {
  return await c.req.parseBody().catch(() => ({}))
}

const paymentActions = new Map<string, Transition>([
  ['dispute', openDispute],
  ['win', closeDispute('won')],
  ['lose', closeDispute('lost')],
  ['hasten', hasten],
  ['reverse', (payment, { now }) => deliverReversed(payment, now)],
])

const eventActions = new Map<string, (eventId: string) => Transition>([
  ['now', (eventId) => (payment, context) => deliverAgain(payment, eventId, context.now)],
  ['late', (eventId) => (payment, context) => deliverAgain(payment, eventId, context.now + context.lateMs)],
  ['never', (eventId) => (payment) => holdEvent(payment, eventId)],
])

async function change(c: Context, deps: SandboxPageDeps, id: string, transition: Transition) {
  const { mode } = await readSettings(deps.store)
  const changed = await changePayment(deps, mode, id, transition)
  if (!changed) return showPanel(c, deps, 404, 'There is no such payment.')
  if ('refused' in changed) return showPanel(c, deps, 422, changed.message)
  return c.redirect(`${deps.basePath}/panel#${id}`, 303)
}

async function showPanel(c: Context, deps: SandboxPageDeps, status: 200 | 404 | 422, problem: string | undefined) {
  const [settings, payments] = await Promise.all([readSettings(deps.store), listPayments(deps.store, shownPayments)])
  const children = <PanelPage deps={deps} settings={settings} payments={payments} problem={problem} />
  return c.html(renderPage({ deps, title: 'Panel', wide: true, children }), status)
}

/** CSRF: another site must not press these buttons for a developer who visits it. */
const sameSiteOnly: MiddlewareHandler = async (c, next) => {
  if (c.req.method !== 'GET' && !isFromOwnPage({ isProduction: false }, c.req.raw, { mustNameOrigin: false })) {
    return c.text('Open the panel itself and press the button there.', 403)
  }
  return next()
}
