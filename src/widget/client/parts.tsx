/** Small parts that several views share. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ServiceData } from '../page-data.ts'
import type { Words } from '../../languages/words.ts'
import { usePage } from './page-context.tsx'
import { Icon, type IconName } from './icons.tsx'

/** The app's logo, or the first letter of its name where it has no logo or the logo does not load. */
export function AppMark({ name, logo }: { name: string; logo?: string | null }) {
  const [isBroken, setBroken] = useState(false)
  if (logo && !isBroken) return <img class="mark" src={logo} alt="" onError={() => setBroken(true)} />
  return (
    <span class="mark" aria-hidden="true">
      {firstLetter(name)}
    </span>
  )
}

/** The first letter as a reader counts them (a grapheme), so that an emoji or an accented letter stays whole. */
export function firstLetter(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.trim())
  return first?.segment.toUpperCase() ?? ''
}

/** Whether the part is still shown: an answer that comes later than that is nobody's any more. */
export function useIsMounted(): () => boolean {
  const here = useRef(true)
  useEffect(() => () => void (here.current = false), [])
  return () => here.current
}

/**
 * False until the script runs. The server renders forms that are seen before: sent by then, a form would be the browser's own, and
 * its fields would replace the session in the address.
 */
export function useIsHydrated(): boolean {
  const [isReady, setReady] = useState(false)
  useEffect(() => setReady(true), [])
  return isReady
}

type NoticeProps = {
  tone: 'good' | 'warn' | 'bad' | 'info'
  icon: IconName
  title?: string
  children?: ComponentChildren
}

export function Notice({ tone, icon, title, children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`}>
      <Icon name={icon} />
      <div>
        {title && <strong>{title}</strong>}
        {children && <div>{children}</div>}
      </div>
    </div>
  )
}

type PanelProps = {
  icon: IconName
  title: string
  text?: string
  tone?: 'calm' | 'bad'
  isBusy?: boolean
  children?: ComponentChildren
}

/** A state that fills the page: what happened, and what can be done. */
export function Panel({ icon, title, text, tone = 'calm', isBusy = false, children }: PanelProps) {
  return (
    <section class={`panel card ${tone}`} aria-busy={isBusy}>
      <span class={isBusy ? 'panel-icon busy' : 'panel-icon'}>
        <Icon name={icon} />
      </span>
      <Heading>{title}</Heading>
      {text && <p class="muted">{text}</p>}
      {children && <div class="panel-actions">{children}</div>}
    </section>
  )
}

/**
 * The heading of a view. It takes the focus when its view replaces one that the user was working in, so that a screen reader
 * reads on from here; never when the page has just loaded, because the focus may be in the page around the frame. It takes it
 * while the view is put into the page, before every effect: a view that knows a better place gives the focus there in an effect,
 * and of two effects Preact runs the parent's first where the parent is drawn again before the frame.
 */
export function Heading({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    if (document.hasFocus() && document.body.dataset['used'] !== undefined) heading.current?.focus()
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

/** A page elsewhere opens in a window of its own: in the frame it would stand where the wallet was. */
function OutLink({ href, children }: { href: string; children: ComponentChildren }) {
  // The mail program opens by itself, and a window for it would stay empty.
  if (href.startsWith('mailto:')) return <a href={href}>{children}</a>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

/** Where help is. Without an address of the operator's these are only words. */
export function Support() {
  const { service, words } = usePage()
  if (service.support === null) return <span class="support">{words.contactSupport}</span>
  return (
    <span class="support">
      <OutLink href={service.support}>{words.contactSupport}</OutLink>
    </span>
  )
}

type LegalProps = { service: ServiceData; words: Words['wallet'] }

/** The operator's links, quietly under a form. */
export function Legal({ service, words }: LegalProps) {
  const links = [
    [service.terms, words.terms],
    [service.privacy, words.privacy],
    [service.support, words.help],
  ] as const
  const given = links.filter(([href]) => href !== null)
  if (given.length === 0) return null
  return (
    <footer class="legal">
      {given.map(([href, text]) => (
        <OutLink key={text} href={href!}>
          {text}
        </OutLink>
      ))}
    </footer>
  )
}

/** The top of every view: in which app this is, and whose wallet. */
export function TopBar({ children }: { children?: ComponentChildren }) {
  const { appName, logo, words, service } = usePage()
  return (
    <header class="top">
      <AppMark name={appName} logo={logo} />
      <div class="top-name">
        <span>
          <bdi>{appName}</bdi>
        </span>
        <span class="muted">
          {words.wallet}
          {' · '}
          <bdi>{service.name}</bdi>
        </span>
      </div>
      {children}
    </header>
  )
}

/** The top of a view that has a way back to the wallet. */
export function ViewHead({ title, onBack }: { title: string; onBack: () => void }) {
  const { say } = usePage()
  return (
    <header class="account-head">
      <button type="button" class="round" aria-label={say('back')} onClick={onBack}>
        <Icon name="back" />
      </button>
      <Heading>{title}</Heading>
    </header>
  )
}
