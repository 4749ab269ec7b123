/** One iframe with one page of the service. All messages to and from it pass through here. */
import { parseWidgetMessage } from '../contract/messages.ts'
import type { HostMessage, WidgetMessage } from '../contract/messages.ts'
import { watchLoad } from './load-watch.ts'
import type { LoadFailure } from './load-watch.ts'

export type Frame = {
  readonly iframe: HTMLIFrameElement
  post(message: HostMessage): void
  resize(height: number): void
  close(): void
}

export type FrameOptions = {
  url: string
  baseUrl: string
  title: string
  loadTimeoutMs: number
  onMessage: (message: WidgetMessage) => void
  onFailure: (code: LoadFailure) => void
}

/** Replaces `old`, if there is one, and takes over its height, so that the page does not jump, and its focus. */
export function openFrame(parent: Element, old: Frame | null, options: FrameOptions): Frame {
  const { origin } = new URL(options.url)
  const iframe = document.createElement('iframe')
  iframe.title = options.title
  iframe.setAttribute('allow', 'payment *')
  iframe.setAttribute(
    'sandbox',
    'allow-same-origin allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox',
  )
  iframe.referrerPolicy = 'strict-origin'
  iframe.style.cssText = `display:block;width:100%;border:0;height:${old?.iframe.style.height ?? '320px'}`
  iframe.src = options.url

  const watch = watchLoad(iframe, options.baseUrl, options.loadTimeoutMs, options.onFailure)

  // Ignores everything but a well-formed message from the right window and the right origin.
  function receive(event: MessageEvent): void {
    if (event.source === null || event.source !== iframe.contentWindow) return
    const message = parseWidgetMessage(event.data)
    if (message === null || event.origin !== origin) return
    watch.stop()
    options.onMessage(message)
  }

  addEventListener('message', receive)
  const hadFocus = old !== null && (old.iframe.getRootNode() as Document | ShadowRoot).activeElement === old.iframe
  old?.close()
  parent.append(iframe)
  if (hadFocus) iframe.focus()

  return {
    iframe,
    post: (message) => iframe.contentWindow?.postMessage(message, origin),
    resize: (height) => {
      iframe.style.height = `${Math.ceil(height)}px`
    },
    close: () => {
      removeEventListener('message', receive)
      watch.stop()
      iframe.remove()
    },
  }
}
