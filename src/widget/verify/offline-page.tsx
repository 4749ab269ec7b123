/** The HTML of the page that checks files: one file with its script, its style and its words. It loads nothing. */
import { renderToString } from 'preact-render-to-string'
import { scriptJson } from '../../web/page.tsx'
import type { OfflineData } from './offline-data.ts'

type Parts = { readonly script: string; readonly style: string; readonly policy: string; readonly dir: 'ltr' | 'rtl' }

/** The policy is in the file too: a saved copy can load nothing and send nothing either. */
export function offlineHtml(data: OfflineData, { script, style, policy, dir }: Parts): string {
  const html = (
    <html lang={data.lang} dir={dir}>
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="content-security-policy" content={policy} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${data.words.title} · ${data.service}`}</title>
        <link rel="icon" href="data:," />
        <style dangerouslySetInnerHTML={{ __html: style }} />
      </head>
      <body>
        <main id="root">
          <h1>{data.words.title}</h1>
          <noscript>
            <p>{data.words.noScript}</p>
          </noscript>
        </main>
        <script type="application/json" id="data" dangerouslySetInnerHTML={{ __html: scriptJson(data) }} />
        <script type="module" dangerouslySetInnerHTML={{ __html: script }} />
      </body>
    </html>
  )
  return `<!doctype html>${renderToString(html)}`
}
