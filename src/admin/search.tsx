/** One search for the whole admin area. A text that is exactly one thing leads straight to its page. */
import type { ComponentChildren } from 'preact'
import { findAnything, maxFound, type Found, type FoundUse } from '../actions/find-anything.ts'
import { ownerOf } from '../actions/money/inspect-reference.ts'
import { serviceNamespace } from '../ledger/reference.ts'
import type { App } from '../store/apps.ts'
import { Badge, Empty, Heading, Money, Notice, Table, When, withQuery } from './kit/parts.tsx'
import { redirect, showPage } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { AppState, PeopleTable } from './kit/states.tsx'
import { Owner, TopupTable } from './kit/topup-table.tsx'

export const searchRoutes: AdminRoute[] = [get('/admin/search', show)]

async function show(request: AdminRequest): Promise<Response> {
  const q = request.query('q').trim()
  if (q === '') return await showPage(request, { title: 'Search', body: <Help title="What do you look for?" /> })
  const found = await findAnything(request.service, q)
  const only = onlyPlace(found, q)
  if (only) return redirect(only)
  const apps = await request.service.apps.list()
  const { exactly, people, uses, topups } = found
  const isNothing = people.length + uses.length + topups.length + found.apps.length === 0 && !exactly
  const body = (
    <>
      <Heading title="Search" sub={<>For “{q}”</>} />
      {found.amount && <AmountNotice request={request} found={found} />}
      {isNothing && !found.amount && <Help title="Nothing found" />}
      {(exactly || people.length > 0) && (
        <Kind
          title="Users"
          more={found.hasMorePeople && <a href={withQuery('/admin/wallets', { q })}>All who begin so</a>}
        >
          <PeopleTable currency={request.service.config.currency} people={exactly ? [exactly, ...people] : people} />
        </Kind>
      )}
      {uses.length > 0 && (
        <Kind title="Debits and credits" more={found.hasMoreUses && `The first ${maxFound} found; there are more.`}>
          <Uses request={request} found={found} apps={apps} />
        </Kind>
      )}
      {topups.length > 0 && (
        <Kind title="Card top-ups">
          <TopupTable topups={topups} owners={found.owners} />
        </Kind>
      )}
      {found.apps.length > 0 && (
        <Kind title="Client apps">
          <Table label="Client apps" head={['App', 'clientId', 'State']}>
            {found.apps.map((app) => (
              <tr key={app.clientId}>
                <td class="wide">
                  <a href={`/admin/client-apps/${app.clientId}`}>{app.name}</a>
                </td>
                <td>
                  <code>{app.clientId}</code>
                </td>
                <td>
                  <AppState app={app} />
                </td>
              </tr>
            ))}
          </Table>
        </Kind>
      )}
    </>
  )
  return await showPage(request, { title: 'Search', body })
}

/** The page of the one thing that the text is the whole name of; none when it may mean several. */
function onlyPlace({ exactly, people, uses, topups, apps, amount }: Found, q: string): string | undefined {
  if (amount) return undefined
  // The entry that a top-up made has the payment's id for its reference: the page of the top-up leads to it.
  const ownUses = topups.length > 0 ? uses.filter((use) => use.namespace !== serviceNamespace) : uses
  const places = [
    ...(exactly ? [`/admin/wallets/${exactly.id}`] : []),
    ...ownUses.map(placeOfUse),
    ...topups.map((topup) => `/admin/topups/${topup.id}`),
    ...apps.filter((app) => app.clientId === q).map((app) => `/admin/client-apps/${app.clientId}`),
  ]
  const others = exactly ? 0 : people.length + apps.filter((app) => app.clientId !== q).length
  return places.length === 1 && others === 0 ? places[0] : undefined
}

function placeOfUse({ namespace, referenceType, referenceId }: FoundUse): string {
  return withQuery('/admin/references', { app: ownerOf(namespace), type: referenceType, id: referenceId })
}

function Kind({ title, more, children }: { title: string; more?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>{title}</h2>
        {more && <p class="small muted">{more}</p>}
      </div>
      {children}
    </section>
  )
}

function Uses({ request, found, apps }: { request: AdminRequest; found: Found; apps: readonly App[] }) {
  return (
    <Table label="Debits and credits" head={['Time', ['Amount'], 'Reference', 'By', 'User']}>
      {found.uses.map((use) => (
        <tr key={use.referenceKey}>
          <td>
            <When at={use.at} />
          </td>
          <td class="number">
            <Money minor={use.amountMinor} currency={request.service.config.currency} isSigned />{' '}
            {use.refusal && <Badge kind="bad">refused</Badge>}
          </td>
          <td class="wide">
            <a href={placeOfUse(use)}>
              {use.referenceType} · {use.referenceId}
            </a>
          </td>
          <td>{apps.find((app) => `app:${app.clientId}` === use.namespace)?.name ?? 'The service itself'}</td>
          <td>
            <Owner owners={found.owners} id={use.walletId} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function AmountNotice({ request, found }: { request: AdminRequest; found: Found }) {
  const { day, amountMinor, sign, isWhole } = found.amount!
  const what = { '': 'Debits, credits and card top-ups', '-': 'Debits', '+': 'Credits and card top-ups' }[sign]
  return (
    <Notice kind={isWhole ? 'info' : 'warn'}>
      {what} of <Money minor={amountMinor} currency={request.service.config.currency} /> on {day}, in UTC:{' '}
      {isWhole
        ? found.uses.length + found.topups.length === 0
          ? 'there were none.'
          : found.hasMoreUses
            ? `more than ${maxFound}, of which these were found first.`
            : `${found.uses.length + found.topups.length}.`
        : 'there are too many entries to look through in a second. Find the user, and filter the ledger by month there.'}
    </Notice>
  )
}

const kinds: readonly (readonly [what: string, example: string, how: string])[] = [
  ['A user', 'ada@example.com, Lovelace', 'The beginning of an email, a first or a last name; or a whole user id.'],
  ['A serviceUserId', 'su_1f0c…', 'Whole. Also one that was disconnected.'],
  ['A transaction', 'txn_9b2e…', 'Whole, as the API answers it.'],
  ['A reference', 'order-1042', 'The referenceId alone, whole, of any app and type, refused ones included.'],
  ['A card payment', 'pi_3Nx…', 'Whole, as the card processor names it; or the id of a top-up.'],
  ['A receipt', '7K2M-9QXR-4TBV', 'The code on it. Dashes and case do not matter.'],
  [
    'An amount on a day',
    '19.99 2026-11-14',
    'In UTC; −19.99 for debits alone, +19.99 for credits alone; “today” and “yesterday” are days too.',
  ],
  ['A client app', 'Fernweh', 'Any part of its name, or the whole clientId.'],
]

function Help({ title }: { title: string }) {
  return (
    <section class="card flush">
      <Empty title={title}>
        <p>
          Write it into the field of the search; <kbd>/</kbd> brings you there from any page, and so do <kbd>Ctrl</kbd>{' '}
          <kbd>K</kbd> and <kbd>⌘</kbd> <kbd>K</kbd>.
        </p>
      </Empty>
      <Table label="What can be found" head={['To find', 'Write, for example', 'How']}>
        {kinds.map(([what, example, how]) => (
          <tr key={what}>
            <td>{what}</td>
            <td class="wide">
              <code>{example}</code>
            </td>
            <td class="widest muted">{how}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}
