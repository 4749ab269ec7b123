/** A top-up that the page asks for: what it is for, and what became of it. */
import { parseWidgetMessage } from '../contract/messages.ts'

export type TopUpRequest = {
  /** What is missing, for example the `shortfall` of a refused debit. The user may add more. */
  amount?: number
  /** What it is for, in a few words: "Order 1042". Shown to the user as text. */
  reason?: string
}

export type TopUpOutcome =
  /** The money is in the wallet. Whether it is enough, your backend's next debit decides. */
  | { status: 'paid'; amount: number }
  /** Left before anything was known to be paid. What a bank still works on arrives by itself: `onUpdated` tells. */
  | { status: 'closed' }
  /** Nobody is signed in: the widget shows its form. */
  | { status: 'signed-out' }

export type TopUpWatch = {
  readonly outcome: Promise<TopUpOutcome>
  /** Settles it, unless it is settled already. */
  readonly settle: (outcome: TopUpOutcome) => void
}

export function newTopUpWatch(): TopUpWatch {
  let settle!: TopUpWatch['settle']
  const outcome = new Promise<TopUpOutcome>((resolve) => (settle = resolve))
  return { outcome, settle }
}

const checkEveryMs = 300

/** The window says when the money is there; that it was closed is only seen by looking. */
export function watchWindow(opened: Window, serviceOrigin: string): TopUpWatch {
  const watch = newTopUpWatch()
  let wasClosed = false

  function receive({ data, source, origin }: MessageEvent): void {
    if (source !== opened || origin !== serviceOrigin) return
    const message = parseWidgetMessage(data)
    if (message?.type === 'SERVICE_WALLET_UPDATED' && message.paid !== undefined)
      watch.settle({ status: 'paid', amount: message.paid })
  }

  // Seen closed twice: what it said last may still be on its way at the first time.
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
