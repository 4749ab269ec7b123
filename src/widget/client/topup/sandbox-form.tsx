/** The sandbox's card form in a frame, like a real processor's. The frame also shows the bank's challenge. */
import { useRef } from 'preact/hooks'
import { usePage } from '../page-context.tsx'
import type { CardFormProps } from './card.tsx'

export function SandboxForm({ intent, isChecking, onActed }: CardFormProps) {
  const { say } = usePage<'topup'>()
  const loads = useRef(0)
  const observer = useRef<ResizeObserver>(undefined)
  const { paymentIntentId, clientSecret } = intent

  function loaded(frame: HTMLIFrameElement): void {
    observer.current?.disconnect()
    const content = frame.contentDocument?.querySelector('main')
    if (content) {
      const fit = () => (frame.style.blockSize = `${Math.ceil(content.getBoundingClientRect().bottom)}px`)
      observer.current = new ResizeObserver(fit)
      observer.current.observe(content)
    }
    // The first load is the empty card form. Each further load answers a submit of the payer: a decline, a challenge or the end.
    if (loads.current++ > 0) onActed()
  }

  return (
    <iframe
      class={isChecking ? 'card-frame busy' : 'card-frame'}
      title={say('cardDetails')}
      src={`/sandbox/card/${paymentIntentId}?secret=${encodeURIComponent(clientSecret)}&embedded=1`}
      onLoad={(event) => loaded(event.currentTarget)}
    />
  )
}
