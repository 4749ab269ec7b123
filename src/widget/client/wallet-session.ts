/** A session from its token to its end: the state that the page shows and the messages to the parent. It does not touch the DOM. */
import type { AnyErrorCode } from '../../../sdk/contract.ts'
import { call, holdDevice, type Failure, type Proof, type WidgetWallet } from './call.ts'
import { backoffMs, openLive, type LiveChange } from './live.ts'
import { storeSession, type FirstSession } from './session-in-history.ts'
import type { PageData } from '../page-data.ts'
import type { Parent } from './parent.ts'
import type { StepName } from './sign-in-steps.ts'
import { listenForTopupWindows } from './topup/window.ts'

export type WalletState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'open'; readonly wallet: WidgetWallet; readonly clockSkewMs: number; readonly isOffline: boolean }
  /** The session has expired, and the parent should post a new one; `isStuck` if it has not done so in time. */
  | { readonly kind: 'expired'; readonly isStuck: boolean }
  /** The service no longer accepts the session; `reason` if it knows one. */
  | { readonly kind: 'ended'; readonly reason: string | undefined }
  | { readonly kind: 'failed'; readonly code: AnyErrorCode }
  | { readonly kind: 'signed-out'; readonly step?: StepName }

export type WalletSession = {
  readonly token: () => string | null
  /** Reads the wallet now instead of after the back-off. */
  retry(): void
  /** Reads the wallet, after the names or the language have changed. */
  refresh(): void
  /** Reads the wallet and resolves to its proof; to undefined if it could not be read. */
  readProof(): Promise<Proof | undefined>
  /** Reads the wallet after a payment on this page and reports the amount to the parent. `onPosted`: the message is sent. */
  reportPaid(amount: number, onPosted: () => void): void
  askForRenewal(): void
  /** Drops the session in this page: the user has logged out or must sign in again, at the given step. */
  signOut(step?: StepName): void
  close(): void
}

const warnBeforeMs = 45_000
const stuckAfterMs = 10_000

export type SessionEvents = {
  readonly state: (state: WalletState) => void
  /** The new session belongs to another user: nothing that was shown or typed may stay. */
  readonly anotherPerson: () => void
  /** A top-up window of this user has announced itself. */
  readonly topupWindow: () => void
}

export function openWalletSession(
  page: PageData['page'],
  first: FirstSession,
  firstKind: WalletState['kind'],
  parent: Parent,
  on: SessionEvents,
): WalletSession {
  let { token } = first
  let state: WalletState = { kind: 'loading' }
  let stream: { close(): void } | null = null
  let failures = 0
  /** The last wallet that was read: SERVICE_WALLET_UPDATED is posted when a newer one differs. */
  let known: WidgetWallet | null = null
  let warnedFor: string | null = null
  let expiresAtMs = Number.POSITIVE_INFINITY
  let reading: Promise<void> | null = null
  let nextReading: Promise<void> | null = null
  let renewal: string | null = null
  /** The payment of this page that is not reported to the parent yet. */
  let paid: { readonly amount: number; readonly onPosted: () => void } | null = null
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  const topupWindows = new Set<Window>()

  function changeState(next: WalletState): void {
    state = next
    storeSession(token)
    on.state(next)
  }

  function later(name: string, ms: number, action: () => void): void {
    clearTimeout(timers.get(name))
    timers.set(name, setTimeout(action, ms))
  }

  function stop(): void {
    stream?.close()
    stream = null
    for (const timer of timers.values()) clearTimeout(timer)
    expiresAtMs = Number.POSITIVE_INFINITY
  }

  /** Reads the wallet with the current session. Calls during a read share one more read after it. */
  function refresh(): Promise<void> {
    if (reading !== null) {
      nextReading ??= reading.then(() => {
        nextReading = null
        return refresh()
      })
      return nextReading
    }
    reading = read().finally(() => (reading = null))
    return reading
  }

  async function read(): Promise<void> {
    const mine = token
    if (mine === null) return
    const reply = await call<WidgetWallet>('wallet', mine)
    if (mine !== token) return
    if (reply.failure) fail(reply.failure)
    else take(mine, reply.body)
  }

  function take(newToken: string, wallet: WidgetWallet): void {
    const mustFollow = newToken !== token || stream === null
    token = newToken
    if (known !== null && known.linkKey !== wallet.linkKey) {
      known = null
      paid = null
      topupWindows.clear()
      holdDevice(null)
      on.anotherPerson()
    }
    for (const topup of topupWindows) sendSession(topup)
    const serverNow = Date.parse(wallet.serverTime)
    changeState({ kind: 'open', wallet, clockSkewMs: serverNow - Date.now(), isOffline: false })
    if (mustFollow) follow(newToken, Date.parse(wallet.expiresAt) - serverNow)
    if (known === null) parent.post({ type: 'SERVICE_WALLET_LOADED', version: 1, ...(page === 'topup' && { page }) })
    if (paid !== null) {
      parent.post({ type: 'SERVICE_WALLET_UPDATED', version: 1, paid: paid.amount })
      paid.onPosted()
      paid = null
    } else if (known !== null && isChanged(known, wallet)) parent.post({ type: 'SERVICE_WALLET_UPDATED', version: 1 })
    known = wallet
  }

  function sendSession(topup: Window): void {
    if (topup.closed) topupWindows.delete(topup)
    // If the window has navigated to another origin, the browser drops this message.
    else topup.postMessage({ type: 'SERVICE_SESSION', version: 1, sessionToken: token }, location.origin)
  }

  function addTopupWindow(topup: Window, linkKey: string): void {
    if (known?.linkKey !== linkKey) return
    topupWindows.add(topup)
    if (state.kind === 'open') sendSession(topup)
    on.topupWindow()
  }

  /**
   * Opens the event stream of a session. The expiry is also timed here, from the remaining time that the server reported, because
   * the visitor's clock may be wrong and the stream may be down.
   */
  function follow(mine: string, leftMs: number): void {
    stop()
    expiresAtMs = performance.now() + leftMs
    later('warn', leftMs - warnBeforeMs, warn)
    later('expire', leftMs, expire)
    stream = openLive(mine, {
      changed: (change) => {
        failures = 0
        if (state.kind !== 'open' || state.isOffline || isOutdated(state.wallet, change)) void refresh()
      },
      expiring: warn,
      expired: expire,
      ended: ({ code, reason }) => (code === 'SESSION_EXPIRED' ? expire() : end(code, reason)),
      lost: () => {
        stream = null
        reconnect()
      },
    })
  }

  function warn(): void {
    if (warnedFor === token || state.kind !== 'open') return
    warnedFor = token
    parent.post({ type: 'SERVICE_SESSION_EXPIRING', version: 1, expiresAt: state.wallet.expiresAt })
  }

  function expire(): void {
    if (state.kind === 'expired') return
    stop()
    changeState({ kind: 'expired', isStuck: false })
    askForRenewal()
  }

  function askForRenewal(): void {
    if (state.kind !== 'expired') return
    changeState({ kind: 'expired', isStuck: !parent.isThere })
    parent.post({ type: 'SERVICE_SESSION_EXPIRED', version: 1 })
    later('stuck', stuckAfterMs, () => {
      if (state.kind === 'expired') changeState({ kind: 'expired', isStuck: true })
    })
  }

  function end(code: AnyErrorCode, reason: string | undefined): void {
    const isNew = state.kind !== 'ended' || state.reason !== reason
    stop()
    // The operator may switch the app on again while the session lasts.
    if (reason !== 'app-off') token = null
    changeState({ kind: 'ended', reason })
    if (!isNew) return
    // The parent page may have a newer session than the history.
    if (isFromHistory()) parent.post({ type: 'SERVICE_SESSION_EXPIRED', version: 1 })
    else parent.post({ type: 'SERVICE_ERROR', version: 1, code })
  }

  function isFromHistory(): boolean {
    return first.isFromHistory && known === null
  }

  function fail({ code, reason }: Failure): void {
    if (code === 'SESSION_EXPIRED') return expire()
    // The server may already have deleted an old token from the history, so it counts as expired.
    if (code === 'INVALID_SESSION' && reason === undefined && isFromHistory()) return expire()
    if (code === 'INVALID_SESSION') return end(code, reason)
    if (state.kind === 'open') goOffline()
    else {
      const isNew = state.kind !== 'failed' || state.code !== code
      changeState({ kind: 'failed', code })
      if (isNew && code !== 'NO_NETWORK') parent.post({ type: 'SERVICE_ERROR', version: 1, code })
    }
    reconnect()
  }

  /** Reads the wallet before it opens another stream, because a refused EventSource hides the reason. */
  function reconnect(): void {
    failures++
    if (!navigator.onLine) goOffline()
    later('retry', backoffMs(failures, Math.random()), () => void refresh())
  }

  function retry(): void {
    failures = 0
    if (token !== null && (stream === null || state.kind === 'failed')) void refresh()
  }

  /** Tries a token that the parent posted. A refused token changes nothing; the newest of several is tried last and wins. */
  async function renew(sessionToken: string): Promise<void> {
    const isBusy = renewal !== null
    renewal = sessionToken
    if (isBusy) return
    while (renewal !== null) {
      const candidate: string = renewal
      const reply = candidate === token && state.kind === 'open' ? null : await call<WidgetWallet>('wallet', candidate)
      if (renewal === candidate) renewal = null
      if (reply === null) continue
      if (!reply.failure) take(candidate, reply.body)
      else if (state.kind !== 'open') parent.post({ type: 'SERVICE_ERROR', version: 1, code: reply.failure.code })
    }
  }

  function startOver(): void {
    failures = 0
    stream?.close()
    stream = null
    void refresh()
  }

  function goOffline(): void {
    if (state.kind === 'open' && !state.isOffline) changeState({ ...state, isOffline: true })
  }

  const comeBack = () => {
    if (performance.now() >= expiresAtMs) expire()
    else if (state.kind === 'failed' || (state.kind === 'open' && state.isOffline)) startOver()
  }
  /** After a return from the back/forward cache: the stream is closed, and the wallet may have changed. */
  const comeBackFromCache = ({ persisted }: PageTransitionEvent) => {
    if (!persisted) return
    if (performance.now() >= expiresAtMs) expire()
    else if (state.kind === 'failed' || state.kind === 'open') startOver()
  }
  /** An older entry of the history may hold a session that was renewed or has ended since. */
  const keepSession = () => storeSession(token)
  const onVisible = () => {
    if (document.visibilityState === 'visible') comeBack()
  }
  addEventListener('offline', goOffline)
  addEventListener('online', comeBack)
  addEventListener('pageshow', comeBackFromCache)
  addEventListener('popstate', keepSession)
  document.addEventListener('visibilitychange', onVisible)
  const stopListening = parent.listen((sessionToken) => void renew(sessionToken))
  const stopListeningToWindows = listenForTopupWindows(addTopupWindow)

  if (firstKind === 'expired') expire()
  else if (firstKind === 'signed-out') changeState({ kind: 'signed-out' })
  else void refresh()

  return {
    token: () => token,
    retry,
    refresh: () => void refresh(),
    readProof: async () => {
      await refresh()
      return state.kind === 'open' && !state.isOffline ? state.wallet.proof : undefined
    },
    reportPaid: (amount, onPosted) => {
      paid = { amount, onPosted }
      void refresh()
    },
    askForRenewal,
    signOut: (step) => {
      stop()
      token = null
      known = null
      topupWindows.clear()
      holdDevice(null)
      changeState({ kind: 'signed-out', ...(step && { step }) })
    },
    close: () => {
      stop()
      stopListening()
      stopListeningToWindows()
      removeEventListener('pageshow', comeBackFromCache)
      removeEventListener('popstate', keepSession)
      removeEventListener('offline', goOffline)
      removeEventListener('online', comeBack)
      document.removeEventListener('visibilitychange', onVisible)
    },
  }
}

function isOutdated(wallet: WidgetWallet, change: LiveChange): boolean {
  return (
    change.sequence !== (wallet.transactions[0]?.sequence ?? 0) ||
    change.isActive !== wallet.isActive ||
    change.balance !== wallet.balance ||
    change.held !== wallet.held
  )
}

function isChanged(before: WidgetWallet, after: WidgetWallet): boolean {
  return (
    before.balance !== after.balance ||
    before.held !== after.held ||
    before.isActive !== after.isActive ||
    before.transactions[0]?.sequence !== after.transactions[0]?.sequence
  )
}
