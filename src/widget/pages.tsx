/** The hosted pages: /widget/wallet and /widget/topup. Only the origins of its app may frame a page. */
import type { Context } from 'hono'
import { findPlacement, originOf, type Placement, type Unplaced } from '../actions/apps/find-placement.ts'
import { logoPath } from '../actions/apps/logo-path.ts'
import type { Service } from '../actions/service.ts'
import type { Config } from '../config.ts'
import { languages, type Language } from '../languages/languages.ts'
import { majorNumber, maxBalanceMinor, parseDecimal } from '../ledger/money.ts'
import { negotiateLanguage } from '../web/accept-language.ts'
import { scriptUrls, styleUrl } from '../web/assets.ts'
import { compressedPageResponse, inertPageResponse, newNonce, pageResponse, renderPage } from '../web/page.tsx'
import type { RequestContext, WebApp } from '../web/request-context.ts'
import { brandStyle } from './brand.ts'
import { TopupApp } from './client/topup-app.tsx'
import { WalletApp } from './client/wallet-app.tsx'
import {
  ExplainPage,
  FramedExplanation,
  NoScript,
  explanationParents,
  isOutside,
  type Explanation,
} from './explain.tsx'
import { laterFiles, languageFiles } from './language-files.ts'
import type { PageData } from './page-data.ts'
import { pageWords } from './page-words.ts'
import { logoRoute } from './logo.ts'
import { paperPages } from './papers.tsx'
import { serviceData } from './service-data.ts'
import { stopMailsPage } from './stop-mails-page.tsx'
import { verifyPages } from './verify/verify-pages.tsx'

type HonoContext = Context<{ Bindings: RequestContext }>

export function widgetPages(service: Service, web: WebApp): void {
  web.get('/widget/wallet', (c) => hostedPage(service, c, 'wallet'))
  web.get('/widget/topup', (c) => hostedPage(service, c, 'topup'))
  logoRoute(service, web)
  paperPages(service, web)
  stopMailsPage(service, web)
  verifyPages(service, web)
}

async function hostedPage(service: Service, c: HonoContext, page: PageData['page']): Promise<Response> {
  c.env.route = `/widget/${page}`
  const theme = themeOf(c.req.query('theme'))
  const placement = await findPlacement(service, {
    session: c.req.query('session'),
    clientId: c.req.query('clientId'),
    referer: c.req.header('referer'),
  })
  // The app's choice in the address comes first, then the user's, then the browser's.
  const browser = negotiateLanguage(c.req.query('lang'), c.req.header('accept-language'))
  const chosen = placement.kind === 'session' ? placement.session.language : null
  const language = (c.req.query('lang') === undefined && chosen && languages.get(chosen)) || browser
  if (placement.kind === 'unknown') return await explain(service, language, theme, explanationOf(placement.reason, c))
  const asked = { amount: c.req.query('amount'), reason: c.req.query('reason') }
  const later = await laterFiles(page, language)
  const others = page === 'wallet' ? await languageFiles() : undefined
  const data = pageData(service, placement, { page, language, browserLang: browser.code, theme, later, others, asked })
  const nonce = newNonce()
  const html = renderPage(
    {
      title: [
        page === 'topup' ? language.wallet.addMoney : language.wallet.wallet,
        placement.app.name,
        data.service.name,
      ].join(' · '),
      lang: language.code,
      dir: language.dir,
      theme,
      styles: [await styleUrl('widget.css'), ...(page === 'topup' ? [await styleUrl('topup.css')] : [])],
      scripts: await scriptUrls(`${page}.js`),
      inlineStyle: brandStyle(placement.app.accentColor),
      data,
      isHydrated: true,
      body: (
        <>
          <NoScript words={language.wallet} nonce={nonce} />
          <main id="root" class={`widget ${page}`}>
            {page === 'topup' ? <TopupApp page={data} /> : <WalletApp page={data} />}
          </main>
        </>
      ),
    },
    nonce,
  )
  // The HTML contains no session token and nothing else that is secret, so it may be compressed.
  const cards = page === 'topup' ? cardSources(service) : {}
  // The wallet opens the top-up window, and the app's page may: both keep their handle, through which the window finds the wallet,
  // receives renewed sessions and reports the payment. Tried in Chromium: any other value on the top-up page ends that.
  const openerPolicy = page === 'topup' ? ('unsafe-none' as const) : ('same-origin-allow-popups' as const)
  const policy = { nonce, frameAncestors: placement.parents, openerPolicy, ...cards }
  return compressedPageResponse(html, policy, c.req.header('accept-encoding') ?? '')
}

type Known = Exclude<Placement, { kind: 'unknown' }>
type Shown = {
  page: PageData['page']
  language: Language
  browserLang: string
  theme: PageData['theme']
  later: PageData['later']
  others: PageData['languages']
  asked: { readonly amount: string | undefined; readonly reason: string | undefined }
}

function pageData(service: Service, { kind, app, parents }: Known, shown: Shown): PageData {
  const { page, language, browserLang, theme, later, others } = shown
  const { currency, cards, topup, about } = service.config
  return {
    page,
    kind,
    lang: language.code,
    dir: language.dir,
    browserLang,
    theme,
    words: pageWords(page, language),
    later,
    ...(others && { languages: others }),
    clientId: app.clientId,
    appName: app.name,
    logo: logoPath(app),
    service: serviceData(about),
    parents,
    topup: {
      processor: cards.processor,
      currency: currency.code,
      decimals: currency.decimals,
      min: majorNumber(topup.minMinor, currency),
      max: majorNumber(topup.maxMinor, currency),
      need: needOf(service.config, shown.asked.amount),
      reason: reasonOf(shown.asked.reason),
      scriptUrl: service.cards?.page.scriptUrl ?? null,
    },
  }
}

function needOf({ currency }: Config, asked: string | undefined): number | null {
  const minor = parseDecimal(asked ?? '', currency)
  return minor === undefined || minor <= 0n || minor > maxBalanceMinor ? null : majorNumber(minor, currency)
}

const maxReason = 80

/** One line of text, without bidirectional control characters and other invisible characters. */
function reasonOf(asked: string | undefined): string | null {
  const line = (asked ?? '').replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim()
  const letters = Array.from(line)
  const text = letters.length > maxReason ? `${letters.slice(0, maxReason - 1).join('')}…` : line
  return text === '' ? null : text
}

/** The content security policy sources that the card processor's form needs. */
function cardSources({ cards }: Service) {
  const { scriptSources = [], frameSources = [], connectSources = [] } = cards?.page ?? {}
  return { scriptSources, frameSources, connectSources }
}

function themeOf(asked: string | undefined): PageData['theme'] {
  return asked === 'light' || asked === 'dark' ? asked : undefined
}

function explanationOf(reason: Unplaced, c: HonoContext): Explanation {
  const isFramed = ['iframe', 'frame', 'embed', 'object'].includes(c.req.header('sec-fetch-dest') ?? '')
  return { reason, isFramed, origin: originOf(c.req.header('referer')) ?? '' }
}

/** Where no page may frame the explanation, it is only visible in a window, and a frame shows the browser's own error. */
async function explain(
  { config }: Service,
  language: Language,
  theme: PageData['theme'],
  what: Explanation,
): Promise<Response> {
  const nonce = newNonce()
  const words = language.wallet
  const shell = { lang: language.code, dir: language.dir, theme, styles: [await styleUrl('widget.css')] }
  const parents = explanationParents(what)
  if (parents.length > 0) {
    const body = <FramedExplanation what={what} words={words} />
    return inertPageResponse(renderPage({ ...shell, title: words.wallet, body }, nonce), parents, 403)
  }
  const body = <ExplainPage what={what} words={words} service={serviceData(config.about)} />
  const html = renderPage({ ...shell, title: `${words.wallet} · ${config.about.name}`, body }, nonce)
  return pageResponse(html, { nonce, frameAncestors: [] }, isOutside(what) ? 400 : 403)
}
