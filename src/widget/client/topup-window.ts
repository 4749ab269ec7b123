/** The top-up page in a window of its own. Opened inside the handler of the click: later, the pop-up blocker stops it. */
import type { PageData } from '../page-data.ts'
import { openParent } from './parent.ts'

export type TopupWindow = { renew(sessionToken: string): void }

export function topupUrl(page: PageData, session: string): string {
  return pageUrl('/widget/topup', page, session)
}

export function walletUrl(page: PageData, session: string): string {
  return pageUrl('/widget/wallet', page, session)
}

function pageUrl(path: string, { lang, theme }: PageData, session: string): string {
  const url = new URL(path, location.origin)
  url.searchParams.set('session', session)
  url.searchParams.set('lang', lang)
  if (theme) url.searchParams.set('theme', theme)
  return url.href
}

/** Undefined when the browser blocked the window. */
export function openTopupWindow(url: string): TopupWindow | undefined {
  const opened = window.open(url, '_blank', 'popup,width=480,height=760')
  if (opened === null) return undefined
  return {
    renew: (sessionToken) => {
      // The target origin is ours: if the window has navigated to another site, the browser drops the message.
      opened.postMessage({ type: 'SERVICE_SESSION', version: 1, sessionToken }, location.origin)
    },
  }
}

/** On the server nothing is framed yet, and the browser's first view must be the same. */
export function isFramed(): boolean {
  return typeof window !== 'undefined' && window.parent !== window
}

/**
 * Tells the page around this frame, and the window that opened this one (the wallet in its frame, or the app's own page). The
 * browser drops each post whose target origin is another. Where there is neither, the wallet learns it from its event stream.
 */
export function tellWalletUpdated(parents: readonly string[]): void {
  const message = { type: 'SERVICE_WALLET_UPDATED', version: 1 } as const
  openParent(parents).post(message)
  const opener = window.opener as Window | null
  if (opener !== null) for (const origin of [location.origin, ...parents]) opener.postMessage(message, origin)
}
