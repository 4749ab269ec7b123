/** The parent page: where messages are posted to, and whose messages are accepted. All others are ignored. */
import { parseHostMessage } from '../../../sdk/contract/messages.ts'
import type { WidgetMessage } from '../../../sdk/contract/messages.ts'

export type Parent = {
  readonly isThere: boolean
  post(message: WidgetMessage): void
  /** Calls `onSession` with each session token that the parent posts. Returns a function that stops listening. */
  listen(onSession: (sessionToken: string) => void): () => void
}

/** False on the server, so the first view in the browser must not depend on it. */
export function isFramed(): boolean {
  return typeof window !== 'undefined' && window.parent !== window
}

export function openParent(origins: readonly string[]): Parent {
  const isThere = isFramed()
  // Some browsers expose the parent's origin. Then no other origin is posted to: the browser would drop those messages anyway.
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

/** Accepts sessions from senders that `isTrusted` accepts, never from this window: a window without a parent is its own parent. */
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
 * The origins to post to: only the other window's origin if it is known, from the browser or the Referer, and allowed. Otherwise
 * every allowed origin: the browser delivers to the right one and logs a console warning for each of the others.
 */
export function targetsAmong(origins: readonly string[], known?: string): readonly string[] {
  if (known !== undefined) return origins.filter((origin) => origin === known)
  const { referrer } = document
  const from = URL.canParse(referrer) ? new URL(referrer).origin : ''
  return origins.includes(from) ? [from] : origins
}
