/** Stripe's Payment Element. The card is typed into Stripe's own frame: its number never reaches this page or our server. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { formatMoney } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { Notice } from '../parts.tsx'
import type { CardFormProps } from './pay.tsx'
import { topupUrl } from './window.ts'

/** The part of Stripe.js that this file calls. */
type Stripe = {
  elements(options: object): Elements
  confirmPayment(options: object): Promise<{ error?: { type: string; message?: string } }>
  handleNextAction(options: { clientSecret: string }): Promise<unknown>
}
type Elements = { create(kind: 'payment', options?: object): { mount(place: HTMLElement): void; destroy(): void } }

declare global {
  interface Window {
    Stripe?: (publishableKey: string, options?: object) => Stripe
  }
}

type Loaded = { readonly stripe: Stripe; readonly elements: Elements }

export function StripeForm({ nextAction, ...props }: CardFormProps) {
  return nextAction ? <BankStep {...props} /> : <PaymentForm {...props} />
}

type FormProps = Omit<CardFormProps, 'nextAction'>

/** Opens the bank's question again, after a reload or after the payer closed it. */
function BankStep({ intent, isChecking, onActed }: FormProps) {
  const { lang, topup, say } = usePage<'pay'>()
  const [state, setState] = useState<'ready' | 'busy' | 'away'>('ready')

  async function ask(): Promise<void> {
    setState('busy')
    try {
      const open = await loadStripe(topup.scriptUrl!)
      await open(intent.publishableKey, { locale: lang }).handleNextAction({ clientSecret: intent.clientSecret })
    } catch {
      return setState('away')
    }
    setState('ready')
    onActed()
  }

  return (
    <>
      {state === 'away' && (
        <Notice tone="warn" icon="cloud" title={say('topupAwayTitle')}>
          {say('topupAwayText')}
        </Notice>
      )}
      <button type="button" class="button" disabled={state === 'busy' || isChecking} onClick={() => void ask()}>
        {say('bankContinue')}
      </button>
    </>
  )
}

function PaymentForm({ intent, isChecking, token, onActed }: FormProps) {
  const page = usePage<'pay'>()
  const { lang, topup, theme, say } = page
  const place = useRef<HTMLDivElement>(null)
  const loaded = useRef<Loaded>(undefined)
  const [state, setState] = useState<'loading' | 'ready' | 'busy' | 'away'>('loading')
  const [mistake, setMistake] = useState<string>()

  useEffect(() => {
    let element: ReturnType<Elements['create']> | undefined
    void loadStripe(topup.scriptUrl!).then(
      (open) => {
        const stripe = open(intent.publishableKey, { locale: lang })
        const isDark = theme === 'dark' || (theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches)
        const appearance = { theme: isDark ? 'night' : 'stripe' }
        const elements = stripe.elements({ clientSecret: intent.clientSecret, appearance })
        element = elements.create('payment')
        element.mount(place.current!)
        loaded.current = { stripe, elements }
        setState('ready')
      },
      () => setState('away'),
    )
    return () => element?.destroy()
  }, [])

  async function pay(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    if (!loaded.current || state === 'busy') return
    setState('busy')
    setMistake(undefined)
    const { stripe, elements } = loaded.current
    // Some banks use their own page and redirect back here.
    const confirmParams = { return_url: topupUrl(page, token()) }
    const { error } = await stripe.confirmPayment({ elements, confirmParams, redirect: 'if_required' })
    setState('ready')
    // A validation error never reached Stripe, so it is only shown. For every other result the page asks our server.
    if (error?.type === 'validation_error') return setMistake(error.message)
    onActed()
  }

  if (state === 'away')
    return (
      <Notice tone="warn" icon="cloud" title={say('topupAwayTitle')}>
        {say('topupAwayText')}
      </Notice>
    )
  const isBusy = state !== 'ready' || isChecking
  return (
    <form class="stack" onSubmit={(event) => void pay(event)}>
      <div ref={place} class="card-place" />
      {mistake && (
        <p class="problem" role="alert">
          {mistake}
        </p>
      )}
      <button class="button" disabled={isBusy}>
        {say('pay', { amount: formatMoney(intent.amount, topup.currency, lang) })}
      </button>
    </form>
  )
}

/** Stripe.js must be loaded from Stripe's address, and only once per page. */
function loadStripe(src: string): Promise<NonNullable<Window['Stripe']>> {
  if (window.Stripe) return Promise.resolve(window.Stripe)
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = src
    script.async = true
    script.addEventListener('load', () => (window.Stripe ? resolve(window.Stripe) : reject(new Error('no Stripe'))))
    script.addEventListener('error', () => reject(new Error('no Stripe')))
    document.head.append(script)
  })
}
