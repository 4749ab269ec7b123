/** What both scripts begin with. */
import { hydrate, render, type VNode } from 'preact'
import type { PageData } from '../page-data.ts'
import { takeSession, type FirstSession } from './session-in-history.ts'
import { isFramed, openParent, type Parent } from './parent.ts'
import { reportHeight } from './resize.ts'
import { explainIframeSandbox } from './iframe-sandbox.tsx'
import { openOpener } from './topup/window.ts'

/** What only a browser has; absent while the server renders. */
export type Surroundings = { readonly first: FirstSession; readonly parent: Parent }

export function start(view: (page: PageData, here: Surroundings) => VNode): void {
  const page = JSON.parse(document.getElementById('data')!.textContent) as PageData
  const root = document.getElementById('root')!
  // A sandbox without allow-same-origin: no call of ours would be answered, and the history cannot be written.
  if (self.origin === 'null') {
    root.replaceChildren()
    return render(explainIframeSandbox(page), root)
  }
  const isWindow = page.page === 'topup' && !isFramed()
  const parent = isWindow ? openOpener(page.parents) : openParent(page.parents)
  // Focus is moved only for people who have already used the page; see `Heading`.
  for (const type of ['pointerdown', 'keydown'])
    addEventListener(type, () => (document.body.dataset['used'] = ''), { once: true, capture: true })
  reportHeight(root, (height) => parent.post({ type: 'SERVICE_RESIZE', version: 1, height }))
  const first = takeSession(page)
  if (first.isFromHistory && page.kind === 'signed-out') {
    // The server saw an address without a session, and rendered what that means; the browser knows better.
    root.replaceChildren()
    render(view({ ...page, kind: 'session' }, { first, parent }), root)
  } else hydrate(view(page, { first, parent }), root)
}
