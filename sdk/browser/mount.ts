/** Mounts a wallet in an element of your page: the frame, its sessions and the whole link flow. */
import type { WidgetMessage } from '../contract/messages.ts'
import { checkAnswer, readSessionToken } from './backend-answer.ts'
import { openFrame } from './frame.ts'
import { newTopUpWatch, watchWindow } from './topup.ts'
import type { TopUpOutcome, TopUpRequest, TopUpWatch } from './topup.ts'
import type { Frame } from './frame.ts'
import { WalletError } from './wallet-error.ts'
import type { WalletErrorCode } from './wallet-error.ts'

export type WalletSession = { sessionToken: string; expiresAt: string }

export type WalletLink = { serviceUserId: string; linkCode: string }

export type MountOptions = {
  /** Where the service runs, for example `https://wallet.example.com`. */
  baseUrl: string
  clientId: string
  /**
   * Requests a session from your backend. Return the session, null if the user has not linked a wallet, or the backend's
   * `Response` with one of these as JSON: then errors say what it answered.
   */
  fetchSession: (page: { parentOrigin: string }) => Promise<WalletSession | Response | null>
  /**
   * The user signed in. Have your backend verify `linkCode` and store the id on the current user. The SDK awaits the result
   * before it fetches a session. Return the backend's `Response`: its error status then is a `LINK_FAILED`.
   */
  onLinked: (link: WalletLink) => unknown
  /** The user wants to sign out or to switch accounts. Have your backend remove the stored id. The SDK awaits the result. */
  onUnlinked?: () => unknown
  /** The wallet changed: refresh what your page shows of it, from your backend. */
  onUpdated?: () => unknown
  /** Receives every message of the widget. */
  onEvent?: (message: WidgetMessage) => unknown
  /** Without it, errors go to the page's `error` event, through `reportError`. */
  onError?: (error: WalletError) => unknown
  /** Passed to `fetchSession`. Default: the origin of this page. */
  parentOrigin?: string
  /** Language of the widget, for example `de`. Default: the user's choice, or else the browser's language. */
  lang?: string
  /** Default: the browser's colour scheme. */
  theme?: 'light' | 'dark'
  /** Accessible name of the frame. Default: `Wallet`. */
  title?: string
  /** Default: 15 000. */
  loadTimeoutMs?: number
}

export type WalletHandle = {
  /** Reloads the widget with a new session. */
  reload(): Promise<void>
  /**
   * Asks the user to add money: in a separate window, or in the frame if the browser blocks the window. Call it soon after a
   * click. A second call replaces the first, which then resolves as `closed`.
   */
  topUp(request?: TopUpRequest): Promise<TopUpOutcome>
  /** Removes the frame and all listeners and timers. */
  unmount(): void
}

/** More renewals than this in ten seconds mean that new sessions are already expired, so renewing again would never end. */
const maxRenewals = 5

export function mountWallet(element: Element, options: MountOptions): WalletHandle {
  let baseUrl = new URL(options.baseUrl).href
  while (baseUrl.endsWith('/')) baseUrl = baseUrl.slice(0, -1)
  let frame: Frame | null = null
  let isMounted = true
  /** Incremented by every load. The result of an older load is dropped. */
  let generation = 0
  let isLinking = false
  let isRenewing = false
  let hasExpired = false
  let renewals: number[] = []
  /** The token of the widget's session; null while it shows its sign-in form. */
  let token: string | null = null
  let topup: (TopUpWatch & { readonly isInFrame: boolean; readonly close?: () => void }) | null = null

  async function load(withSession: boolean, isLinked = false): Promise<void> {
    const mine = ++generation
    try {
      const sessionToken = withSession ? await askForSession() : null
      if (mine !== generation) return
      openPage(sessionToken)
      if (isLinked && sessionToken === null) fail('LINK_FAILED', { cause: notStored() })
    } catch (cause) {
      if (mine === generation) failSession(cause)
    }
  }

  async function askForSession(): Promise<string | null> {
    return await readSessionToken(await options.fetchSession({ parentOrigin: options.parentOrigin ?? location.origin }))
  }

  /** Opens a new frame each time: setting `src` again would add a history entry and leave old messages in flight. */
  function openPage(sessionToken: string | null, url = widgetUrl('wallet', sessionToken)): void {
    hasExpired = false
    token = sessionToken
    leaveFrame()
    frame = openFrame(element, frame, {
      url,
      baseUrl,
      title: options.title ?? 'Wallet',
      loadTimeoutMs: options.loadTimeoutMs ?? 15_000,
      onMessage: receive,
      onFailure: (code) => fail(code),
    })
  }

  function widgetUrl(
    page: 'wallet' | 'topup',
    sessionToken: string | null,
    { amount, reason }: TopUpRequest = {},
  ): string {
    const query = new URLSearchParams({ clientId: options.clientId })
    if (sessionToken !== null) query.set('session', sessionToken)
    if (options.lang) query.set('lang', options.lang)
    if (options.theme) query.set('theme', options.theme)
    if (amount !== undefined) query.set('amount', String(amount))
    if (reason) query.set('reason', reason)
    return `${baseUrl}/widget/${page}?${query}`
  }

  function receive(message: WidgetMessage): void {
    callSafely(() => options.onEvent?.(message))
    switch (message.type) {
      case 'SERVICE_AUTH_SUCCESS': {
        const { serviceUserId, linkCode } = message
        void relink(() => options.onLinked({ serviceUserId, linkCode }), true)
        break
      }
      case 'SERVICE_LOGOUT_REQUEST':
        void relink(() => options.onUnlinked?.(), false)
        break
      case 'SERVICE_SESSION_EXPIRING':
        void renew()
        break
      case 'SERVICE_SESSION_EXPIRED':
        hasExpired = true
        void renew()
        break
      case 'SERVICE_WALLET_UPDATED':
        if (message.paid !== undefined && topup?.isInFrame) topup.settle({ status: 'paid', amount: message.paid })
        callSafely(() => options.onUpdated?.())
        break
      case 'SERVICE_RESIZE':
        frame?.resize(message.height)
        break
      case 'SERVICE_OPEN_TOPUP':
        openTopup(message.url)
        break
      case 'SERVICE_ERROR':
        fail(message.code === 'ORIGIN_NOT_ALLOWED' ? 'NOT_ALLOWED' : 'SERVICE_ERROR', { serviceCode: message.code })
        break
      case 'SERVICE_WALLET_LOADED':
        if (message.page === undefined) leaveFrame()
        break
      case 'SERVICE_AUTH_REQUIRED':
        token = null
        leaveFrame()
    }
  }

  /** Changes the link in the backend before it loads the frame, so that the new session belongs to the new link. */
  async function relink(change: () => unknown, withSession: boolean): Promise<void> {
    if (isLinking) return
    isLinking = true
    try {
      await checkAnswer(await change())
      if (isMounted) await load(withSession, withSession)
    } catch (cause) {
      fail('LINK_FAILED', { cause })
    } finally {
      isLinking = false
    }
  }

  async function renew(): Promise<void> {
    if (isRenewing) return
    isRenewing = true
    const mine = generation
    try {
      const now = Date.now()
      renewals = [...renewals.filter((time) => now - time < 10_000), now]
      if (renewals.length > maxRenewals) throw new Error('New sessions expire at once.')
      const sessionToken = await askForSession()
      if (mine !== generation) return
      hasExpired = false
      token = sessionToken
      if (sessionToken === null) openPage(null)
      else frame?.post({ type: 'SERVICE_SESSION', version: 1, sessionToken })
    } catch (cause) {
      // Not an error yet: when the session expires, the widget says so, and the renewal is tried once more.
      if (mine === generation && hasExpired) failSession(cause)
    } finally {
      isRenewing = false
    }
  }

  function openTopup(url: string): void {
    const { origin, pathname } = new URL(url)
    if (origin + pathname === `${baseUrl}/widget/topup`) openWindow(url)
  }

  async function topUp(request: TopUpRequest = {}): Promise<TopUpOutcome> {
    if (token === null) await loading
    if (token === null || !isMounted) return { status: 'signed-out' }
    topup?.settle({ status: 'closed' })
    topup?.close?.()
    const url = widgetUrl('topup', token, request)
    const opened = openWindow(url)
    if (opened === null) {
      openPage(token, url)
      topup = { ...newTopUpWatch(), isInFrame: true }
    } else topup = { ...watchWindow(opened, new URL(baseUrl).origin), isInFrame: false, close: () => opened.close() }
    return await topup.outcome
  }

  /** Called when the frame stops showing a top-up. */
  function leaveFrame(): void {
    if (topup?.isInFrame) topup.settle({ status: 'closed' })
  }

  function failSession(cause: unknown): void {
    const isRefusedOrigin = (cause as { code?: unknown } | null)?.code === 'ORIGIN_NOT_ALLOWED'
    fail(isRefusedOrigin ? 'NOT_ALLOWED' : 'SESSION_FAILED', { cause })
  }

  function fail(code: WalletErrorCode, details?: ConstructorParameters<typeof WalletError>[1]): void {
    if (!isMounted) return
    const error = new WalletError(code, details)
    const { onError } = options
    if (onError) callSafely(() => onError(error))
    else reportError(error)
  }

  let loading = load(true)
  return {
    reload: () => (isMounted ? (loading = load(true)) : Promise.resolve()),
    topUp,
    unmount: () => {
      isMounted = false
      topup?.settle({ status: 'closed' })
      generation++
      frame?.close()
      frame = null
    },
  }
}

/** The window keeps its opener: through it the window finds the wallet in this page and receives renewed sessions. */
function openWindow(url: string): Window | null {
  return open(url, '_blank', 'popup,width=480,height=760')
}

function notStored(): Error {
  return new Error(
    'onLinked reported no error, but fetchSession then gave no session: the backend has not stored the link.',
  )
}

/** An exception in a callback of the page must not stop the widget. */
function callSafely(callback: () => unknown): void {
  try {
    callback()
  } catch (error) {
    reportError(error)
  }
}
