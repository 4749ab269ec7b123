/** Small components and hooks that several views share. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ServiceData } from '../page-data.ts'
import type { Words } from '../../languages/words.ts'
import { usePage } from './page-context.tsx'
import { Icon, type IconName } from './icons.tsx'

type AppMarkProps = { name: string; logo?: string | null; color?: string }

/** The app's logo, or the first letter of its name where it has no logo or the logo does not load. */
export function AppMark({ name, logo, color }: AppMarkProps) {
  const [isBroken, setBroken] = useState(false)
  if (logo && !isBroken) return <img class="mark" src={logo} alt="" onError={() => setBroken(true)} />
  return (
    <span class="mark" style={color && { background: color, color: '#fff' }} aria-hidden="true">
      {firstLetter(name)}
    </span>
  )
}

/** The first grapheme, so that an emoji or an accented letter stays whole. */
function firstLetter(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.trim())
  return first?.segment.toUpperCase() ?? ''
}

/** One letter, because two can form a word: the initials of some Arabic and Hebrew names read “no”. */
export function initialOf({ firstName, lastName }: { firstName: string; lastName: string }): string {
  return firstLetter(firstName) || firstLetter(lastName)
}

/** Whether the component is still mounted: an answer that arrives later is dropped. */
export function useIsMounted(): () => boolean {
  const here = useRef(true)
  useEffect(() => () => void (here.current = false), [])
  return () => here.current
}

/**
 * False until the script runs. Forms are visible before that, and a native submit would put their fields into the address in
 * place of the session.
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

/** A state that fills the page: what happened, and what the user can do. */
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
 * continues here. It never takes it on page load, because the focus may be in the parent page. It uses a layout effect, so that
 * a view can move the focus to a better place in an effect: with two effects, Preact may run the parent's before the child's.
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

/** External pages open in a separate window: in the frame they would replace the wallet. */
function OutLink({ href, children }: { href: string; children: ComponentChildren }) {
  // A mailto link opens the mail program; a window for it would stay empty.
  if (href.startsWith('mailto:')) return <a href={href}>{children}</a>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

/** A link to the operator's support; plain text if the operator has set none. */
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

/** The top of every view: the app's name and the service's name. */
export function TopBar({ children }: { children?: ComponentChildren }) {
  const { appName, logo, words, service } = usePage()
  return (
    <header class="top">
      <AppMark name={appName} logo={logo} />
      <div class="top-name">
        <span title={appName} dir="auto">
          {appName}
        </span>
        <span class="muted" title={`${words.wallet} · ${service.name}`}>
          {words.wallet}
          {' · '}
          <bdi>{service.name}</bdi>
        </span>
      </div>
      {children}
    </header>
  )
}

export function ViewHead({ title, onBack }: { title: string; onBack: (() => void) | undefined }) {
  const { say } = usePage()
  return (
    <header class="account-head">
      {onBack && (
        <button type="button" class="round" aria-label={say('back')} onClick={onBack}>
          <Icon name="back" />
        </button>
      )}
      <Heading>{title}</Heading>
    </header>
  )
}
