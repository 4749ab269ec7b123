/** The results of a search, a section for each kind. */
import type { ComponentChildren } from 'preact'
import { maxFound, type Found } from '../../actions/search/find-anything.ts'
import { fingerprintOf } from '../../actions/tokens.ts'
import type { App } from '../../store/apps.ts'
import { CorrectionBadge } from '../kit/correction-marks.tsx'
import { HoldTable } from '../kit/hold-table.tsx'
import { Badge, Money, Table, When, withQuery } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'
import { AppState, PeopleTable } from '../kit/states.tsx'
import { Owner, TopupTable } from '../kit/topup-table.tsx'
import { operatorsPath, pathOfApp, pathOfDeletion, pathOfPayout, pathOfUse, pathOfUser } from './search-paths.ts'

export function countResults(found: Found): number {
  const lists = [
    found.people,
    found.uses,
    found.holds,
    found.topups,
    found.apps,
    found.secrets,
    found.corrections,
    found.payouts,
  ]
  const others = [found.operators, found.invites, found.notes, found.deletions, found.emails?.people ?? []]
  const count = [...lists, ...others].reduce((sum, list) => sum + list.length, 0)
  return count + (found.exactly ? 1 : 0) + (found.hasChange ? 1 : 0)
}

type Props = { request: AdminRequest; found: Found; apps: readonly App[]; q: string }

export function Results({ request, found, apps, q }: Props) {
  const { currency } = request.service.config
  const { exactly, people, emails, uses, topups } = found
  const all = <a href={withQuery('/admin/wallets', { q })}>All users that match</a>
  return (
    <>
      {(exactly || people.length > 0) && (
        <Kind title="Users" more={found.hasMorePeople && all}>
          <PeopleTable currency={currency} people={exactly ? [exactly, ...people] : people} />
        </Kind>
      )}
      {emails && emails.people.length > 0 && (
        <Kind title="Users with it inside their email">
          <PeopleTable currency={currency} people={emails.people} />
        </Kind>
      )}
      {uses.length > 0 && (
        <Kind title="Debits and credits" more={found.hasMoreUses && `The first ${maxFound}; there are more.`}>
          <Uses request={request} found={found} apps={apps} />
        </Kind>
      )}
      {found.holds.length > 0 && (
        <Kind title="Holds">
          <HoldTable label="Holds" holds={found.holds} apps={apps} currency={currency} owners={found.owners} />
        </Kind>
      )}
      {topups.length > 0 && (
        <Kind title="Card top-ups">
          <TopupTable topups={topups} owners={found.owners} />
        </Kind>
      )}
      {found.corrections.length > 0 && <Corrections request={request} found={found} />}
      {found.payouts.length > 0 && <Payouts request={request} found={found} apps={apps} />}
      {found.apps.length > 0 && <Apps found={found} />}
      {found.secrets.length > 0 && <Secrets request={request} found={found} />}
      <Access found={found} />
      {found.notes.length > 0 && <Notes found={found} />}
      {found.deletions.length > 0 && <Deletions found={found} />}
    </>
  )
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

function Uses({ request, found, apps }: Omit<Props, 'q'>) {
  return (
    <Table label="Debits and credits" head={['Time', ['Amount'], 'Reference', 'By', 'User']}>
      {found.uses.map((use) => (
        <tr key={use.referenceKey}>
          <td>{use.at ? <When at={use.at} /> : 'in the archive'}</td>
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

function Deletions({ found }: { found: Found }) {
  return (
    <Kind title="Requested deletions">
      <Table label="Requested deletions" head={['Requested', 'State', 'Reason', 'User']}>
        {found.deletions.map(({ id, askedAt, state, reason, userId }) => (
          <tr key={id}>
            <td>
              <a href={pathOfDeletion(id)}>
                <When at={askedAt} />
              </a>
            </td>
            <td>
              <Badge>{state}</Badge>
            </td>
            <td class="wide">{reason}</td>
            <td>
              <Owner owners={found.owners} id={userId} />
            </td>
          </tr>
        ))}
      </Table>
    </Kind>
  )
}

function Corrections({ request, found }: { request: AdminRequest; found: Found }) {
  return (
    <Kind title="Corrections">
      <Table label="Corrections" head={['Requested', ['Amount'], 'Reason', 'State', 'User']}>
        {found.corrections.map(({ id, askedAt, amountMinor, reason, state, walletId }) => (
          <tr key={id}>
            <td>
              <a href={`/admin/corrections/${id}`}>
                <When at={askedAt} />
              </a>
            </td>
            <td class="number">
              <Money minor={amountMinor} currency={request.service.config.currency} isSigned />
            </td>
            <td class="wide">{reason}</td>
            <td>
              <CorrectionBadge state={state} />
            </td>
            <td>
              <Owner owners={found.owners} id={walletId} />
            </td>
          </tr>
        ))}
      </Table>
    </Kind>
  )
}

function Payouts({ request, found, apps }: Omit<Props, 'q'>) {
  return (
    <Kind title="Payouts" more={found.payouts.length === maxFound && `The first ${maxFound}; there may be more.`}>
      <Table label="Payouts" head={['Made', 'App', 'Through', ['Amount'], 'Reference']}>
        {found.payouts.map((payout) => (
          <tr key={payout.id}>
            <td>
              <When at={payout.madeAt} />
            </td>
            <td>{apps.find(({ clientId }) => clientId === payout.clientId)?.name ?? payout.clientId}</td>
            <td>{payout.throughDay}</td>
            <td class="number">
              <Money minor={payout.amountMinor} currency={request.service.config.currency} />
            </td>
            <td class="wide">
              <a href={pathOfPayout(payout)}>{payout.reference}</a> {payout.reverses && <Badge>reversal</Badge>}
            </td>
          </tr>
        ))}
      </Table>
    </Kind>
  )
}

function Apps({ found }: { found: Found }) {
  return (
    <Kind title="Client apps">
      <Table label="Client apps" head={['App', 'clientId', 'State']}>
        {found.apps.map((app) => (
          <tr key={app.clientId}>
            <td class="wide">
              <a href={pathOfApp(app.clientId)}>{app.name}</a>
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
  )
}

/** From the apps in memory, whose times of use are not current: the app's page shows those. */
function Secrets({ request, found }: { request: AdminRequest; found: Found }) {
  const now = request.service.apps.now()
  return (
    <Kind title="Secrets of apps">
      <Table label="Secrets of apps" head={['Fingerprint', 'App', 'Created', 'State']}>
        {found.secrets.map(({ app, secret }) => (
          <tr key={secret.id}>
            <td>
              <code>{fingerprintOf(secret.hash)}</code>
            </td>
            <td class="wide">
              <a href={pathOfApp(app.clientId)}>{app.name}</a>
            </td>
            <td>
              <When at={secret.createdAt} />
            </td>
            <td>
              {secret.revokedAt ? (
                <Badge kind="bad">revoked</Badge>
              ) : secret.expiresAt ? (
                <>
                  <Badge>{secret.expiresAt <= now ? 'ended' : 'ends'}</Badge> <When at={secret.expiresAt} />
                </>
              ) : (
                <Badge kind="good">current</Badge>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Kind>
  )
}

function Access({ found: { operators, invites, hasChange } }: { found: Found }) {
  if (operators.length + invites.length === 0 && !hasChange) return null
  return (
    <Kind title="Operators" more={<a href={operatorsPath}>All operators</a>}>
      <Table label="Operators" head={['Operator', 'Email', 'Role', 'State']}>
        {operators.map(({ id, name, email, role, isActive }) => (
          <tr key={id}>
            <td class="wide">
              <a href={operatorsPath}>
                <bdi>{name}</bdi>
              </a>
            </td>
            <td>{email}</td>
            <td>{role}</td>
            <td>{isActive ? <Badge kind="good">active</Badge> : <Badge kind="bad">no access</Badge>}</td>
          </tr>
        ))}
        {invites.map(({ id, email, role, operatorId }) => (
          <tr key={id}>
            <td class="wide">
              <a href={operatorsPath}>{operatorId ? 'Link to reset the access' : 'Invitation'}</a>
            </td>
            <td>{email ?? 'the first operator'}</td>
            <td>{role}</td>
            <td>
              <Badge kind="warn">open</Badge>
            </td>
          </tr>
        ))}
        {hasChange && (
          <tr>
            <td class="wide" colSpan={4}>
              <a href={operatorsPath}>A change of an operator has this id</a>
            </td>
          </tr>
        )}
      </Table>
    </Kind>
  )
}

function Notes({ found }: { found: Found }) {
  return (
    <Kind title="Notes">
      <Table label="Notes" head={['Written', 'Note', 'User']}>
        {found.notes.map(({ id, userId, text, writtenAt }) => (
          <tr key={id}>
            <td>
              <When at={writtenAt} />
            </td>
            <td class="widest">
              <a href={pathOfUser(userId)}>{text}</a>
            </td>
            <td>
              <Owner owners={found.owners} id={userId} />
            </td>
          </tr>
        ))}
      </Table>
    </Kind>
  )
}
