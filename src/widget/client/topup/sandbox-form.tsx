/** The sandbox's card form in a frame, like a real processor's. The frame also shows the bank's challenge. */
import { useRef } from 'preact/hooks'
import { usePage } from '../page-context.tsx'
import type { CardFormProps } from './pay.tsx'

export function SandboxForm({ intent, nextAction, isChecking, onActed }: CardFormProps) {
  const { say } = usePage<'pay'>()
  const loads = useRef(0)
  const observer = useRef<ResizeObserver>(undefined)
  const acted = useRef(onActed)
  acted.current = onActed
  const { paymentIntentId, clientSecret } = intent
  // After a reload the frame continues with the bank's challenge. Later changes of the frame are its own.
  const first = useRef(
    nextAction?.kind === 'redirect'
      ? `${nextAction.url}&embedded=1`
      : `/sandbox/card/${paymentIntentId}?secret=${encodeURIComponent(clientSecret)}&embedded=1`,
  )

  function loaded(frame: HTMLIFrameElement): void {
    observer.current?.disconnect()
    const content = frame.contentDocument?.querySelector('main')
    if (content) {
      dress(frame.contentDocument!.documentElement)
      const fit = () => (frame.style.blockSize = `${Math.ceil(content.getBoundingClientRect().bottom)}px`)
      observer.current = new ResizeObserver(fit)
      observer.current.observe(content)
      content.addEventListener('submit', (event) => void send(event, content).finally(acted.current))
    }
    // The first load is the empty card form. A further load answers a submit that came before this function ran.
    if (loads.current++ > 0) acted.current()
  }

  return (
    <iframe
      class={isChecking ? 'card-frame busy' : 'card-frame'}
      title={say('cardDetails')}
      src={first.current}
      onLoad={(event) => loaded(event.currentTarget)}
    />
  )
}

/**
 * Sends the form and shows the answer: a decline, a challenge or the end. A submit by the browser would add an entry to the history, and
 * Back would then change only the frame instead of returning to the amounts.
 */
async function send(event: SubmitEvent, content: HTMLElement): Promise<void> {
  event.preventDefault()
  const form = event.target as HTMLFormElement
  try {
    const answer = await fetch(form.action, { method: 'POST', body: new FormData(form, event.submitter) })
    const document = new DOMParser().parseFromString(await answer.text(), 'text/html')
    content.replaceChildren(...document.querySelector('main')!.childNodes)
  } catch {
    // The page asks the server about the payment, and says so if it gets no answer.
  }
}

const accents = ['--accent', '--on-accent', '--accent-deep', '--accent-edge', '--accent-text', '--accent-soft']

/** The form has the theme, direction and brand of the page around it. */
function dress(form: HTMLElement): void {
  const page = document.documentElement
  form.dir = page.dir
  const { theme } = page.dataset
  if (theme) form.dataset['theme'] = theme
  const style = getComputedStyle(page)
  for (const name of accents) {
    const value = style.getPropertyValue(name)
    // Only a brand's value holds the colours of both schemes; the form has the service's own already.
    if (value.includes('light-dark')) form.style.setProperty(name, value)
  }
}
