/**
 * Receipts, statements and selections of entries. The widget's frame may neither print nor download, so they open in a new window, by a link that the
 * wallet page orders at /api/widget/papers: it works once, for two minutes, and contains no session. A reload of that page shows how
 * to open it again from the wallet.
 */
import type { Context } from 'hono'
import type { VNode } from 'preact'
import { monthInZone } from '../actions/money/month-in-zone.ts'
import { findEntry, orderFile, takePaper, type OrderedPaper, type Paper } from '../actions/money/order-paper.ts'
import { toFilter } from '../actions/money/activity-filter.ts'
import { findSelection } from '../actions/money/find-selection.ts'
import { findStatement, sumStatement } from '../actions/money/write-statement.ts'
import { exportData } from '../actions/people/export-data.ts'
import type { Service } from '../actions/service.ts'
import { languages, type Language } from '../languages/languages.ts'
import { negotiateLanguage } from '../web/accept-language.ts'
import { scriptUrls, styleUrl } from '../web/assets.ts'
import { download } from '../web/csv.ts'
import { plainHeaders } from '../web/headers.ts'
import { newNonce, pageHeaders, pageResponse, renderPage } from '../web/page.tsx'
import type { RequestContext, WebApp } from '../web/request-context.ts'
import { streamed } from '../web/stream.ts'
import { rowChunks, rowsMarker, type EntriesShown } from './paper-entries.tsx'
import { NoPaperPage, ReceiptPage, Sheet } from './paper-pages.tsx'
import { proofFile, readPaperProof } from './paper-proof.tsx'
import { serviceData } from './service-data.ts'
import { SelectionPage, selectionEntries, selectionLines, type SelectionShown } from './selection-page.tsx'
import { StatementPage, statementEntries, statementLines, type StatementShown } from './statement-page.tsx'

type HonoContext = Context<{ Bindings: RequestContext }>

const path = '/widget/papers/:token'

export function paperPages(service: Service, web: WebApp): void {
  web.get(path, (c) => showPaper(service, c))
}

async function showPaper(service: Service, c: HonoContext): Promise<Response> {
  c.env.route = path
  const token = c.req.param('token') ?? ''
  const ordered = /^[\w-]{32}$/.test(token) ? await takePaper(service, token) : undefined
  const browser = negotiateLanguage(undefined, c.req.header('accept-language'))
  if (!ordered) return await showUsed(service, browser)
  const language = languages.get(ordered.paper.lang) ?? browser
  const { paper } = ordered
  if (paper.kind === 'receipt') return await showReceipt(service, language, ordered, paper)
  if (paper.kind === 'proof') return await showProof(service, c, language, ordered)
  if ('filter' in paper) return await showSelection(service, language, ordered, paper)
  if (!('month' in paper)) return await showData(service, c, language, ordered)
  const shown = await readStatement(service, language, ordered, paper)
  if (!shown) return await showArchived(service, language, language.paper.statement)
  if (paper.kind === 'statement') return await showStatement(service, shown, ordered)
  return download(`statement-${paper.month}.csv`, statementLines(service, shown))
}

async function showData(
  service: Service,
  c: HonoContext,
  language: Language,
  ordered: OrderedPaper,
): Promise<Response> {
  if (ordered.paper.kind === 'data') return await dataPage(service, language, (await orderFile(service, ordered))!)
  const chunks = await exportData(service, ordered.userId, {
    address: c.env.address,
    userAgent: c.req.header('user-agent') ?? null,
    lang: language.code,
  })
  return chunks ? dataFile(chunks) : await showUsed(service, language)
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

type EntryPaper = Extract<Paper, { sequence: number }>

async function showReceipt(
  service: Service,
  language: Language,
  ordered: OrderedPaper,
  { sequence, timeZone }: EntryPaper,
): Promise<Response> {
  const { userId, firstName, lastName } = ordered
  const entry = await findEntry(service, userId, sequence)
  if (entry === 'archived') return await showArchived(service, language, language.paper.receipt)
  if (!entry) return await showUsed(service, language)
  const about = serviceData(service.config.about)
  const nonce = newNonce()
  const name = `${firstName} ${lastName}`.trim()
  const { currency } = service.config
  const proof = await readPaperProof(service, ordered, entry.transfer)
  const body = <ReceiptPage language={language} about={about} shown={{ entry, name, timeZone, currency, proof }} />
  return pageResponse(await paperHtml(language, language.paper.receipt, body, nonce), { nonce })
}

/** The entry was provable when its link was made. Should it no longer be, a page says so. */
async function showProof(
  service: Service,
  c: HonoContext,
  language: Language,
  { userId, paper }: OrderedPaper,
): Promise<Response> {
  const file = await proofFile(service, userId, (paper as EntryPaper).sequence, c.req.query('since'))
  if (file === 'archived') return await showArchived(service, language, language.paper.proof)
  if (file) return file
  const { proof: title, proofLater: text } = language.paper
  return await showNoPaper(service, language, { title, text, status: 503 })
}

/** 410: it was here, and an operator can bring it back. */
async function showArchived(service: Service, language: Language, title: string): Promise<Response> {
  return await showNoPaper(service, language, { title, text: language.paper.archived, status: 410 })
}

async function readStatement(
  service: Service,
  language: Language,
  { userId, firstName, lastName }: OrderedPaper,
  { month, timeZone }: Extract<Paper, { month: string }>,
): Promise<StatementShown | undefined> {
  const found = await findStatement(service, userId, monthInZone(month, timeZone)!)
  return found && { language, timeZone, name: `${firstName} ${lastName}`.trim(), statement: found }
}

async function showStatement(service: Service, shown: StatementShown, ordered: OrderedPaper): Promise<Response> {
  const { language } = shown
  const nonce = newNonce()
  const sums = await sumStatement(service, shown.statement)
  const about = serviceData(service.config.about)
  const fileUrl = (await orderFile(service, ordered))!
  const { currency } = service.config
  const { firstSequence, lastSequence } = shown.statement
  const last = lastSequence < firstSequence ? undefined : await findEntry(service, ordered.userId, lastSequence)
  const proof = last && last !== 'archived' ? await readPaperProof(service, ordered, last.transfer) : undefined
  const body = (
    <StatementPage shown={shown} about={about} sums={sums} currency={currency} fileUrl={fileUrl} proof={proof} />
  )
  const html = await paperHtml(language, language.paper.statement, body, nonce)
  return streamRows(service, html, statementEntries(service, shown), nonce)
}

async function showSelection(
  service: Service,
  language: Language,
  ordered: OrderedPaper,
  { kind, filter: asked, before, at, timeZone }: Extract<Paper, { filter: object }>,
): Promise<Response> {
  const { currency, about } = service.config
  const selection = await findSelection(service, ordered.userId, toFilter(asked, currency, before))
  const name = `${ordered.firstName} ${ordered.lastName}`.trim()
  const shown: SelectionShown = { language, timeZone, name, currency, asked, selection }
  if (kind === 'selection-file') return download('selected-entries.csv', selectionLines(service, shown))
  const nonce = newNonce()
  const fileUrl = (await orderFile(service, ordered))!
  const body = <SelectionPage shown={shown} about={serviceData(about)} at={new Date(at)} fileUrl={fileUrl} />
  const html = await paperHtml(language, language.paper.selection, body, nonce)
  return streamRows(service, html, selectionEntries(service, shown), nonce)
}

function streamRows(service: Service, html: string, entries: EntriesShown, nonce: string): Response {
  // A page without entries has no table and no marker.
  const [head = '', tail = ''] = html.split(rowsMarker)
  async function* chunks() {
    yield head
    yield* rowChunks(service, entries)
    yield tail
  }
  return streamed(chunks(), pageHeaders({ nonce }))
}

/** The link was used, or has ended. */
async function showUsed(service: Service, language: Language): Promise<Response> {
  const { usedTitle: title, usedText: text } = language.paper
  return await showNoPaper(service, language, { title, text, status: 404 })
}

async function showNoPaper(
  service: Service,
  language: Language,
  { title, text, status }: { readonly title: string; readonly text: string; readonly status: 404 | 410 | 503 },
): Promise<Response> {
  const nonce = newNonce()
  const about = serviceData(service.config.about)
  const html = renderPage(
    {
      title: `${title} · ${about.name}`,
      lang: language.code,
      dir: language.dir,
      styles: [await styleUrl('widget.css')],
      body: <NoPaperPage about={about} title={title} text={text} />,
    },
    nonce,
  )
  return pageResponse(html, { nonce }, status)
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
