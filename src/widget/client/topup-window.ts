/** The top-up page in a window of its own. Must be called inside the click: later, the browser takes it for an advertisement. */
import type { FrameData } from '../frame-data.ts'

export type TopupWindow = { renew(sessionToken: string): void }

export function topupUrl({ lang, theme }: FrameData, session: string): string {
  const url = new URL('/widget/topup', location.origin)
  url.searchParams.set('session', session)
  url.searchParams.set('lang', lang)
  if (theme) url.searchParams.set('theme', theme)
  return url.href
}

/** Undefined when the browser blocked it. */
export function openTopupWindow(url: string): TopupWindow | undefined {
  const opened = window.open(url, '_blank', 'popup,width=480,height=760')
  if (opened === null) return undefined
  return {
    renew: (sessionToken) => {
      // Our own page in our own window; should it have gone elsewhere, the browser drops this.
      opened.postMessage({ type: 'SERVICE_SESSION', version: 1, sessionToken }, location.origin)
    },
  }
}
