/**
 * Receipts and statements. The widget's frame may neither print nor download, so they open in a new window: a form of the wallet
 * page posts the session to /widget/papers, which keeps it out of addresses and logs, and the response redirects to a link that
 * works once, for two minutes, and contains no session. A reload of that page shows how to open it again from the wallet.
 */
import type { Context } from 'hono'
import type { VNode } from 'preact'
import { z } from 'zod'
import { isTimeZone, monthInZone } from '../actions/money/month-in-zone.ts'
import {
  findEntry,
  orderFile,
  orderPaper,
  takePaper,
  type OrderedPaper,
  type Paper,
} from '../actions/money/order-paper.ts'
import { findStatement, sumStatement } from '../actions/money/write-statement.ts'
import { exportData } from '../actions/people/export-data.ts'
import { checkSession } from '../actions/people/open-session.ts'
import type { Service } from '../actions/service.ts'
import { languages, type Language } from '../languages/languages.ts'
import { negotiateLanguage } from '../web/accept-language.ts'
import { scriptUrls, styleUrl } from '../web/assets.ts'
import { readBody } from '../web/body.ts'
import { download } from '../web/csv.ts'
import { plainHeaders } from '../web/headers.ts'
import { newNonce, pageHeaders, pageResponse, renderPage } from '../web/page.tsx'
import type { RequestContext, WebApp } from '../web/request-context.ts'
import { streamed } from '../web/stream.ts'
import { ProblemPage, ReceiptPage, Sheet, type PaperProblem } from './paper-pages.tsx'
import { serviceData } from './service-data.ts'
import { csvLines, rowChunks, rowsMarker, StatementPage, type StatementShown } from './statement-page.tsx'

type HonoContext = Context<{ Bindings: RequestContext }>

const path = '/widget/papers'

export function paperPages(service: Service, web: WebApp): void {
  web.post(path, (c) => postOrder(service, c))
  web.get(`${path}/:token`, (c) => showPaper(service, c))
}

const maxFormBytes = 4_096

const orderForm = z.object({
  session: z.string(),
  lang: z.string().optional(),
  timeZone: z.string().optional(),
  kind: z.enum(['receipt', 'statement', 'data']),
  sequence: z
    .string()
    .regex(/^[1-9]\d{0,14}$/)
    .optional(),
  month: z
    .string()
    .regex(/^20\d\d-(0[1-9]|1[0-2])$/)
    .optional(),
})

async function postOrder(service: Service, c: HonoContext): Promise<Response> {
  c.env.route = path
  const browser = negotiateLanguage(undefined, c.req.header('accept-language'))
  const isForm = (c.req.header('content-type') ?? '').split(';')[0]!.trim() === 'application/x-www-form-urlencoded'
  if (!isForm) return await showProblem(service, browser, 'badRequest', 415)
  const body = await readBody(c.req.raw, maxFormBytes)
  if (body === 'too-long') return await showProblem(service, browser, 'badRequest', 413)
  if (body === 'too-late') return await showProblem(service, browser, 'badRequest', 408, { connection: 'close' })
  const form = orderForm.safeParse(Object.fromEntries(new URLSearchParams(new TextDecoder().decode(body))))
  const language = negotiateLanguage(form.data?.lang, c.req.header('accept-language'))
  const paper = form.data && paperOf(form.data, language)
  if (!paper) return await showProblem(service, language, 'badRequest', 400)
  const { session } = await checkSession(service, form.data.session)
  if (!session) return await showProblem(service, language, 'ended', 401)
  const token = await orderPaper(service, session, paper)
  if (typeof token === 'string')
    return new Response(null, { status: 303, headers: { ...plainHeaders, location: `${path}/${token}` } })
  return await showProblem(service, language, 'tooMany', 429, { 'retry-after': String(token.retryAfterSeconds) })
}

function paperOf(form: z.infer<typeof orderForm>, language: Language): Paper | undefined {
  const { kind, sequence, month, timeZone = 'UTC' } = form
  const shown = { lang: language.code, timeZone: isTimeZone(timeZone) ? timeZone : 'UTC' }
  if (kind === 'receipt') return sequence === undefined ? undefined : { ...shown, kind, sequence: Number(sequence) }
  if (kind === 'data') return { ...shown, kind }
  return month === undefined ? undefined : { ...shown, kind, month }
}

async function showPaper(service: Service, c: HonoContext): Promise<Response> {
  c.env.route = `${path}/:token`
  const token = c.req.param('token') ?? ''
  const ordered = /^[\w-]{32}$/.test(token) ? await takePaper(service, token) : undefined
  const browser = negotiateLanguage(undefined, c.req.header('accept-language'))
  if (!ordered) return await showProblem(service, browser, 'used', 404)
  const language = languages.get(ordered.paper.lang) ?? browser
  const { paper } = ordered
  if (paper.kind === 'receipt') return await showReceipt(service, language, ordered, paper)
  if (!('month' in paper)) return await showData(service, c, language, ordered)
  const shown = await readStatement(service, language, ordered, paper)
  if (paper.kind === 'statement')
    return await showStatement(service, shown, `${path}/${await orderFile(service, ordered)}`)
  return download(`statement-${paper.month}.csv`, csvLines(service, shown))
}

async function showData(
  service: Service,
  c: HonoContext,
  language: Language,
  ordered: OrderedPaper,
): Promise<Response> {
  if (ordered.paper.kind === 'data')
    return await dataPage(service, language, `${path}/${await orderFile(service, ordered)}`)
  const chunks = await exportData(service, ordered.userId, c.env.address)
  return chunks ? dataFile(chunks) : await showProblem(service, language, 'used', 404)
}

async function dataPage(service: Service, language: Language, fileUrl: string): Promise<Response> {
  const nonce = newNonce()
  const about = serviceData(service.config.about)
  const { data: title, dataText, dataFile: fileLabel } = language.paper
  const body = (
    <Sheet language={language} about={about} title={title} fileUrl={fileUrl} fileLabel={fileLabel}>
      <p class="what">{dataText}</p>
    </Sheet>
  )
  return pageResponse(await paperHtml(language, title, body, nonce), { nonce })
}

function dataFile(chunks: AsyncIterable<string>): Response {
  return streamed(chunks, {
    ...plainHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="my-data.json"',
  })
}

async function showReceipt(
  service: Service,
  language: Language,
  { userId, firstName, lastName }: OrderedPaper,
  { sequence, timeZone }: Extract<Paper, { kind: 'receipt' }>,
): Promise<Response> {
  const entry = await findEntry(service, userId, sequence)
  if (!entry) return await showProblem(service, language, 'used', 404)
  const about = serviceData(service.config.about)
  const nonce = newNonce()
  const name = `${firstName} ${lastName}`.trim()
  const { currency } = service.config
  const body = <ReceiptPage language={language} about={about} shown={{ entry, name, timeZone, currency }} />
  return pageResponse(await paperHtml(language, language.paper.receipt, body, nonce), { nonce })
}

async function readStatement(
  service: Service,
  language: Language,
  { userId, firstName, lastName }: OrderedPaper,
  { month, timeZone }: Extract<Paper, { month: string }>,
): Promise<StatementShown> {
  const found = await findStatement(service, userId, monthInZone(month, timeZone)!)
  return { language, timeZone, name: `${firstName} ${lastName}`.trim(), statement: found }
}

async function showStatement(service: Service, shown: StatementShown, fileUrl: string): Promise<Response> {
  const { language } = shown
  const nonce = newNonce()
  const sums = await sumStatement(service, shown.statement)
  const about = serviceData(service.config.about)
  const body = (
    <StatementPage shown={shown} about={about} sums={sums} currency={service.config.currency} fileUrl={fileUrl} />
  )
  const html = await paperHtml(language, language.paper.statement, body, nonce)
  // A page without entries has no table and no marker.
  const [head = '', tail = ''] = html.split(rowsMarker)
  async function* chunks() {
    yield head
    yield* rowChunks(service, shown)
    yield tail
  }
  return streamed(chunks(), pageHeaders({ nonce }))
}

async function showProblem(
  service: Service,
  language: Language,
  kind: PaperProblem,
  status: number,
  headers: Record<string, string> = {},
): Promise<Response> {
  const nonce = newNonce()
  const about = serviceData(service.config.about)
  const title = language.paper[`${kind}Title`]
  const html = renderPage(
    {
      title: `${title} · ${about.name}`,
      lang: language.code,
      dir: language.dir,
      styles: [await styleUrl('widget.css')],
      body: <ProblemPage language={language} about={about} kind={kind} />,
    },
    nonce,
  )
  const response = pageResponse(html, { nonce }, status)
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

/** Always in the light theme, for print. */
async function paperHtml(language: Language, title: string, body: VNode, nonce: string): Promise<string> {
  return renderPage(
    {
      title,
      lang: language.code,
      dir: language.dir,
      theme: 'light',
      styles: [await styleUrl('paper.css')],
      scripts: await scriptUrls('paper.js'),
      body,
    },
    nonce,
  )
}
