/** One wallet: whose it is, what it holds, every entry, and what an operator may do to it. */
import { freezeWallet, unfreezeWallet } from '../actions/money/manage-wallets.ts'
import { monthOf } from '../actions/money/write-statement.ts'
import { isUuid } from '../actions/tokens.ts'
import { isDescription } from '../ledger/reference.ts'
import type { App } from '../store/apps.ts'
import { listLiveSessionsOfUser, type LiveSession } from '../store/widget-sessions.ts'
import { findPerson, listAllLinks, type KeptLink, type Person } from '../store/user-search.ts'
import { findWallet, type WalletRow } from '../store/wallets.ts'
import { Badge, Copy, Facts, Field, Form, Heading, Money, Notice, Table, When, withQuery } from './kit/parts.tsx'
import { redirect, showNotFound, showPage } from './kit/respond.tsx'
import { get, post, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { Ledger, readLedger } from './kit/wallet-ledger.tsx'
import { WalletState } from './wallets.tsx'

export const walletRoutes: AdminRoute[] = [
  get('/admin/wallets/:id', (request) => show(request)),
  post('/admin/wallets/:id/freeze', freeze),
  post('/admin/wallets/:id/unfreeze', unfreeze),
]

export type Problems = Readonly<Record<string, string>>

/** Also shown again, with what is wrong, after a form that was not right. */
export async function showWallet(request: AdminRequest, person: Person, problems: Problems = {}): Promise<Response> {
  const { service } = request
  const db = service.db.pool
  const [wallet, links, sessions, apps, ledger] = await Promise.all([
    findWallet(db, person.id),
    listAllLinks(db, person.id),
    listLiveSessionsOfUser(db, person.id),
    service.apps.list(),
    readLedger(request, person.id),
  ])
  const isAdmin = request.me.operator.role === 'admin'
  const name = `${person.firstName} ${person.lastName}`
  const body = (
    <>
      <Heading title={name} sub={person.email}>
        <a class="button quiet small" href={withQuery('/admin/topups', { user: person.id })}>
          Card top-ups
        </a>
        <a class="button quiet small" href={withQuery('/admin/audit', { subject: `wallet:${person.id}` })}>
          History
        </a>
      </Heading>
      <div class="columns">
        <Balance request={request} person={person} wallet={wallet!} />
        {isAdmin && <Actions request={request} wallet={wallet!} problems={problems} />}
      </div>
      <Ledger request={request} walletId={person.id} page={ledger} apps={apps} />
      <div class="columns">
        <Links links={links} apps={apps} />
        <Sessions sessions={sessions} apps={apps} />
      </div>
    </>
  )
  const status = Object.keys(problems).length > 0 ? { status: 422 } : {}
  return await showPage(request, { title: name, here: 'wallets', body, ...status })
}

export async function findPersonOf(request: AdminRequest): Promise<Person | undefined> {
  const id = request.param('id')
  return isUuid(id) ? await findPerson(request.service.db.pool, { id }) : undefined
}

async function show(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  return person ? await showWallet(request, person) : await showNotFound(request, 'wallet')
}

function Balance({ request, person, wallet }: { request: AdminRequest; person: Person; wallet: WalletRow }) {
  const { currency } = request.service.config
  return (
    <section class="card stack hero">
      <div>
        <p class="label muted">Balance</p>
        <p class="value">
          <Money minor={wallet.balanceMinor} currency={currency} />
        </p>
      </div>
      {wallet.frozenFor !== null && (
        <Notice kind={wallet.frozenFor === 'debt' ? 'warn' : 'bad'}>
          {wallet.frozenFor === 'debt'
            ? 'Frozen by itself, because it is below zero. It thaws when the debt is repaid.'
            : `Frozen by an operator: ${wallet.frozenReason ?? 'no reason is on record'}`}
        </Notice>
      )}
      <Facts
        rows={[
          ['State', <WalletState frozenFor={wallet.frozenFor} />],
          ['Entries', wallet.sequence.toLocaleString('en')],
          ['User id', <Copy label="user id" text={person.id} />],
          ['Signed up', <When at={person.createdAt} />],
        ]}
      />
      <form class="row bottom" method="get" action={`/admin/wallets/${person.id}/statement`}>
        <Field
          label="Statement for a month"
          name="month"
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

function Actions({ request, wallet, problems }: { request: AdminRequest; wallet: WalletRow; problems: Problems }) {
  const base = `/admin/wallets/${wallet.id}`
  const { form } = request
  const isFrozen = wallet.frozenFor === 'operator'
  return (
    <section class="card stack">
      <h2>Grant a bonus</h2>
      <Form request={request} action={`${base}/bonus`} class="stack">
        <Field
          label={`Amount in ${request.service.config.currency.code}`}
          name="amount"
          value={form.text('amount')}
          problem={problems['amount']}
          attributes={{ required: true, inputmode: 'decimal', autocomplete: 'off' }}
        />
        <Field
          label="Reason"
          name="bonusReason"
          value={form.text('bonusReason')}
          hint="The user sees it in the wallet."
          problem={problems['bonusReason']}
          attributes={{ required: true, maxlength: 500 }}
        />
        <div>
          <button class="button small" type="submit">
            Continue
          </button>
        </div>
      </Form>
      <hr />
      {wallet.frozenFor === 'debt' ? (
        <p class="muted">The wallet thaws by itself when its debt is repaid.</p>
      ) : (
        <Form request={request} action={`${base}/${isFrozen ? 'unfreeze' : 'freeze'}`} class="stack">
          <h2>{isFrozen ? 'Unfreeze the wallet' : 'Freeze the wallet'}</h2>
          <Field
            label={isFrozen ? 'Reason for unfreezing' : 'Reason for freezing'}
            name="reason"
            value={form.text('reason')}
            hint={
              isFrozen
                ? 'For the audit log.'
                : 'For the audit log. A frozen wallet takes credits only; its open widgets show it at once.'
            }
            problem={problems['reason']}
            attributes={{ required: true, maxlength: 500 }}
          />
          <div>
            <button class={`button small ${isFrozen ? '' : 'danger'}`} type="submit">
              {isFrozen ? 'Unfreeze' : 'Freeze'}
            </button>
          </div>
        </Form>
      )}
    </section>
  )
}

function appName(apps: readonly App[], clientId: string): string {
  return apps.find((app) => app.clientId === clientId)?.name ?? clientId
}

function Links({ links, apps }: { links: readonly KeptLink[]; apps: readonly App[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Linked apps</h2>
      </div>
      {links.length === 0 ? (
        <p class="empty muted">The user is linked to no app.</p>
      ) : (
        <Table label="Linked apps" head={['App', 'serviceUserId', 'Linked']}>
          {links.map((link) => (
            <tr key={link.id}>
              <td>
                <a href={`/admin/client-apps/${link.clientId}`}>{appName(apps, link.clientId)}</a>{' '}
                {link.disconnectedAt && <Badge>disconnected</Badge>}
              </td>
              <td>
                <code>{link.id}</code>
              </td>
              <td>
                <When at={link.createdAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function Sessions({ sessions, apps }: { sessions: readonly LiveSession[]; apps: readonly App[] }) {
  return (
    <section class="card flush">
      <div class="heading">
        <h2>Live widget sessions</h2>
      </div>
      {sessions.length === 0 ? (
        <p class="empty muted">No widget is open now. A session lives for five minutes.</p>
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

export function reasonProblem(reason: string): string | undefined {
  if (reason.trim() === '') return 'write a reason'
  return isDescription(reason) && !/\p{Cc}/u.test(reason) ? undefined : 'write at most 500 characters on one line'
}

async function freeze(request: AdminRequest): Promise<Response> {
  return await changeFreeze(request, freezeWallet, 'wallet-frozen')
}

async function unfreeze(request: AdminRequest): Promise<Response> {
  return await changeFreeze(request, unfreezeWallet, 'wallet-unfrozen')
}

async function changeFreeze(request: AdminRequest, change: typeof freezeWallet, done: string): Promise<Response> {
  const person = await findPersonOf(request)
  if (!person) return await showNotFound(request, 'wallet')
  const reason = request.form.text('reason').trim()
  const problem = reasonProblem(reason)
  if (problem) return await showWallet(request, person, { reason: problem })
  const result = await change(request.service, request.actor, person.id, reason)
  request.service.live.poke(person.id)
  return redirect(`/admin/wallets/${person.id}?done=${result === 'in-debt' ? 'wallet-in-debt' : done}`)
}
