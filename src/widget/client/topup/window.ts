/**
 * The top-up page in a separate window, opened by the parent page or by the wallet's own link. Through its opener the window
 * finds the wallet, a frame of our own origin, and requests the current session from it: paying may take longer than the session
 * that the window was opened with.
 */
import type { PageData } from '../../page-data.ts'
import { writeEntry } from '../history-entry.ts'
import { listenForSessions, targetsAmong, type Parent } from '../parent.ts'

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

/** Keeps the app's page that led here in the history entry: after a reload the Referer is this page itself. */
export function keepAppUrl({ parents }: PageData): void {
  const { referrer } = document
  if (isAmong(parents, referrer)) writeEntry('replaceState', { ...(history.state as object | null), app: referrer })
}

/** The app's page that led here, or else the first of the app's origins. */
export function appUrl({ parents }: PageData): string | undefined {
  const { app } = (history.state ?? {}) as { app?: unknown }
  return isAmong(parents, app) ? app : parents[0]
}

function isAmong(origins: readonly string[], url: unknown): url is string {
  return typeof url === 'string' && URL.canParse(url) && origins.includes(new URL(url).origin)
}

function pageUrl(path: string, { lang, theme, clientId }: PageData, session: string | null): string {
  const url = new URL(path, location.origin)
  if (session !== null) url.searchParams.set('session', session)
  url.searchParams.set('clientId', clientId)
  url.searchParams.set('lang', lang)
  if (theme) url.searchParams.set('theme', theme)
  return url.href
}

/** A top-up window announces itself to the wallets of its opener and requests the current session of this user. */
type SessionRequest = { readonly type: 'TOPUP_WINDOW'; readonly linkKey: string }

/** The parent of a top-up window: messages go to its opener, and sessions are accepted only from our own pages. */
export function openOpener(origins: readonly string[]): Parent {
  const opener = window.opener as Window | null
  return {
    isThere: opener !== null,
    post: (message) => {
      // Our own wallet as the opener gets the change from its event stream; the app's page has no stream.
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

/** For a wallet: calls `onWindow` for each top-up window that requests a session. */
export function listenForTopupWindows(onWindow: (topup: Window, linkKey: string) => void): () => void {
  function receive({ data, source, origin }: MessageEvent<Partial<SessionRequest> | null>): void {
    if (origin !== location.origin || source === null || source === window) return
    if (data?.type === 'TOPUP_WINDOW' && typeof data.linkKey === 'string') onWindow(source as Window, data.linkKey)
  }
  addEventListener('message', receive)
  return () => removeEventListener('message', receive)
}

/** The opener and its frames, as far as they are open pages of our origin. */
function walletsNearby(): Window[] {
  const opener = window.opener as Window | null
  if (opener === null || opener.closed) return []
  return [opener, ...Array.from({ length: opener.length }, (_, at) => opener[at]!)].filter(isOurs)
}

/** Checked before posting: the browser drops a message to another origin, but logs a console warning. */
function isOurs(other: Window): boolean {
  try {
    return other.location.origin === location.origin
  } catch {
    return false
  }
}
