import { readFileSync } from 'node:fs'
import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { moneyText } from '../src/ledger/money.ts'
import type { CurrencyDecimals } from '../src/cards/processor.ts'
import type { SandboxDeps } from './change.ts'

/** The sandbox's dependencies, and those of its pages. */
export type SandboxPageDeps = SandboxDeps & {
  readonly decimalsOf: CurrencyDecimals
  /** The origins that may frame the top-up page, and so the card form inside it. Default: only our own. */
  readonly frameAncestors?: (topup: { userId: string; topupId: string }) => Promise<readonly string[]>
}

/** The service's stylesheet, then the sandbox's own: its card form looks like the wallet around it. */
export const sandboxStyle = ['../src/web/style.css', './sandbox.css']
  .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('\n')

type PageProps = {
  deps: SandboxPageDeps
  title: string
  wide?: boolean
  isEmbedded?: boolean
  children: ComponentChildren
}

function Document({ deps, title, wide = false, isEmbedded = false, children }: PageProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{`${title} · Sandbox`}</title>
        <link rel="stylesheet" href={`${deps.basePath}/style.css`} />
      </head>
      <body class={isEmbedded ? 'sandbox embedded' : 'sandbox'}>
        <header class="sandbox-ribbon">
          <strong>Test mode</strong>
          <span>No real card, no real money.</span>
        </header>
        <main class={wide ? 'sandbox-wide' : 'sandbox-narrow'}>{children}</main>
      </body>
    </html>
  )
}

export function renderPage(page: PageProps): string {
  return `<!doctype html>${renderToString(<Document {...page} />)}`
}

export function NoticePage({ title, text }: { title: string; text: string }) {
  return (
    <section class="sandbox-card">
      <h1>{title}</h1>
      <p>{text}</p>
    </section>
  )
}

export function shownMoney(amountMinor: bigint, code: string, { decimalsOf }: SandboxPageDeps): string {
  return moneyText(amountMinor, { code, decimals: decimalsOf(code) })
}
