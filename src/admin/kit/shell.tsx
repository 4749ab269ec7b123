/** The frame of every admin page: side bar, search, notice. */
import type { ComponentChildren } from 'preact'
import { hasRight, type Right } from '../../actions/operators/rights.ts'
import { maxWaiting, type Waiting } from '../../store/work/waiting-counts.ts'
import { Icon, Mark, type IconName } from './icons.tsx'
import { Notice } from './parts.tsx'
import { noticeOf } from './notices.ts'
import type { PublicRequest } from './route.ts'

/** `counts` is what waits there, and the right to resolve it: only operators who have the right see the count. */
type Entry = {
  readonly name: IconName
  readonly label: string
  readonly href: string
  readonly counts?: readonly [keyof Waiting, Right]
}

const overview = { name: 'overview', label: 'Overview', href: '/admin' } as const satisfies Entry

const groups = {
  Money: [
    { name: 'topups', label: 'Card top-ups', href: '/admin/topups', counts: ['topups', 'refund'] },
    { name: 'holds', label: 'Holds', href: '/admin/holds' },
    { name: 'corrections', label: 'Corrections', href: '/admin/corrections', counts: ['corrections', 'correct'] },
    { name: 'settlements', label: 'Settlements', href: '/admin/settlements' },
    { name: 'references', label: 'References', href: '/admin/references' },
    { name: 'books', label: 'Books', href: '/admin/books' },
    {
      name: 'reconciliation',
      label: 'Reconciliation',
      href: '/admin/reconciliation',
      counts: ['differences', 'settle'],
    },
  ],
  People: [
    { name: 'wallets', label: 'Wallets', href: '/admin/wallets' },
    { name: 'notes', label: 'Notes', href: '/admin/notes' },
    { name: 'deletions', label: 'Deletions', href: '/admin/deletions', counts: ['deletions', 'people'] },
    { name: 'operators', label: 'Operators', href: '/admin/operators', counts: ['changes', 'operators'] },
    { name: 'account', label: 'Your account', href: '/admin/account' },
  ],
  Apps: [
    { name: 'apps', label: 'Client apps', href: '/admin/client-apps' },
    { name: 'doctor', label: 'Origin doctor', href: '/admin/origin-doctor' },
  ],
  System: [
    { name: 'work', label: 'Background work', href: '/admin/work', counts: ['work', 'work'] },
    { name: 'audit', label: 'Audit log', href: '/admin/audit' },
  ],
} as const satisfies Readonly<Record<string, readonly Entry[]>>

export type NavName = (typeof groups)[keyof typeof groups][number]['name'] | 'overview'

type ShellProps = {
  request: PublicRequest
  here: NavName | undefined
  /** Undefined when the database did not count in time. */
  waiting: Waiting | undefined
  children: ComponentChildren
}

export function Shell({ request, here, waiting, children }: ShellProps) {
  const notice = noticeOf(request.query('done'))
  const hasFullSession = request.me?.session.stage === 'full'
  return (
    <div class={hasFullSession ? 'admin' : 'admin alone'}>
      <a class="skip button small" href="#main">
        Skip to content
      </a>
      {hasFullSession ? <Side request={request} here={here} waiting={waiting} /> : <Brand request={request} />}
      <main id="main" tabindex={-1}>
        {notice && <Notice kind="good">{notice}</Notice>}
        {children}
      </main>
    </div>
  )
}

function Brand({ request }: { request: PublicRequest }) {
  return (
    <a class="brand" href="/admin" title={request.service.config.about.name}>
      <Mark />
      <span>{request.service.config.about.name}</span>
    </a>
  )
}

function Side({ request, here, waiting }: Omit<ShellProps, 'children'>) {
  const { operator } = request.me!
  const countOf = ({ counts }: Entry) =>
    counts && hasRight(operator.role, counts[1]) ? (waiting?.[counts[0]] ?? 0) : 0
  const entries: readonly Entry[] = Object.values(groups).flat()
  const show = (entry: Entry) => <MenuEntry entry={entry} isHere={entry.name === here} count={countOf(entry)} />
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
      {/* Opens and closes the menu on a phone. The menu follows it, because a wide page shows the menu without this button. */}
      <details class="menu">
        <summary>
          <Icon name="menu" />
          Menu <Count count={entries.reduce((sum, entry) => sum + countOf(entry), 0)} />
        </summary>
      </details>
      <nav aria-label="Admin area">
        <ul role="list">{show(overview)}</ul>
        {Object.entries(groups).map(([title, group]) => (
          <>
            <h2 id={`menu-${title}`}>{title}</h2>
            <ul role="list" aria-labelledby={`menu-${title}`}>
              {group.map(show)}
            </ul>
          </>
        ))}
      </nav>
      <form class="me" method="post" action="/admin/sign-out">
        <input type="hidden" name="_token" value={request.formToken} />
        <span>
          <strong title={operator.name}>{operator.name}</strong>
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

function MenuEntry({ entry: { name, label, href }, isHere, count }: { entry: Entry; isHere: boolean; count: number }) {
  return (
    <li key={name}>
      <a href={href} aria-current={isHere ? 'page' : undefined}>
        <Icon name={name} />
        {label} <Count count={count} />
      </a>
    </li>
  )
}

function Count({ count }: { count: number }) {
  if (count === 0) return null
  return (
    <span class="count">
      {count < maxWaiting ? count : `${maxWaiting - 1}+`}
      <span class="visually-hidden"> waiting</span>
    </span>
  )
}
