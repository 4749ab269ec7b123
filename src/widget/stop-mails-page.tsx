/**
 * /mails/stop, the target of the unsubscribe link in a mail. A GET changes nothing, because programs follow links in mails before
 * people do; the page's button, and a mail program's own (RFC 8058), post to the same address. The link is the only credential.
 */
import type { Context } from 'hono'
import { chooseMail, readStopLink, stopPath, type StopLink } from '../actions/mails/stop-mails.ts'
import type { Service } from '../actions/service.ts'
import { chooseLanguage, type Language } from '../languages/languages.ts'
import { parseAcceptLanguage } from '../web/accept-language.ts'
import { styleUrl } from '../web/assets.ts'
import { newNonce, pageResponse, renderPage } from '../web/page.tsx'
import type { RequestContext, WebApp } from '../web/request-context.ts'
import { ServicePage } from './explain.tsx'
import { serviceData } from './service-data.ts'

type HonoContext = Context<{ Bindings: RequestContext }>

const kinds = { receipts: 'receiptsKind', payments: 'paymentsKind', 'sign-ins': 'signInsKind' } as const

export function stopMailsPage(service: Service, web: WebApp): void {
  web.get(stopPath, (c) => stopMails(service, c, false))
  web.post(stopPath, (c) => stopMails(service, c, true))
}

async function stopMails(service: Service, c: HonoContext, isPost: boolean): Promise<Response> {
  c.env.route = stopPath
  const token = c.req.query('token') ?? ''
  const link = await readStopLink(service, token)
  const reader = link?.reader
  const asked = parseAcceptLanguage(c.req.header('accept-language'))
  const language = chooseLanguage(reader?.language, ...asked, reader?.pageLanguage)
  if (!link) return await showStopPage(service, language, { kind: 'bad' })
  if (isPost) {
    const from = { address: c.env.address, userAgent: c.req.header('user-agent') ?? null, lang: language.code }
    await chooseMail(service, link, { choice: link.choice, isWanted: false, ...from })
  }
  return await showStopPage(service, language, { kind: isPost ? 'done' : 'ask', link, token })
}

type Shown =
  | { readonly kind: 'bad' }
  | { readonly kind: 'ask' | 'done'; readonly link: StopLink; readonly token: string }

async function showStopPage(service: Service, { code, dir, mail: words }: Language, shown: Shown): Promise<Response> {
  const nonce = newNonce()
  const about = serviceData(service.config.about)
  const title = words[shown.kind === 'bad' ? 'stopBad' : shown.kind === 'done' ? 'stopDone' : 'stopAsk']
  const html = renderPage(
    {
      title: `${title} · ${about.name}`,
      lang: code,
      dir,
      styles: [await styleUrl('widget.css')],
      body: (
        <ServicePage
          service={about}
          icon={shown.kind === 'done' ? 'check' : shown.kind === 'bad' ? 'alert' : 'mail'}
          title={title}
        >
          {shown.kind === 'bad' ? (
            <p class="muted">{words.stopBadText}</p>
          ) : (
            <>
              <p>{words[kinds[shown.link.choice]]}</p>
              <p class="muted">{words.stopBack}</p>
            </>
          )}
          {shown.kind === 'ask' && (
            <form method="post" action={`${stopPath}?token=${encodeURIComponent(shown.token)}`}>
              <button class="button" type="submit">
                {words.stopButton}
              </button>
            </form>
          )}
        </ServicePage>
      ),
    },
    nonce,
  )
  return pageResponse(html, { nonce, formAction: "'self'" }, shown.kind === 'bad' ? 404 : 200)
}
