/** The page around us: whom we tell, and whom we listen to. Everyone else is a stranger. */
import { parseHostMessage } from '../../../sdk/contract/messages.ts'
import type { WidgetMessage } from '../../../sdk/contract/messages.ts'

export type Parent = {
  readonly isThere: boolean
  post(message: WidgetMessage): void
  /** Calls back with each session token that the parent posts. Returns a function that stops listening. */
  listen(onSession: (sessionToken: string) => void): () => void
}

/** `teller` is the window that may give us sessions: the parent of a frame, or the opener of a top-up window. */
export function openParent(origins: readonly string[], teller: Window | null = window.parent): Parent {
  const isThere = window.parent !== window
  return {
    isThere,
    post: (message) => {
      if (isThere) for (const origin of targetsAmong(origins)) window.parent.postMessage(message, origin)
    },
    listen: (onSession) => {
      function receive(event: MessageEvent): void {
        if (event.source === null || event.source === window || event.source !== teller) return
        const message = parseHostMessage(event.data)
        if (message === null || !origins.includes(event.origin)) return
        onSession(message.sessionToken)
      }
      addEventListener('message', receive)
      return () => removeEventListener('message', receive)
    },
  }
}

/**
 * The target origins of a post: the parent's origin where the browser tells it, and only if it is allowed; else every allowed
 * origin, one post each. The browser drops the posts for other origins, with a line in the console for each.
 */
function targetsAmong(origins: readonly string[]): readonly string[] {
  const parent = location.ancestorOrigins?.[0]
  return parent === undefined ? origins : origins.filter((origin) => origin === parent)
}
