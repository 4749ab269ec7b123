/** Pages that explain why the requested page cannot be shown. They need no script. */
import type { ComponentChildren } from 'preact'
import type { Unplaced } from '../actions/apps/find-placement.ts'
import { Icon, type IconName } from './client/icons.tsx'
import { AppMark, Legal } from './client/parts.tsx'
import type { ServiceData } from './page-data.ts'
import type { Words } from '../languages/words.ts'

export type Explanation = {
  readonly reason: Unplaced
  readonly isFramed: boolean
  /** The origin of the embedding page, from its Referer; empty if unknown. */
  readonly origin: string
}

/** Cause and fix for the developer of the embedding page. In English, like all texts for developers. */
const remedies: Record<Unplaced, (origin: string) => string> = {
  'no-app': () =>
    'The address names no app, and the embedding page sends no Referer, so the app is not known. Add the clientId: /widget/wallet?clientId=app_… ' +
    'Or let the frame send the origin of the page: referrerpolicy="strict-origin".',
  'several-apps': (origin) =>
    `More than one app lists ${origin} as a parent, so the Referer does not identify the app. Add the clientId: /widget/wallet?clientId=app_…`,
  'not-listed': (origin) =>
    `No app lists ${origin} among its allowed iframe parents. Add exactly this origin in the admin area.`,
  'unknown-app': () => 'There is no app with the clientId in the address.',
  'inactive-app': () => 'The app is not active. An operator can activate it in the admin area.',
}

type ServicePageProps = {
  service: ServiceData
  icon: IconName
  title: string
  /** Below the panel. */
  footer?: ComponentChildren
  children: ComponentChildren
}

/** A page of the service that belongs to no app: the service's name and one message. */
export function ServicePage({ service, icon, title, footer, children }: ServicePageProps) {
  return (
    <main id="root" class="widget explain">
      <header class="top">
        <AppMark name={service.name} logo={service.logo} />
        <span class="top-name">{service.name}</span>
      </header>
      <section class="panel card">
        <span class="panel-icon">
          <Icon name={icon} />
        </span>
        <h1>{title}</h1>
        {children}
      </section>
      {footer}
    </main>
  )
}

type ExplainProps = { what: Explanation; words: Words['wallet']; service: ServiceData }

/** Opened directly: there is no embedding page whose developer could fix it. */
export function isOutside({ reason, isFramed }: Explanation): boolean {
  return reason === 'no-app' && !isFramed
}

/**
 * The origins that may frame the explanation. Without an app and a Referer nothing is known about the embedding page, so any page may;
 * an origin that several apps list may. An origin that no app lists may not.
 */
export function explanationParents({ reason, isFramed, origin }: Explanation): readonly string[] {
  if (!isFramed) return []
  if (reason === 'no-app') return ['*']
  return reason === 'several-apps' ? [origin] : []
}

/** The explanation in a frame: text alone. A foreign page could misuse the service's name, links and pictures. */
export function FramedExplanation({ what, words }: Omit<ExplainProps, 'service'>) {
  return (
    <main class="widget explain">
      <section class="panel card">
        <h1>{words.notAllowedTitle}</h1>
        <p class="muted">{words.whichAppText}</p>
        <Remedy what={what} />
      </section>
    </main>
  )
}

function Remedy({ what: { reason, origin } }: { what: Explanation }) {
  return (
    <p class="remedy muted" lang="en" dir="ltr">
      <strong>For developers.</strong> {remedies[reason](origin)} <code>npx billfold doctor</code> checks a page.
    </p>
  )
}

export function ExplainPage({ what, words, service }: ExplainProps) {
  const isUnnamed = what.reason === 'no-app' || what.reason === 'several-apps'
  const text = isOutside(what) ? words.outsideText : isUnnamed ? words.whichAppText : words.notAllowedText
  return (
    <ServicePage
      service={service}
      icon={isOutside(what) ? 'window' : 'shield'}
      title={isOutside(what) ? words.outsideTitle : words.notAllowedTitle}
      footer={<Legal service={service} words={words} />}
    >
      <p class="muted">{text}</p>
      <Remedy what={what} />
    </ServicePage>
  )
}

export function NoScript({ words, nonce }: { words: Words['wallet']; nonce: string }) {
  return (
    <noscript>
      <style nonce={nonce}>{'#root{display:none}'}</style>
      <div class="widget explain" role="main">
        <section class="panel card">
          <span class="panel-icon">
            <Icon name="shield" />
          </span>
          <h1>{words.scriptTitle}</h1>
          <p class="muted">{words.scriptText}</p>
        </section>
      </div>
    </noscript>
  )
}
