/** Pages that cannot be what was asked for, and say why. They need no script. */
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

/** Takes the place of the page where scripts do not run. */
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
