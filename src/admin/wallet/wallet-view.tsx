/** The first cards of the wallet page: the user, the balance, linked apps and live widget sessions. */
import { monthOf } from '../../actions/money/write-statement.ts'
import { isUuid } from '../../actions/tokens.ts'
import type { Currency } from '../../ledger/money.ts'
import type { App } from '../../store/apps.ts'
import { findPerson, type KeptLink, type Person } from '../../store/people/user-search.ts'
import type { LiveSession } from '../../store/people/widget-sessions.ts'
import type { WalletRow } from '../../store/wallets.ts'
import { Badge, Copy, Facts, Field, Money, Notice, Table, When } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'
import { nameOf, WalletState } from '../kit/states.tsx'

/** The user whose id is in the path. */
export async function findPersonOf(request: AdminRequest): Promise<Person | undefined> {
  const id = request.param('id')
  return isUuid(id) ? await findPerson(request.service.db.pool, { id }) : undefined
}

export function Who({
  person,
  language,
  links,
}: {
  person: Person
  language: string | null
  links: readonly KeptLink[]
}) {
  const signedIn = links.flatMap((link) => (link.signedInAt ? [link.signedInAt.getTime()] : []))
  return (
    <section class="card stack">
      <h2>User</h2>
      <Facts
        rows={[
          ['Name', nameOf(person)],
          ['Email', person.email === null ? 'deleted' : <Copy label="email" text={person.email} />],
          ['User id', <Copy label="user id" text={person.id} />],
          ['Signed up', <When at={person.createdAt} />],
          ['Last sign-in', <When at={signedIn.length === 0 ? null : new Date(Math.max(...signedIn))} />],
          ['Language', language ?? (person.email === null ? 'deleted' : 'not chosen')],
          ['Linked apps', `${links.filter((link) => link.disconnectedAt === null).length} of ${links.length} ever`],
        ]}
      />
    </section>
  )
}

export function Balance({ request, person, wallet }: { request: AdminRequest; person: Person; wallet: WalletRow }) {
  const { currency } = request.service.config
  const { balanceMinor, heldMinor } = wallet
  return (
    <section class="card stack hero">
      <div>
        <p class="label muted">Available</p>
        <p class="value">
          <Money minor={balanceMinor - heldMinor} currency={currency} />
        </p>
      </div>
      {wallet.frozenFor !== null && wallet.frozenFor !== 'closed' && (
        <Notice kind={wallet.frozenFor === 'debt' ? 'warn' : 'bad'}>
          {wallet.frozenFor === 'debt'
            ? debtText(wallet)
            : `Frozen by an operator: ${wallet.frozenReason ?? 'no reason recorded'}`}
        </Notice>
      )}
      <Facts
        rows={[
          ['Balance', <Money minor={balanceMinor} currency={currency} />],
          ['Held', heldMinor === 0n ? 'nothing' : <Held minor={heldMinor} currency={currency} />],
          ['State', <WalletState frozenFor={wallet.frozenFor} />],
          ['Entries', wallet.sequence.toLocaleString('en')],
        ]}
      />
      <form class="row bottom" method="get" action={`/admin/wallets/${person.id}/statement`}>
        <Field
          label="Statement for a month"
          name="month"
          id="field-statement-month"
          type="month"
          value={monthOf(request.service.now()).text}
          attributes={{ required: true, pattern: '20[0-9][0-9]-[01][0-9]', placeholder: '2025-03' }}
        />
        <button class="button quiet" type="submit">
          Download CSV
        </button>
      </form>
    </section>
  )
}

/** Debt is less than zero available: with open holds the balance itself may be above zero. */
function debtText({ balanceMinor }: WalletRow): string {
  return balanceMinor < 0n
    ? 'Frozen automatically because the balance is below zero. It is unfrozen when the debt is repaid.'
    : 'Frozen automatically because the balance is less than what is held. It is unfrozen when money comes in, or when holds are voided or expire.'
}

function Held({ minor, currency }: { minor: bigint; currency: Currency }) {
  return (
    <a href="#holds">
      <Money minor={minor} currency={currency} />
    </a>
  )
}

function appName(apps: readonly App[], clientId: string): string {
  return apps.find((app) => app.clientId === clientId)?.name ?? clientId
}

export function Links({ links, apps }: { links: readonly KeptLink[]; apps: readonly App[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Linked apps</h2>
      </div>
      {links.length === 0 ? (
        <p class="empty muted">The user is not linked to any app.</p>
      ) : (
        <Table label="Linked apps" head={['App', 'serviceUserId', 'Linked', 'Last sign-in']}>
          {links.map((link) => (
            <tr key={link.id}>
              <td class="wide">
                <a href={`/admin/client-apps/${link.clientId}`}>{appName(apps, link.clientId)}</a>{' '}
                {link.disconnectedAt && <Badge>disconnected</Badge>}
              </td>
              <td>
                <code>{link.id}</code>
              </td>
              <td>
                <When at={link.createdAt} />
              </td>
              <td>
                <When at={link.signedInAt} /> {link.signedOutAt && <Badge>signed out</Badge>}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

export function Sessions({ sessions, apps }: { sessions: readonly LiveSession[]; apps: readonly App[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Live widget sessions</h2>
      </div>
      {sessions.length === 0 ? (
        <p class="empty muted">No widget is open now. A session lasts five minutes.</p>
      ) : (
        <Table label="Live widget sessions" head={['App', 'Page', 'Ends']}>
          {sessions.map((session, i) => (
            <tr key={i}>
              <td>{appName(apps, session.clientId)}</td>
              <td>{session.parentOrigin ?? 'any allowed page'}</td>
              <td>
                <When at={session.expiresAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
