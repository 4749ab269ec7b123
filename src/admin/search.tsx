/** Global search. A query that matches exactly one thing redirects to its page. */
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

export const searchRoutes: AdminRoute[] = [get('/admin/search', showSearch)]

async function showSearch(request: AdminRequest): Promise<Response> {
  const q = request.query('q').trim()
  if (q === '') return await showPage(request, { title: 'Search', body: <Help title="What are you looking for?" /> })
  const found = await findAnything(request.service, q)
  const only = onlyPathOf(found, q)
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
          more={found.hasMorePeople && <a href={withQuery('/admin/wallets', { q })}>All users that match</a>}
        >
          <PeopleTable currency={request.service.config.currency} people={exactly ? [exactly, ...people] : people} />
        </Kind>
      )}
      {uses.length > 0 && (
        <Kind title="Debits and credits" more={found.hasMoreUses && `The first ${maxFound}; there are more.`}>
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

/** The path of the only exact match; undefined when several things match. */
function onlyPathOf({ exactly, people, uses, topups, apps, amount }: Found, q: string): string | undefined {
  if (amount) return undefined
  // A top-up's ledger entry has the payment's id as its reference, so both match; the top-up's page links to the entry.
  const ownUses = topups.length > 0 ? uses.filter((use) => use.namespace !== serviceNamespace) : uses
  const paths = [
    ...(exactly ? [`/admin/wallets/${exactly.id}`] : []),
    ...ownUses.map(pathOfUse),
    ...topups.map((topup) => `/admin/topups/${topup.id}`),
    ...apps.filter((app) => app.clientId === q).map((app) => `/admin/client-apps/${app.clientId}`),
  ]
  const others = exactly ? 0 : people.length + apps.filter((app) => app.clientId !== q).length
  return paths.length === 1 && others === 0 ? paths[0] : undefined
}

function pathOfUse({ namespace, referenceType, referenceId }: FoundUse): string {
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
            <a href={pathOfUse(use)}>
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
      {what} of <Money minor={amountMinor} currency={request.service.config.currency} /> on {day} (UTC):{' '}
      {isWhole
        ? found.uses.length + found.topups.length === 0
          ? 'there were none.'
          : found.hasMoreUses
            ? `more than ${maxFound}; these are the first.`
            : `${found.uses.length + found.topups.length}.`
        : 'there are too many entries to search. Find the user and filter the ledger by month.'}
    </Notice>
  )
}

const kinds: readonly (readonly [what: string, example: string, how: string])[] = [
  ['A user', 'ada@example.com, Lovelace', 'The beginning of an email, first or last name, or a complete user id.'],
  ['A serviceUserId', 'su_1f0c…', 'Complete. Disconnected ones too.'],
  ['A transaction', 'txn_9b2e…', 'Complete, as the API returns it.'],
  ['A reference', 'order-1042', 'The complete referenceId, of any app and type, including refused ones.'],
  ['A card payment', 'pi_3Nx…', 'The complete payment id of the card processor, or the id of a top-up.'],
  ['A receipt', '7K2M-9QXR-4TBV', 'The receipt code. Dashes and case do not matter.'],
  [
    'An amount on a day',
    '19.99 2026-11-14',
    'In UTC. −19.99 finds only debits, +19.99 only credits. “today” and “yesterday” work too.',
  ],
  ['A client app', 'Fernweh', 'Any part of the name, or the complete clientId.'],
]

function Help({ title }: { title: string }) {
  return (
    <section class="card flush">
      <Empty title={title}>
        <p>
          Type into the search field. <kbd>/</kbd>, <kbd>Ctrl</kbd> <kbd>K</kbd> and <kbd>⌘</kbd> <kbd>K</kbd> focus it
          from any page.
        </p>
      </Empty>
      <Table label="What can be found" head={['To find', 'Type, for example', 'How']}>
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
