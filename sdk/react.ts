/** `@billfold/sdk/react`: the wallet as a component and as a hook. It uses the React of your page. */
import { createElement, useCallback, useEffect, useRef, useState } from 'react'
import type { CSSProperties, ReactElement } from 'react'
import { mountWallet } from './browser/mount.ts'
import type { MountOptions, WalletHandle } from './browser/mount.ts'
import type { TopUpOutcome, TopUpRequest } from './browser/topup.ts'
import type { WalletError } from './browser/wallet-error.ts'
import type { WidgetMessage } from './contract/messages.ts'

export type { MountOptions, WalletLink, WalletSession } from './browser/mount.ts'
export type { TopUpOutcome, TopUpRequest } from './browser/topup.ts'
export { WalletError } from './browser/wallet-error.ts'
export type { WalletErrorCode } from './browser/wallet-error.ts'

/** `sign-in`: the widget asks the user to sign in. `ready`: it shows the wallet. */
export type WalletStatus = 'loading' | 'sign-in' | 'ready'

export type UsedWallet = {
  /** The ref of the element that holds the wallet: `<div ref={ref} />`. The element must have no children. */
  readonly ref: (element: Element | null) => void
  readonly status: WalletStatus
  /** The last error; null again when the widget shows the wallet or its sign-in form. */
  readonly error: WalletError | null
  /** Reloads the widget with a new session. */
  readonly reload: () => Promise<void>
  /** Asks the user to add money. Call it soon after a click. */
  readonly topUp: (request?: TopUpRequest) => Promise<TopUpOutcome>
}

export type WalletProps = MountOptions & { id?: string; className?: string; style?: CSSProperties }

export function Wallet({ id, className, style, ...options }: WalletProps): ReactElement {
  const { ref } = useWallet(options)
  return createElement('div', { id, className, style, ref })
}

type Shown = { readonly status: WalletStatus; readonly error: WalletError | null }

const nothingYet: Shown = { status: 'loading', error: null }

/** Callbacks may be new functions on every render. The widget remounts only when another option changes. */
export function useWallet(options: MountOptions): UsedWallet {
  const latest = useRef(options)
  const handle = useRef<WalletHandle | null>(null)
  const [element, ref] = useState<Element | null>(null)
  const [shown, show] = useState(nothingYet)
  const { baseUrl, clientId, lang, theme, title, parentOrigin, loadTimeoutMs } = options

  useEffect(() => {
    latest.current = options
  })

  useEffect(() => {
    if (element === null) return undefined
    let isGone = false
    show(nothingYet)
    // Strict mode cleans up every effect at once and runs it again: the first run must not request a session.
    queueMicrotask(() => {
      if (!isGone) handle.current = mountWallet(element, mountOptions(latest, show))
    })
    return () => {
      isGone = true
      handle.current?.unmount()
      handle.current = null
    }
  }, [element, baseUrl, clientId, lang, theme, title, parentOrigin, loadTimeoutMs])

  const reload = useCallback(async () => await handle.current?.reload(), [])
  const topUp = useCallback(
    async (request?: TopUpRequest): Promise<TopUpOutcome> =>
      (await handle.current?.topUp(request)) ?? { status: 'signed-out' },
    [],
  )
  return { ref, reload, topUp, ...shown }
}

function mountOptions(latest: { readonly current: MountOptions }, show: (change: (now: Shown) => Shown) => void) {
  const options: MountOptions = {
    ...latest.current,
    fetchSession: (page) => latest.current.fetchSession(page),
    onLinked: (link) => latest.current.onLinked(link),
    onUnlinked: () => latest.current.onUnlinked?.(),
    onUpdated: () => latest.current.onUpdated?.(),
    onEvent: (message) => {
      show((now) => shownAfter(message, now))
      latest.current.onEvent?.(message)
    },
    onError: (error) => {
      show((now) => ({ ...now, error }))
      const { onError } = latest.current
      if (onError) onError(error)
      else reportError(error)
    },
  }
  return options
}

function shownAfter({ type }: WidgetMessage, now: Shown): Shown {
  if (type === 'SERVICE_WALLET_LOADED') return { status: 'ready', error: null }
  if (type === 'SERVICE_AUTH_REQUIRED') return { status: 'sign-in', error: null }
  return type === 'SERVICE_AUTH_SUCCESS' || type === 'SERVICE_LOGOUT_REQUEST' ? { ...now, status: 'loading' } : now
}
