/**
 * This page's entry in the browser's history. It holds the session and names the open view, so a reload of the frame, Back and Forward
 * find them. When the page around the frame is reloaded, Chromium and Safari load the frame's first address into an entry without a
 * state: a copy in the tab's storage then restores everything but the session. Without storage the frame begins with its first view.
 */
import { isFramed } from './parent.ts'

const key = 'billfold-entry'

/** A reload leaves `length` as it is; another page of the app makes the history longer, up to the browser's limit. */
const mostEntries = 50
type Copy = readonly [path: string, length: number, state: object]

/** Safari throws after a hundred changes in half a minute: the page then works on without the entry. */
export function writeEntry(method: 'pushState' | 'replaceState', state: object, url?: URL): void {
  try {
    history[method](state, '', url)
  } catch {}
  copyEntry()
}

/**
 * The service knows the open payments, so the copy needs none. Nor does it count the entries before this one: where the count is wrong,
 * the button that closes a view would leave the app's page.
 */
export function copyEntry(): void {
  if (!isFramed()) return
  const state = { ...(history.state as { at?: object } | null), session: undefined, payment: undefined }
  if (state.at) state.at = { ...state.at, depth: 0 }
  try {
    sessionStorage.setItem(key, JSON.stringify([location.pathname, history.length, state] satisfies Copy))
  } catch {}
}

export function restoreEntry(): void {
  try {
    // Without a copy this throws.
    const [path, length, state] = JSON.parse(sessionStorage.getItem(key)!) as Copy
    const isReload = path === location.pathname && length === history.length && length < mostEntries
    if (isFramed() && !history.state && isReload) history.replaceState(state, '')
  } catch {}
}

/**
 * The available balance from which the app's need is counted: what came since then is not missing any more. After a reload the address may name
 * the same need again.
 */
export function availableAtNeed(
  { need, reason }: { readonly need: number | null; readonly reason: string | null },
  { linkKey, available }: { readonly linkKey: string; readonly available: number },
): number {
  const kept = (history.state ?? {}) as { asked?: readonly [string, number] }
  const asked = [linkKey, need, reason].join()
  if (kept.asked?.[0] === asked) return kept.asked[1]
  writeEntry('replaceState', { ...kept, asked: [asked, available] })
  return available
}
