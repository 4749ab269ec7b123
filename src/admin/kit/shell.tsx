/** The frame of every admin page: side bar, search, notice. */
import type { ComponentChildren } from 'preact'
import { Icon, Mark, type IconName } from './icons.tsx'
import { Notice } from './parts.tsx'
import { noticeOf } from './notices.ts'
import type { PublicRequest } from './route.ts'

const nav = [
  ['overview', 'Overview', '/admin'],
  ['apps', 'Client apps', '/admin/client-apps'],
  ['wallets', 'Wallets', '/admin/wallets'],
  ['topups', 'Card top-ups', '/admin/topups'],
  ['corrections', 'Corrections', '/admin/corrections'],
  ['references', 'References', '/admin/references'],
  ['books', 'Books', '/admin/books'],
  ['reconciliation', 'Reconciliation', '/admin/reconciliation'],
  ['work', 'Background work', '/admin/work'],
  ['audit', 'Audit log', '/admin/audit'],
  ['doctor', 'Origin doctor', '/admin/origin-doctor'],
  ['operators', 'Operators', '/admin/operators'],
  ['account', 'Your account', '/admin/account'],
] as const satisfies readonly (readonly [IconName, string, string])[]

export type NavName = (typeof nav)[number][0]

type ShellProps = { request: PublicRequest; here: NavName | undefined; children: ComponentChildren }

export function Shell({ request, here, children }: ShellProps) {
  const notice = noticeOf(request.query('done'))
  const hasFullSession = request.me?.session.stage === 'full'
  return (
    <div class={hasFullSession ? 'admin' : 'admin alone'}>
      <a class="skip button small" href="#main">
        Skip to content
      </a>
      {hasFullSession ? <Side request={request} here={here} /> : <Brand request={request} />}
      <main id="main" tabindex={-1}>
        {notice && <Notice kind="good">{notice}</Notice>}
        {children}
      </main>
    </div>
  )
}

function Brand({ request }: { request: PublicRequest }) {
  return (
    <a class="brand" href="/admin">
      <Mark />
      <span>{request.service.config.about.name}</span>
    </a>
  )
}

function Side({ request, here }: { request: PublicRequest; here: NavName | undefined }) {
  const { operator } = request.me!
  return (
    <header class="side">
      <Brand request={request} />
      <form class="find" method="get" action="/admin/search" role="search">
        <label class="visually-hidden" for="search">
          Search everything
        </label>
        <input
          id="search"
          name="q"
          type="search"
          placeholder="Search"
          value={request.path === '/admin/search' ? request.query('q') : ''}
          maxlength={400}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-keyshortcuts="/ Control+K Meta+K"
        />
        <kbd aria-hidden="true">/</kbd>
      </form>
      <nav aria-label="Admin area">
        <ul role="list">
          {nav.map(([name, label, href]) => (
            <li key={name}>
              <a href={href} aria-current={name === here ? 'page' : undefined}>
                <Icon name={name} />
                {label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <form class="me" method="post" action="/admin/sign-out">
        <input type="hidden" name="_token" value={request.formToken} />
        <span>
          <strong>{operator.name}</strong>
          <span class="muted">{operator.role}</span>
        </span>
        <button class="icon-button" type="submit" title="Sign out">
          <Icon name="out" />
          <span class="visually-hidden">Sign out</span>
        </button>
      </form>
    </header>
  )
}
