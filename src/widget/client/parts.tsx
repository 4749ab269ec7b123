/** Small parts that several views share. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
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
export function useIsHere(): () => boolean {
  const here = useRef(true)
  useEffect(() => () => void (here.current = false), [])
  return () => here.current
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
        {children && <p>{children}</p>}
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
 * reads on from here; never when the page has just loaded, because the focus may be in the page around the frame.
 */
export function Heading({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (document.hasFocus() && document.body.dataset['used'] !== undefined) heading.current?.focus()
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

/** The top of every view: whose page this is. */
export function TopBar({ children }: { children?: ComponentChildren }) {
  const { appName, logo, words } = usePage()
  return (
    <header class="top">
      <AppMark name={appName} logo={logo} />
      <div class="top-name">
        <span>
          <bdi>{appName}</bdi>
        </span>
        <span class="muted">{words.wallet}</span>
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
