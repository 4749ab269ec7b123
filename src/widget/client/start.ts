/** Starts the script of either page. */
import { hydrate, render, type VNode } from 'preact'
import type { PageData } from '../page-data.ts'
import { copyEntry, restoreEntry } from './history-entry.ts'
import { takeSession, type FirstSession } from './session-in-history.ts'
import { isFramed, openParent, type Parent } from './parent.ts'
import { reportHeight } from './resize.ts'
import { explainIframeSandbox } from './iframe-sandbox.tsx'
import { openOpener } from './topup/window.ts'

/** What exists only in a browser; absent when the server renders. */
export type Surroundings = { readonly first: FirstSession; readonly parent: Parent }

/** `keep` returns what the page keeps of its address besides the session. */
export function start(
  view: (page: PageData, here: Surroundings) => VNode,
  keep?: (page: PageData) => object | undefined,
): void {
  const page = JSON.parse(document.getElementById('data')!.textContent) as PageData
  const root = document.getElementById('root')!
  // The sandbox lacks allow-same-origin: our own API would refuse every call, and the history is not writable.
  if (self.origin === 'null') {
    root.replaceChildren()
    return render(explainIframeSandbox(page), root)
  }
  const isWindow = page.page === 'topup' && !isFramed()
  const parent = isWindow ? openOpener(page.parents) : openParent(page.parents)
  // The focus moves only after the user has used the page; see `Heading`.
  for (const type of ['pointerdown', 'keydown'])
    addEventListener(type, () => (document.body.dataset['used'] = ''), { once: true, capture: true })
  reportHeight(root, (height) => parent.post({ type: 'SERVICE_RESIZE', version: 1, height }))
  restoreEntry()
  addEventListener('popstate', copyEntry)
  const first = takeSession(page, keep?.(page))
  if (first.isFromHistory && page.kind === 'signed-out') {
    // The server rendered the signed-out page, because the address has no session; the history has one.
    root.replaceChildren()
    render(view({ ...page, kind: 'session' }, { first, parent }), root)
  } else hydrate(view(page, { first, parent }), root)
}
