/** A top-up that the page requests, and its outcome. */
import { parseWidgetMessage } from '../contract/messages.ts'

export type TopUpRequest = {
  /** The missing amount, for example the `shortfall` of a refused debit. The user may add more. */
  amount?: number
  /** A few words that the user sees, for example "Order 1042". */
  reason?: string
}

export type TopUpOutcome =
  /** The money is in the wallet. Only your backend's next debit decides whether it is enough. */
  | { status: 'paid'; amount: number }
  /** The user left before a payment was confirmed. If the bank confirms it later, `onUpdated` is called. */
  | { status: 'closed' }
  /** No user is signed in: the widget shows its sign-in form. */
  | { status: 'signed-out' }

export type TopUpWatch = {
  readonly outcome: Promise<TopUpOutcome>
  /** Has no effect after the first call. */
  readonly settle: (outcome: TopUpOutcome) => void
}

export function newTopUpWatch(): TopUpWatch {
  let settle!: TopUpWatch['settle']
  const outcome = new Promise<TopUpOutcome>((resolve) => (settle = resolve))
  return { outcome, settle }
}

const checkEveryMs = 300

/** The window posts a message when the money has arrived. That it was closed has to be polled. */
export function watchWindow(opened: Window, serviceOrigin: string): TopUpWatch {
  const watch = newTopUpWatch()
  let wasClosed = false

  function receive({ data, source, origin }: MessageEvent): void {
    if (source !== opened || origin !== serviceOrigin) return
    const message = parseWidgetMessage(data)
    if (message?.type === 'SERVICE_WALLET_UPDATED' && message.paid !== undefined)
      watch.settle({ status: 'paid', amount: message.paid })
  }

  // Closed only when seen closed twice: at the first time the window's last message may still be in flight.
  const timer = setInterval(() => {
    if (wasClosed) watch.settle({ status: 'closed' })
    wasClosed = opened.closed
  }, checkEveryMs)
  addEventListener('message', receive)
  void watch.outcome.then(() => {
    clearInterval(timer)
    removeEventListener('message', receive)
  })
  return watch
}
