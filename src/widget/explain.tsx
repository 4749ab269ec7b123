/** The pages shown instead of a wallet or a top-up that cannot be shown, and why it cannot. They need no script. */
import { Icon } from './client/icons.tsx'
import type { Words } from './words.ts'

export type Explanation = 'outside' | 'not-allowed'

export function ExplainPage({ what, words }: { what: Explanation; words: Words }) {
  const isOutside = what === 'outside'
  return (
    <main id="root" class="widget explain">
      <section class="panel card">
        <span class="panel-icon">
          <Icon name={isOutside ? 'window' : 'shield'} />
        </span>
        <h1>{isOutside ? words.outsideTitle : words.notAllowedTitle}</h1>
        <p class="muted">{isOutside ? words.outsideText : words.notAllowedText}</p>
      </section>
    </main>
  )
}

/** What a hosted page shows where scripts do not run. */
export function NoScript({ words, nonce }: { words: Words; nonce: string }) {
  return (
    <noscript>
      <style nonce={nonce}>{'#root{display:none}'}</style>
      <div class="widget explain" role="main">
        <section class="panel card">
          <span class="panel-icon">
            <Icon name="shield" />
          </span>
          <h1>{words.scriptTitle}</h1>
          <p class="muted">{words.scriptText}</p>
        </section>
      </div>
    </noscript>
  )
}
