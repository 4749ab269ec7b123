/** One wallet: whose it is, what it holds, every entry, and what an operator may do to it. */
import { freezeWallet, grantBonus, unfreezeWallet } from '../actions/money/manage-wallets.ts'
import { isUuid } from '../actions/tokens.ts'
import { maxBalanceMinor, maxOperationMinor, parseDecimal } from '../ledger/money.ts'
import { listAllLinks, type Person } from '../store/user-search.ts'
import { findWallet, type WalletRow } from '../store/wallets.ts'
import { listLiveSessionsOfUser } from '../store/widget-sessions.ts'
import { AmountAndReason, reasonProblem, type Problems } from './kit/amount-and-reason.tsx'
import { Facts, Field, Form, Heading, Money, withQuery } from './kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from './kit/respond.tsx'
import { get, may, post, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { nameOf } from './kit/states.tsx'
import { Ledger, readLedger } from './kit/wallet-ledger.tsx'
import { Balance, findPersonOf, Links, Sessions } from './kit/wallet-view.tsx'

export const walletRoutes: AdminRoute[] = [
  get('/admin/wallets/:id', (request) => show(request)),
  post('/admin/wallets/:id/freeze', freeze, 'freeze'),
  post('/admin/wallets/:id/unfreeze', unfreeze, 'freeze'),
  post('/admin/wallets/:id/bonus', confirmBonus, 'bonus'),
  post('/admin/wallets/:id/bonus/grant', grant, 'bonus'),
]

/** Also the answer to a form with mistakes, which `problems` names by field. */
async function showWallet(request: AdminRequest, person: Person, problems: Problems = {}): Promise<Response> {
  const { service } = request
  const db = service.db.pool
  const [wallet, links, sessions, apps, ledger] = await Promise.all([
    findWallet(db, person.id),
    listAllLinks(db, person.id),
    listLiveSessionsOfUser(db, person.id),
    service.apps.list(),
    readLedger(request, person.id),
  ])
  const mayAct = may(request, 'bonus') || may(request, 'freeze')
  const name = nameOf(person)
  const body = (
    <>
      <Heading title={name} sub={person.email ?? 'The account was deleted; the books stay.'}>
        <a class="button quiet small" href={withQuery('/admin/topups', { user: person.id })}>
          Card top-ups
        </a>
        <a class="button quiet small" href={withQuery('/admin/audit', { subject: `wallet:${person.id}` })}>
          History
        </a>
      </Heading>
      <div class="columns">
        <Balance request={request} person={person} wallet={wallet!} />
        {mayAct && <Actions request={request} wallet={wallet!} problems={problems} />}
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

async function show(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  return person ? await showWallet(request, person) : await showNotFound(request, 'wallet')
}

function Actions({ request, wallet, problems }: { request: AdminRequest; wallet: WalletRow; problems: Problems }) {
  const base = `/admin/wallets/${wallet.id}`
  const { form } = request
  const isFrozen = wallet.frozenFor === 'operator'
  if (wallet.frozenFor === 'closed')
    return (
      <section class="card stack">
        <h2>The account was deleted</h2>
        <p class="muted">
          The wallet is closed for good: it takes no money. A charge-back that still comes puts it below zero, which is
          then the service’s loss.
        </p>
      </section>
    )
  return (
    <section class="card stack">
      {may(request, 'bonus') && (
        <>
          <h2>Grant a bonus</h2>
          <Form request={request} action={`${base}/bonus`} class="stack">
            <AmountAndReason
              request={request}
              problems={problems}
              currency={request.service.config.currency.code}
              reasonName="bonusReason"
              reasonHint="The user sees it in the wallet."
            />
          </Form>
        </>
      )}
      {may(request, 'bonus') && may(request, 'freeze') && <hr />}
      {!may(request, 'freeze') ? null : wallet.frozenFor === 'debt' ? (
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
  if (result === 'closed')
    return await showProblem(request, 409, 'The account was deleted: its wallet is closed for good.')
  request.service.live.poke(person.id)
  return redirect(`/admin/wallets/${person.id}?done=${result === 'in-debt' ? 'wallet-in-debt' : done}`)
}

/* Granting a bonus: asked, shown once more with what it comes to, then done, once. */

type Bonus = { readonly amountMinor: bigint; readonly reason: string }

function readBonus(request: AdminRequest): Bonus | { problems: Record<string, string> } {
  const { currency } = request.service.config
  const amountMinor = parseDecimal(request.form.text('amount').trim(), currency)
  const reason = request.form.text('bonusReason').trim()
  const problems: Record<string, string> = {}
  if (amountMinor === undefined || amountMinor <= 0n || amountMinor > maxOperationMinor(currency))
    problems['amount'] = `write an amount above zero with at most ${currency.decimals} decimals`
  const problem = reasonProblem(reason)
  if (problem) problems['bonusReason'] = problem
  return Object.keys(problems).length > 0 ? { problems } : { amountMinor: amountMinor!, reason }
}

async function confirmBonus(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  const wallet = person && (await findWallet(request.service.db.pool, person.id))
  if (!person || !wallet) return await showNotFound(request, 'wallet')
  const bonus = readBonus(request)
  if ('problems' in bonus) return await showWallet(request, person, bonus.problems)
  const { currency } = request.service.config
  const after = wallet.balanceMinor + bonus.amountMinor
  if (after > maxBalanceMinor) return await showWallet(request, person, { amount: 'the balance would be too high' })
  const name = nameOf(person)
  const body = (
    <>
      <Heading title="Grant this bonus?" sub={[name, person.email].filter(Boolean).join(' · ')} />
      <Form request={request} action={`/admin/wallets/${person.id}/bonus/grant`} class="card stack">
        <input type="hidden" name="amount" value={request.form.text('amount').trim()} />
        <input type="hidden" name="bonusReason" value={bonus.reason} />
        <input type="hidden" name="referenceId" value={crypto.randomUUID()} />
        <Facts
          rows={[
            ['Bonus', <Money minor={bonus.amountMinor} currency={currency} isSigned />],
            ['Reason', bonus.reason],
          ]}
        />
        <div class="before-after">
          <div>
            <p class="label muted small">Balance now</p>
            <p class="value">
              <Money minor={wallet.balanceMinor} currency={currency} />
            </p>
          </div>
          <span aria-hidden="true">→</span>
          <div>
            <p class="label muted small">Balance after</p>
            <p class="value">
              <Money minor={after} currency={currency} />
            </p>
          </div>
        </div>
        <p class="muted small">It cannot be taken back. What the service gave is in the books under “Bonuses”.</p>
        <div class="row">
          <button class="button" type="submit">
            Grant the bonus
          </button>
          <a class="button quiet" href={`/admin/wallets/${person.id}`}>
            Cancel
          </a>
        </div>
      </Form>
    </>
  )
  return await showPage(request, { title: 'Grant a bonus', here: 'wallets', body })
}

/** The referenceId is a field of the form: a form that is sent twice grants one bonus. */
async function grant(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  const referenceId = request.form.text('referenceId')
  if (!person) return await showNotFound(request, 'wallet')
  const bonus = readBonus(request)
  if ('problems' in bonus) return await showWallet(request, person, bonus.problems)
  if (!isUuid(referenceId))
    return await showProblem(request, 422, 'This form is not whole. Start again from the wallet.')
  const { service, actor } = request
  const result = await grantBonus(service, actor, { walletId: person.id, referenceId, ...bonus })
  if (result.kind !== 'outcome' || result.outcome.refusal)
    return await showProblem(
      request,
      409,
      result.kind === 'unknown-user'
        ? 'The bonus was not granted: the account was deleted.'
        : 'The bonus was not granted: the balance would be too high.',
    )
  service.live.poke(person.id)
  return redirect(`/admin/wallets/${person.id}?done=bonus-granted`)
}
