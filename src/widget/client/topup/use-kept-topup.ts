/** What the top-up page continues with: after a reload, after Back, or because the service knows of an open payment. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConfirmTopupResponse } from '../../../../sdk/contract.ts'
import type { TopupOffer } from '../../page-data.ts'
import { call, type OpenTopup, type WidgetWallet } from '../call.ts'
import { availableAtNeed } from '../history-entry.ts'
import { usePage } from '../page-context.tsx'
import type { Visit } from '../use-wallet-session.ts'
import type { TopupOrder } from './pay.tsx'
import { dropKept, keepPayment, keptPayment, needLeft } from './kept-topup.ts'

const isInBrowser = typeof history !== 'undefined'

function orderFromHistory(): TopupOrder | undefined {
  const kept = isInBrowser ? keptPayment() : undefined
  return kept && { ...kept, owed: 0 }
}

/** `returned`: the payment that a bank's page returned. */
export function useOrder(visit: Visit, returned: string | undefined) {
  const { state, person, token } = visit
  const [order, setOrder] = useState<TopupOrder | undefined>(() => {
    if (returned !== undefined) return { paymentIntentId: returned, owed: 0 }
    return person === 0 ? orderFromHistory() : undefined
  })
  const current = useRef(order)
  current.current = order
  const hasLooked = useRef(false)

  useEffect(() => {
    if (person > 0) dropKept()
    const goBack = () => setOrder(orderFromHistory())
    addEventListener('popstate', goBack)
    return () => removeEventListener('popstate', goBack)
  }, [])

  useEffect(() => {
    if (state.kind !== 'open' || hasLooked.current) return
    hasLooked.current = true
    if (current.current !== undefined) return
    void findUnderWay(state.wallet.openTopups ?? [], token).then((found) => {
      if (!found || current.current !== undefined) return
      keepPayment(found)
      setOrder({ ...found, owed: 0 })
    })
  }, [state.kind])

  return [order, setOrder] as const
}

/** The newest open payment that the bank asks the payer to confirm, or that was paid in the meantime. */
async function findUnderWay(open: readonly OpenTopup[], token: () => string | null): Promise<OpenTopup | undefined> {
  for (const topup of open) {
    const { paymentIntentId } = topup
    const { body } = {
      body: undefined,
      ...(await call<ConfirmTopupResponse>('topup/confirm', token(), { paymentIntentId })),
    }
    if (body && ['requires_action', 'processing', 'succeeded'].includes(body.status)) return topup
  }
  return undefined
}

/** The payments that this document reported, also those whose entry of the history it had left by then. */
const reported = new Set<string>()

/** Notifies the parent page of a payment once, also when the page is reloaded before or after it. */
export function reportPaid(visit: Visit, amount: number): void {
  const kept = keptPayment()
  if (kept && (kept.isReported || reported.has(kept.paymentIntentId))) return visit.session().refresh()
  visit.session().reportPaid(amount, () => {
    if (!kept) return
    reported.add(kept.paymentIntentId)
    if (keptPayment()?.paymentIntentId === kept.paymentIntentId) keepPayment({ ...kept, isReported: true })
  })
}

/** What is still missing of the amount that the app asked for. It shrinks with every credit, so the same need is not offered twice. */
export function useNeed(wallet: WidgetWallet | undefined): Pick<TopupOffer, 'need' | 'reason'> {
  const { topup } = usePage()
  const { need, reason, decimals } = topup
  // Read once: a later entry of the history may have another state.
  const first = useRef<number>(undefined)
  if (need === null || !wallet) return { need, reason }
  first.current ??= availableAtNeed(topup, wallet)
  return { need: needLeft({ amount: need, available: first.current }, wallet, decimals), reason }
}
