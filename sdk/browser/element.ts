/**
 * `<billfold-wallet base-url client-id session-endpoint link-endpoint unlink-endpoint>`: the wallet as an element, without
 * writing script. The endpoints belong to your backend. The element dispatches the events billfold-event, billfold-updated
 * and billfold-error.
 */
import { mountWallet } from './mount.ts'
import type { MountOptions, WalletHandle } from './mount.ts'
import type { TopUpOutcome, TopUpRequest } from './topup.ts'

export interface BillfoldWalletElement extends HTMLElement {
  reload(): Promise<void>
  topUp(request?: TopUpRequest): Promise<TopUpOutcome>
}

declare global {
  interface HTMLElementTagNameMap {
    'billfold-wallet': BillfoldWalletElement
  }
}

const attributes = [
  'base-url',
  'client-id',
  'session-endpoint',
  'link-endpoint',
  'unlink-endpoint',
  'lang',
  'theme',
  'frame-title',
]

/**
 * Registers the element. It is safe to call twice, and to call on a server: there it does nothing, because a server has no
 * HTMLElement, which is also why the class is defined inside the function.
 */
export function defineWalletElement(): void {
  if (typeof customElements === 'undefined' || customElements.get('billfold-wallet')) return
  customElements.define(
    'billfold-wallet',
    class extends HTMLElement implements BillfoldWalletElement {
      static observedAttributes = attributes
      #handle: WalletHandle | null = null
      #isWaiting = false

      connectedCallback(): void {
        this.style.display ||= 'block'
        this.#remountSoon()
      }

      disconnectedCallback(): void {
        this.#handle?.unmount()
        this.#handle = null
      }

      attributeChangedCallback(): void {
        this.#remountSoon()
      }

      async reload(): Promise<void> {
        await this.#handle?.reload()
      }

      async topUp(request?: TopUpRequest): Promise<TopUpOutcome> {
        return (await this.#handle?.topUp(request)) ?? { status: 'signed-out' }
      }

      /** Mounts once for all attributes that a framework sets one after the other, and only when the required ones are set. */
      #remountSoon(): void {
        if (this.#isWaiting) return
        this.#isWaiting = true
        queueMicrotask(() => {
          this.#isWaiting = false
          this.#handle?.unmount()
          const options = this.isConnected ? optionsOf(this) : null
          this.#handle = options && mountWallet(this, options)
        })
      }
    },
  )
}

function optionsOf(element: HTMLElement): MountOptions | null {
  const [baseUrl, clientId, sessionUrl, linkUrl, unlinkUrl, lang, theme, title] = attributes.map((name) =>
    element.getAttribute(name),
  )
  if (!baseUrl || !clientId || !sessionUrl || !linkUrl) return null
  const dispatch = (name: string, detail?: unknown) =>
    element.dispatchEvent(new CustomEvent(`billfold-${name}`, { detail }))
  return {
    baseUrl,
    clientId,
    fetchSession: (page) => post(sessionUrl, page),
    onLinked: (link) => post(linkUrl, link),
    onUnlinked: () => unlinkUrl && post(unlinkUrl, {}),
    onUpdated: () => dispatch('updated'),
    onEvent: (message) => dispatch('event', message),
    onError: (error) => dispatch('error', error),
    ...(lang && { lang }),
    ...((theme === 'light' || theme === 'dark') && { theme }),
    ...(title && { title }),
  }
}

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}
