/**
 * Adding money begins with a message: the page around the wallet opens the window, as the contract says, and the wallet opens none.
 * A page that does nothing about it, or whose window was blocked, leaves the person with the wallet's own two ways.
 */
import { useEffect, useState } from 'preact/hooks'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import type { Parent } from '../parent.ts'
import { topupUrl, type Need } from './window.ts'

/** A window that comes up says so; until then it may be loading. */
const patienceMs = 2_000

type Step = 'idle' | 'asked' | 'offered'

export type TopupOfferState = {
  readonly ask: () => void
  /** The top-up page, while it is offered. */
  readonly url: string | undefined
  readonly close: () => void
}

/** `progress` changes when the person has got further: a window was heard of, or the balance is another. */
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
    // A second click while the window is on its way would be a second window.
    if (step === 'asked') return
    parent.post({ type: 'SERVICE_OPEN_TOPUP', version: 1, url })
    setStep(parent.isThere ? 'asked' : 'offered')
  }

  return { ask, url: step === 'offered' ? url : undefined, close: () => setStep('idle') }
}

/** The link is gone with the offer, and what it stood for has the focus again. */
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
