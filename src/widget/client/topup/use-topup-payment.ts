/** One top-up from the first request to its end, as the page sees it. Only the server knows what was paid. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConfirmTopupResponse, CreateIntentResponse, NextAction } from '../../../../sdk/contract.ts'
import { call, type Failure } from '../call.ts'

export type TopupState =
  | { readonly kind: 'preparing' }
  /** The card form is shown; `declined` is the decline code of the last card. With `nextAction` the bank waits for the payer. */
  | {
      readonly kind: 'paying'
      readonly intent: CreateIntentResponse
      readonly declined?: string | undefined
      readonly nextAction?: NextAction | undefined
    }
  /** The payer has submitted the card, and the answer is pending. The card form stays, because a decline leads back to it. */
  | { readonly kind: 'checking'; readonly intent?: CreateIntentResponse | undefined }
  | { readonly kind: 'processing' }
  | {
      readonly kind: 'done'
      readonly available: number
      readonly amount: number
      readonly sequence: number | undefined
    }
  /** No money was taken, and this payment will take none. */
  | { readonly kind: 'ended'; readonly cause: 'failed' | 'cancelled' }
  | { readonly kind: 'refused'; readonly failure: Failure; readonly isAfterPaying: boolean }

export type TopupPayment = {
  readonly state: TopupState
  /** Asks the server for the state of the payment, after the payer submitted the card form. */
  readonly check: () => void
  readonly retry: () => void
  /** Cancels the payment while the bank waits for the payer. */
  readonly cancel: () => void
}

const firstPollMs = 1_500
const longestPollMs = 15_000
/** Failures that decide nothing, so the page retries. */
const transient = ['NO_NETWORK', 'PROCESSOR_UNAVAILABLE', 'UNAVAILABLE', 'INTERNAL']

export function isSessionOver({ code }: Failure): boolean {
  return code === 'SESSION_EXPIRED' || code === 'INVALID_SESSION'
}

export type Order =
  /** `replaces`: the payment that this page ordered before, for another amount. */
  | { readonly amount: number; readonly replaces: string | null }
  /** A payment from before a reload, with its amount, or one that a bank's page returned. */
  | { readonly paymentIntentId: string; readonly amount?: number | undefined }

type Events = {
  readonly onOrdered: (intent: { paymentIntentId: string; amount: number }) => void
  readonly onCancelled: () => void
}

export function useTopupPayment(
  order: Order,
  token: () => string | null,
  { onOrdered, onCancelled }: Events,
): TopupPayment {
  const isKnown = 'paymentIntentId' in order
  const [state, setState] = useState<TopupState>(isKnown ? { kind: 'checking' } : { kind: 'preparing' })
  const here = useRef({
    isOver: false,
    isBusy: false,
    mustAsk: false,
    polls: 0,
    timer: 0,
    id: isKnown ? order.paymentIntentId : '',
    intent: undefined as CreateIntentResponse | undefined,
  })

  function showState(next: TopupState): void {
    if (!here.current.isOver) setState(next)
  }

  /** Orders the payment. After a reload the page orders a new one, because another window may show the former one. */
  async function prepare(declined?: string): Promise<void> {
    if (order.amount === undefined) return
    showState({ kind: 'preparing' })
    const body = { amount: order.amount, replaces: 'replaces' in order ? order.replaces : null }
    const reply = await call<CreateIntentResponse>('topup/create-intent', token(), body)
    if (here.current.isOver) return
    if (reply.failure) return showState({ kind: 'refused', failure: reply.failure, isAfterPaying: false })
    here.current.intent = reply.body
    here.current.id = reply.body.paymentIntentId
    onOrdered(reply.body)
    // Another window has paid, or has ordered a newer payment, which cancelled this one.
    if (reply.body.status !== 'requires_payment_method') return await check()
    showState({ kind: 'paying', intent: reply.body, declined })
  }

  async function check(): Promise<void> {
    // A pending answer may predate the payer's newest action, so the server is asked once more after it.
    here.current.mustAsk = here.current.isBusy
    if (here.current.isBusy || here.current.isOver) return
    here.current.isBusy = true
    clearTimeout(here.current.timer)
    const reply = await call<ConfirmTopupResponse>('topup/confirm', token(), { paymentIntentId: here.current.id })
    here.current.isBusy = false
    if (here.current.mustAsk) return await check()
    if (reply.failure) await fail(reply.failure)
    else await take(reply.body)
  }

  async function take(body: ConfirmTopupResponse): Promise<void> {
    const { status, balance, available = balance, transaction, nextAction } = body
    const { intent } = here.current
    if (status === 'succeeded') {
      const amount = transaction?.amount ?? intent?.amount ?? 0
      return showState({ kind: 'done', available, amount, sequence: transaction?.sequence })
    }
    if (status === 'failed' || status === 'cancelled') return showState({ kind: 'ended', cause: status })
    if (status === 'processing') return again({ kind: 'processing' })
    if (intent) return showState({ kind: 'paying', intent, nextAction })
    if (status === 'requires_action' && body.intent) {
      here.current.intent = body.intent
      return showState({ kind: 'paying', intent: body.intent, nextAction })
    }
    if (order.amount !== undefined) return await prepare()
    showState({ kind: 'ended', cause: 'failed' })
  }

  async function fail(failure: Failure): Promise<void> {
    const { intent } = here.current
    if (failure.code === 'CARD_DECLINED') {
      if (intent) return showState({ kind: 'paying', intent, declined: failure.declineCode })
      if (order.amount !== undefined) return await prepare(failure.declineCode)
    }
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

  async function cancel(): Promise<void> {
    showState({ kind: 'checking' })
    const reply = await call<ConfirmTopupResponse>('topup/cancel', token(), { paymentIntentId: here.current.id })
    if (here.current.isOver) return
    if (reply.failure) await fail(reply.failure)
    else if (reply.body.status === 'cancelled') onCancelled()
    else await take(reply.body)
  }

  useEffect(() => {
    void (isKnown ? check() : prepare())
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
    retry: () => void (here.current.id === '' ? prepare() : check()),
    cancel: () => void cancel(),
  }
}
