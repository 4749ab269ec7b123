/**
 * /verify, the page that checks proof files in the browser alone, also when it is saved and opened from disk; and /verify/:address,
 * which confirms amount, day and shop of one receipt to anybody who has its paper.
 */
import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { checkReceipt, readLogKeys, verifyPath, type CheckedReceipt } from '../../actions/proofs/check-receipt.ts'
import type { Service } from '../../actions/service.ts'
import type { Language } from '../../languages/languages.ts'
import { fill } from '../../languages/words.ts'
import { negotiateLanguage } from '../../web/accept-language.ts'
import { provideInline, styleUrl } from '../../web/assets.ts'
import { newNonce, pageHeaders, pageResponse, renderPage } from '../../web/page.tsx'
import type { RequestContext, WebApp } from '../../web/request-context.ts'
import { ServicePage } from '../explain.tsx'
import { moneyIn } from '../paper-entries.tsx'
import { Rows } from '../paper-pages.tsx'
import { serviceData } from '../service-data.ts'
import type { OfflineData } from './offline-data.ts'
import { offlineHtml } from './offline-page.tsx'

type HonoContext = Context<{ Bindings: RequestContext }>

export function verifyPages(service: Service, web: WebApp): void {
  web.get(verifyPath, (c) => showOfflinePage(service, c))
  web.get(`${verifyPath}/:address`, (c) => showReceiptCheck(service, c))
}

const languageOf = (c: HonoContext) => negotiateLanguage(c.req.query('lang'), c.req.header('accept-language'))

const statuses = { genuine: 200, unsealed: 200, differs: 200, archived: 200, unknown: 404, limited: 429 } as const

async function showReceiptCheck(service: Service, c: HonoContext): Promise<Response> {
  c.env.route = `${verifyPath}/:address`
  const checked = await checkReceipt(service, c.req.param('address') ?? '', c.env.address)
  const language = languageOf(c)
  const nonce = newNonce()
  const about = serviceData(service.config.about)
  const words = language.verify
  const title = words[`${checked.kind}Title`]
  const html = renderPage(
    {
      title: `${title} · ${about.name}`,
      lang: language.code,
      dir: language.dir,
      styles: [await styleUrl('widget.css'), await styleUrl('activity.css')],
      body: (
        <ServicePage service={about} icon={checked.kind === 'genuine' ? 'check' : 'alert'} title={title}>
          <p class="muted">{fill(words[`${checked.kind}Text`], { service: about.name }, language.code)}</p>
          {checked.kind === 'genuine' && <Confirmed service={service} language={language} checked={checked} />}
        </ServicePage>
      ),
    },
    nonce,
  )
  const response = pageResponse(html, { nonce }, statuses[checked.kind])
  // Also for programs that read no HTML.
  response.headers.set('x-robots-tag', 'noindex')
  if (checked.kind === 'limited') response.headers.set('retry-after', String(checked.retryAfterSeconds))
  return response
}

type ConfirmedProps = {
  service: Service
  language: Language
  checked: Extract<CheckedReceipt, { kind: 'genuine' }>
}

function Confirmed({ service: { config }, language, checked: { entry } }: ConfirmedProps) {
  const { code, activity, paper, verify: words } = language
  const { amountMinor, createdAt } = entry.transfer
  const isIn = amountMinor > 0n
  const day = new Intl.DateTimeFormat(code, { dateStyle: 'long', timeZone: 'UTC' }).format(createdAt)
  return (
    <>
      <Rows
        class="facts"
        rows={[
          [paper.amount, <b>{moneyIn(language, config.currency)(isIn ? amountMinor : -amountMinor)}</b>],
          [words.day, fill(words.dayUtc, { day }, code)],
          [activity[isIn ? 'from' : 'to'], <bdi>{entry.app?.name ?? config.about.name}</bdi>],
        ]}
      />
      <p class="muted">{words.compareText}</p>
    </>
  )
}

const inline = provideInline('../widget/verify/check-page.tsx', '../widget/verify/offline.css')

/** With `save` it is a download. The page itself is the same. */
async function showOfflinePage(service: Service, c: HonoContext): Promise<Response> {
  c.env.route = verifyPath
  const language = languageOf(c)
  const { about, currency } = service.config
  const data: OfflineData = {
    lang: language.code,
    words: language.verify,
    service: about.name,
    keys: await readLogKeys(service),
    currency,
    saveUrl: `${verifyPath}?${new URLSearchParams({ lang: language.code, save: '1' })}`,
  }
  const { script, style } = await inline()
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ')
  const html = offlineHtml(data, { script, style, policy, dir: language.dir })
  const headers = {
    ...pageHeaders({ nonce: '' }),
    'content-security-policy': `${policy}; frame-ancestors 'none'`,
    ...(c.req.query('save') !== undefined && { 'content-disposition': 'attachment; filename="check-proofs.html"' }),
  }
  return new Response(html, { headers })
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
