/** The sandbox's card form: a page of its own in a frame, as a processor's would be. It leads through the bank's challenge too. */
import { useRef } from 'preact/hooks'
import { usePage } from '../page-context.tsx'
import type { CardFormProps } from './card.tsx'

export function SandboxForm({ intent, isChecking, onActed }: CardFormProps) {
  const { say } = usePage()
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
    // The first load of the frame is the empty card form. Each further one answers something the payer sent: a decline, a
    // challenge, an end.
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
