/** One top-up from the first request to its end, as the page sees it. Only the server knows what was paid. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConfirmTopupResponse, CreateIntentResponse } from '../../../../sdk/contract.ts'
import { call, type Failure } from '../call.ts'

export type TopupState =
  | { readonly kind: 'preparing' }
  /** The card form is shown; `declined` is the decline code of the last card. */
  | { readonly kind: 'paying'; readonly intent: CreateIntentResponse; readonly declined?: string | undefined }
  /** The payer has submitted the card, and the answer is pending. The card form stays, because a decline leads back to it. */
  | { readonly kind: 'checking'; readonly intent?: CreateIntentResponse | undefined }
  | { readonly kind: 'processing' }
  | { readonly kind: 'done'; readonly balance: number; readonly amount: number }
  /** Failed or cancelled: no money was taken, and this payment will take none. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'refused'; readonly failure: Failure; readonly isAfterPaying: boolean }

export type TopupPayment = {
  readonly state: TopupState
  /** Asks the server for the state of the payment, after the payer submitted the card form. */
  readonly check: () => void
  readonly retry: () => void
}

const firstPollMs = 1_500
const longestPollMs = 15_000
/** Failures that decide nothing, so the page retries. */
const transient = ['NO_NETWORK', 'PROCESSOR_UNAVAILABLE', 'UNAVAILABLE', 'INTERNAL']

export function isSessionOver({ code }: Failure): boolean {
  return code === 'SESSION_EXPIRED' || code === 'INVALID_SESSION'
}

type Order = { readonly amount: number } | { readonly paymentIntentId: string }

/** An order is an amount to pay, or a payment that a bank's page returned. */
export function useTopupPayment(order: Order, token: () => string | null): TopupPayment {
  const [state, setState] = useState<TopupState>('amount' in order ? { kind: 'preparing' } : { kind: 'checking' })
  const here = useRef({
    isOver: false,
    isBusy: false,
    mustAsk: false,
    polls: 0,
    timer: 0,
    intent: undefined as CreateIntentResponse | undefined,
  })
  const id = () => here.current.intent?.paymentIntentId ?? ('paymentIntentId' in order ? order.paymentIntentId : '')

  function showState(next: TopupState): void {
    if (!here.current.isOver) setState(next)
  }

  async function prepare(): Promise<void> {
    if (!('amount' in order)) return
    showState({ kind: 'preparing' })
    const reply = await call<CreateIntentResponse>('topup/create-intent', token(), { amount: order.amount })
    if (reply.failure) return showState({ kind: 'refused', failure: reply.failure, isAfterPaying: false })
    here.current.intent = reply.body
    showState({ kind: 'paying', intent: reply.body })
  }

  async function check(): Promise<void> {
    // A pending answer may predate the payer's newest action, so the server is asked once more after it.
    here.current.mustAsk = here.current.isBusy
    if (here.current.isBusy || here.current.isOver) return
    here.current.isBusy = true
    clearTimeout(here.current.timer)
    const reply = await call<ConfirmTopupResponse>('topup/confirm', token(), { paymentIntentId: id() })
    here.current.isBusy = false
    if (here.current.mustAsk) return await check()
    if (reply.failure) return fail(reply.failure)
    const { status, balance, transaction } = reply.body
    const { intent } = here.current
    if (status === 'succeeded')
      return showState({ kind: 'done', balance, amount: transaction?.amount ?? intent?.amount ?? 0 })
    if (status === 'failed' || status === 'cancelled') return showState({ kind: 'ended' })
    if (status === 'processing') return again({ kind: 'processing' })
    if (intent) showState({ kind: 'paying', intent })
    else showState({ kind: 'ended' })
  }

  function fail(failure: Failure): void {
    const { intent } = here.current
    if (failure.code === 'CARD_DECLINED' && intent) {
      return showState({ kind: 'paying', intent, declined: failure.declineCode })
    }
    if (failure.code === 'CARD_DECLINED') return showState({ kind: 'ended' })
    const refused = { kind: 'refused', failure, isAfterPaying: true } as const
    if (transient.includes(failure.code)) again(refused)
    else showState(refused)
  }

  /** Shows the state and asks the server again, at growing intervals. */
  function again(next: TopupState): void {
    showState(next)
    const waitMs = Math.min(longestPollMs, firstPollMs * 1.5 ** here.current.polls++)
    if (!here.current.isOver) here.current.timer = window.setTimeout(() => void check(), waitMs)
  }

  useEffect(() => {
    void ('amount' in order ? prepare() : check())
    const held = here.current
    return () => {
      held.isOver = true
      clearTimeout(held.timer)
    }
  }, [])

  return {
    state,
    check: () => {
      showState({ kind: 'checking', intent: here.current.intent })
      void check()
    },
    retry: () => void (id() === '' ? prepare() : check()),
  }
}
