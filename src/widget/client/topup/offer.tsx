/**
 * Adding money starts with a message: the parent page opens the top-up window, as the contract says. If no window appears, because
 * the page ignores the message or the browser blocks the window, the wallet offers two links instead.
 */
import { useEffect, useState } from 'preact/hooks'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import type { Parent } from '../parent.ts'
import { topupUrl, type Need } from './window.ts'

/** A window that opens announces itself; until then it may still be loading. */
const patienceMs = 2_000

type Step = 'idle' | 'asked' | 'offered'

export type TopupOfferState = {
  readonly ask: () => void
  /** The address of the top-up page while it is offered. */
  readonly url: string | undefined
  readonly close: () => void
}

/** A change of `progress` withdraws the offer: a window has announced itself, or the balance has changed. */
export function useTopupOffer(
  parent: Parent,
  token: string | null,
  need: Need | undefined,
  progress: string,
): TopupOfferState {
  const page = usePage()
  const [step, setStep] = useState<Step>('idle')
  const url = topupUrl(page, token, need)

  useEffect(() => setStep('idle'), [progress])
  useEffect(() => {
    if (step !== 'asked') return undefined
    const timer = setTimeout(() => setStep('offered'), patienceMs)
    return () => clearTimeout(timer)
  }, [step])

  function ask(): void {
    // A second click while the window is loading would open a second window.
    if (step === 'asked') return
    parent.post({ type: 'SERVICE_OPEN_TOPUP', version: 1, url })
    setStep(parent.isThere ? 'asked' : 'offered')
  }

  return { ask, url: step === 'offered' ? url : undefined, close: () => setStep('idle') }
}

/** The link disappears with the offer, so the focus returns to the button that opened it. */
function leave(close: () => void): void {
  close()
  document.querySelector<HTMLElement>('.hero-action')?.focus()
}

export function TopupOffer({ offer: { url, close } }: { offer: TopupOfferState }) {
  const { words } = usePage()
  return (
    <div role="status">
      {url && (
        <div class="notice info topup-offer">
          <Icon name="window" />
          <p>
            {words.noWindow}{' '}
            <a href={url} target="_blank" rel="opener" onClick={() => leave(close)}>
              {words.openTopup}
            </a>
            {' · '}
            <a href={url}>{words.continueHere}</a>
          </p>
        </div>
      )}
    </div>
  )
}
