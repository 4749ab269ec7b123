/** Shown in a frame whose sandbox lacks allow-same-origin: without its origin nothing works, so the page explains the fix. */
import type { PageData } from '../page-data.ts'
import { PageContext } from './page-context.tsx'
import { Panel } from './parts.tsx'

export function explainIframeSandbox(page: PageData) {
  return (
    <PageContext.Provider value={page}>
      <Panel icon="shield" title={page.words.notAllowedTitle}>
        <p class="remedy muted" lang="en" dir="ltr">
          <strong>For developers.</strong> The frame’s sandbox lacks <code>allow-same-origin</code>. The contract’s list
          is <code>allow-same-origin allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox</code>.
        </p>
      </Panel>
    </PageContext.Provider>
  )
}
