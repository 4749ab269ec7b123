/** The page around us: whom we tell, and whom we listen to. Everyone else is a stranger. */
import { parseHostMessage } from '../../../sdk/contract/messages.ts'
import type { WidgetMessage } from '../../../sdk/contract/messages.ts'

export type Parent = {
  readonly isThere: boolean
  post(message: WidgetMessage): void
  /** Calls back with each session token that the parent posts. Returns a function that stops listening. */
  listen(onSession: (sessionToken: string) => void): () => void
}

/** On the server nothing is framed yet, and the browser's first view must be the same. */
export function isFramed(): boolean {
  return typeof window !== 'undefined' && window.parent !== window
}

export function openParent(origins: readonly string[]): Parent {
  const isThere = isFramed()
  // Of a window around us the browser may tell the origin; then posts to others, which it would drop, are left out.
  const targets = targetsAmong(origins, location.ancestorOrigins?.[0])
  return {
    isThere,
    post: (message) => {
      if (isThere) for (const origin of targets) window.parent.postMessage(message, origin)
    },
    listen: (onSession) =>
      listenForSessions(onSession, ({ source, origin }) => source === window.parent && origins.includes(origin)),
  }
}

/** Sessions from whoever `isTrusted`. Not from ourselves: a window without a parent is its own. */
export function listenForSessions(
  onSession: (sessionToken: string) => void,
  isTrusted: (event: MessageEvent) => boolean,
): () => void {
  function receive(event: MessageEvent): void {
    if (event.source === null || event.source === window) return
    const message = parseHostMessage(event.data)
    if (message !== null && isTrusted(event)) onSession(message.sessionToken)
  }
  addEventListener('message', receive)
  return () => removeEventListener('message', receive)
}

/**
 * The origins to post to: the other window's own, if that is known and allowed. The browser tells it of the windows around us,
 * or the Referer does. Else each allowed origin: the browser drops all but the right one, with a line in the console for each.
 */
export function targetsAmong(origins: readonly string[], known?: string): readonly string[] {
  if (known !== undefined) return origins.filter((origin) => origin === known)
  const { referrer } = document
  const from = URL.canParse(referrer) ? new URL(referrer).origin : ''
  return origins.includes(from) ? [from] : origins
}
