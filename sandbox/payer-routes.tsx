import { Hono, type Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { VNode } from 'preact'
import { changeAsPayer, challengePath } from './sandbox.ts'
import { NoticePage, renderPage, type SandboxPageDeps } from './sandbox-page.tsx'
import { CardPage, ChallengePage } from './payer-pages.tsx'
import { answerChallenge, attempt, isOpen, paymentView, type SandboxPayment, type Transition } from './payment.ts'
import { isCardMistake, parseCard } from './test-cards.ts'

const look: Transition = (payment) => payment

/** The payer's routes: the card form and the bank's challenge, as pages and for a script. The client secret authorises the payer. */
export function payerRoutes(deps: SandboxPageDeps): Hono {
  const app = new Hono()
  app.use(bodyLimit({ maxSize: 8 * 1024, onError: (c) => c.text('This is longer than any form here.', 413) }))

  app.get('/card/:id', async (c) => {
    const payment = await changeAsPayer(deps, c.req.param('id'), c.req.query('secret') ?? '', look)
    if (!payment) return unknown(c, deps)
    const way = parseWay((name) => c.req.query(name))
    if (!isOpen(payment)) return done(c, deps, payment, way)
    return show(c, deps, payment, 200, 'Pay', way, <CardPage deps={deps} payment={payment} way={way} />)
  })

  app.post('/card/:id', async (c) => {
    const form = await readForm(c)
    const id = c.req.param('id')
    const before = await changeAsPayer(deps, id, form('secret'), look)
    if (!before) return unknown(c, deps)
    const way = parseWay(form)
    const again = (status: 402 | 422, payment: SandboxPayment, mistake: Mistake) => {
      const page = <CardPage deps={deps} payment={payment} way={way} mistake={mistake} />
      return show(c, deps, payment, status, 'Pay', way, page)
    }
    const scenario = parseCard({ number: form('number'), expiry: form('expiry'), cvc: form('cvc') }, deps.now())
    if (isCardMistake(scenario)) return again(422, before, scenario)
    const payment = await changeAsPayer(deps, id, form('secret'), attempt(scenario))
    if (!payment) return unknown(c, deps)
    if (payment.decline) return again(402, payment, { field: undefined, message: payment.decline.message })
    if (payment.status === 'requires_action')
      return c.redirect(withWay(challengePath(deps.basePath, payment), way), 303)
    return done(c, deps, payment, way)
  })

  app.get('/challenge/:id', async (c) => {
    const payment = await changeAsPayer(deps, c.req.param('id'), c.req.query('secret') ?? '', look)
    if (!payment) return unknown(c, deps)
    const way = parseWay((name) => c.req.query(name))
    if (payment.status !== 'requires_action') return done(c, deps, payment, way)
    return show(c, deps, payment, 200, 'Confirm', way, <ChallengePage deps={deps} payment={payment} way={way} />)
  })

  app.post('/challenge/:id', async (c) => {
    const form = await readForm(c)
    const approved = form('answer') === 'approve'
    const payment = await changeAsPayer(deps, c.req.param('id'), form('secret'), answerChallenge(approved))
    return payment ? done(c, deps, payment, parseWay(form)) : unknown(c, deps)
  })

  app.post('/confirm', async (c) => {
    const text = textFields(await c.req.json().catch(() => undefined))
    const [id, secret] = [text('paymentIntentId'), text('clientSecret')]
    if (!(await changeAsPayer(deps, id, secret, look))) return c.json({ error: 'This payment is unknown.' }, 404)
    const scenario = parseCard({ number: text('number'), expiry: text('expiry'), cvc: text('cvc') }, deps.now())
    if (isCardMistake(scenario)) return c.json({ error: scenario.message, field: scenario.field }, 422)
    const payment = await changeAsPayer(deps, id, secret, attempt(scenario))
    if (!payment) return c.json({ error: 'This payment is unknown.' }, 404)
    const { status, declineCode, declineMessage, nextAction } = paymentView(
      payment,
      challengePath(deps.basePath, payment),
    )
    return c.json({ paymentIntentId: id, status, declineCode, declineMessage, nextAction })
  })

  return app
}

type Mistake = Parameters<typeof CardPage>[0]['mistake']

async function readForm(c: Context): Promise<(name: string) => string> {
  return textFields(await c.req.parseBody().catch(() => undefined))
}

/** Reads every field as text. A file, a list or a number reads as empty. */
function textFields(sent: unknown): (name: string) => string {
  const fields = new Map(sent && typeof sent === 'object' ? Object.entries(sent) : [])
  return (name) => {
    const value: unknown = fields.get(name)
    return typeof value === 'string' ? value : ''
  }
}

/** `returnTo`: the page to return to. `isEmbedded`: the form is in a frame, and the page around it shows amount and outcome. */
export type Way = { readonly returnTo: string; readonly isEmbedded: boolean }

function parseWay(field: (name: string) => string | undefined): Way {
  return { returnTo: parseReturn(field('return')), isEmbedded: field('embedded') === '1' }
}

/** Accepts only a path of our own origin: anything else would be an open redirect. */
function parseReturn(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) && !path.includes('\\') ? path : ''
}

function withWay(path: string, { returnTo, isEmbedded }: Way): string {
  const back = returnTo === '' ? '' : `&return=${encodeURIComponent(returnTo)}`
  return `${path}${back}${isEmbedded ? '&embedded=1' : ''}`
}

const endings: Record<Exclude<SandboxPayment['status'], 'requires_payment_method'>, [title: string, text: string]> = {
  requires_action: ['One more step', 'Your bank waits for your answer.'],
  processing: ['Processing', 'The bank has not decided yet. You can close this page: your wallet shows the result.'],
  succeeded: ['Paid', 'You can close this page.'],
  failed: ['Not paid', 'This payment failed for good. Start a new one.'],
  cancelled: ['Cancelled', 'This payment was cancelled. Start a new one.'],
}

function done(c: Context, deps: SandboxPageDeps, payment: SandboxPayment, way: Way) {
  if (way.returnTo !== '') return c.redirect(way.returnTo, 303)
  const { status, decline } = payment
  if (status === 'requires_payment_method') {
    const mistake = decline && { field: undefined, message: decline.message }
    const page = <CardPage deps={deps} payment={payment} way={way} mistake={mistake} />
    return show(c, deps, payment, 402, 'Pay', way, page)
  }
  const [title, text] = endings[status]
  return show(c, deps, payment, 200, title, way, <NoticePage title={title} text={text} />)
}

function unknown(c: Context, deps: SandboxPageDeps) {
  const children = (
    <NoticePage title="Unknown payment" text="This link belongs to no payment. Start again from the wallet." />
  )
  return c.html(renderPage({ deps, title: 'Unknown payment', children }), 404)
}

async function show(
  c: Context,
  deps: SandboxPageDeps,
  { userId, topupId }: SandboxPayment,
  status: 200 | 402 | 422,
  title: string,
  { isEmbedded }: Way,
  children: VNode,
) {
  const parents = (await deps.frameAncestors?.({ userId, topupId })) ?? []
  c.header('content-security-policy', contentSecurityPolicy(parents))
  return c.html(renderPage({ deps, title, isEmbedded, children }), status)
}

/** A browser checks frame-ancestors against every enclosing page, so the list needs the app's origins and our own. */
export function contentSecurityPolicy(parents: readonly string[] | 'nobody'): string {
  const origins =
    parents === 'nobody' ? [] : ["'self'", ...parents.filter((origin) => /^https?:\/\/[\w.:[\]-]+$/.test(origin))]
  const ancestors = origins.length > 0 ? origins.join(' ') : "'none'"
  return `default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors ${ancestors}`
}
