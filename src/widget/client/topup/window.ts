/**
 * The top-up page in a window of its own. The page around the wallet opens it, or a person's click on the wallet's own link. By
 * its opener the window finds the wallet, a page of our own origin in a frame there, and asks it for the session as it is now:
 * paying may take longer than the session it was opened with.
 */
import type { PageData } from '../../page-data.ts'
import { listenForSessions, targetsAmong, type Parent } from '../parent.ts'

/** What somebody is short of, and what for. */
export type Need = { readonly amount: number; readonly reason: string | null }

export function topupUrl(page: PageData, session: string | null, need?: Need): string {
  const url = new URL(pageUrl('/widget/topup', page, session))
  if (need) url.searchParams.set('amount', String(need.amount))
  if (need?.reason) url.searchParams.set('reason', need.reason)
  return url.href
}

export function walletUrl(page: PageData, session: string | null): string {
  return pageUrl('/widget/wallet', page, session)
}

function pageUrl(path: string, { lang, theme, clientId }: PageData, session: string | null): string {
  const url = new URL(path, location.origin)
  if (session !== null) url.searchParams.set('session', session)
  url.searchParams.set('clientId', clientId)
  url.searchParams.set('lang', lang)
  if (theme) url.searchParams.set('theme', theme)
  return url.href
}

/** What a top-up window says to the wallets near its opener: I am here, for this person; which session is it now? */
type SessionRequest = { readonly type: 'TOPUP_WINDOW'; readonly linkKey: string }

/** Of a top-up window: what it tells goes to whoever opened it, and sessions come from our own pages alone. */
export function openOpener(origins: readonly string[]): Parent {
  const opener = window.opener as Window | null
  return {
    isThere: opener !== null,
    post: (message) => {
      // A wallet that opened us hears of it by its stream; the app's own page would not.
      if (message.type !== 'SERVICE_WALLET_UPDATED' || opener === null || isOurs(opener)) return
      for (const origin of targetsAmong(origins)) opener.postMessage(message, origin)
    },
    listen: (onSession) =>
      listenForSessions(onSession, ({ source, origin }) => {
        return origin === location.origin && walletsNearby().includes(source as Window)
      }),
  }
}

export function requestSession(linkKey: string): void {
  const asking: SessionRequest = { type: 'TOPUP_WINDOW', linkKey }
  for (const wallet of walletsNearby()) wallet.postMessage(asking, location.origin)
}

/** Of a wallet: hears the top-up windows of its person, which are then to be given each new session. */
export function listenForTopupWindows(onWindow: (topup: Window, linkKey: string) => void): () => void {
  function receive({ data, source, origin }: MessageEvent<Partial<SessionRequest> | null>): void {
    if (origin !== location.origin || source === null || source === window) return
    if (data?.type === 'TOPUP_WINDOW' && typeof data.linkKey === 'string') onWindow(source as Window, data.linkKey)
  }
  addEventListener('message', receive)
  return () => removeEventListener('message', receive)
}

/** The opener, or the frames in it: those that are pages of ours. Whoever closed or left is not among them. */
function walletsNearby(): Window[] {
  const opener = window.opener as Window | null
  if (opener === null || opener.closed) return []
  return [opener, ...Array.from({ length: opener.length }, (_, at) => opener[at]!)].filter(isOurs)
}

/** Looked at before anything is posted: a post to a stranger is dropped, but with a line in the console. */
function isOurs(other: Window): boolean {
  try {
    return other.location.origin === location.origin
  } catch {
    return false
  }
}
