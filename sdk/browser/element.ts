/**
 * `<billfold-wallet base-url client-id session-endpoint link-endpoint unlink-endpoint>`: the same wallet without a
 * line of script. The endpoints are your own backend's; it tells the page with the events billfold-event,
 * billfold-updated and billfold-error.
 */
import { mountWallet } from './mount.ts'
import type { MountOptions, WalletHandle, WalletSession } from './mount.ts'
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

/** Harmless to call twice, and on a server that renders pages: there is no HTMLElement there, so the class is made inside. */
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

      /** Once for all attributes a framework sets one after the other, and not before the needed ones are there. */
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
    fetchSession: (page) => fetchSession(sessionUrl, page),
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

/** An answer without a body, `null`, or an error with `requiresAuth` all mean: not linked. */
async function fetchSession(url: string, page: object): Promise<WalletSession | null> {
  try {
    return (await post(url, page)) as WalletSession | null
  } catch (error) {
    const { requiresAuth, code } = error as { requiresAuth?: unknown; code?: unknown }
    if (requiresAuth === true || code === 'ACCOUNT_NOT_LINKED') return null
    throw error
  }
}

async function post(url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.ok) return text === '' ? null : parseJson(text)
  throw Object.assign(new Error(`${url} answered ${response.status}`), parseJson(text))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
