/** The page of a wallet: the user, the balance, the history, and the actions an operator may take. */
import { readAllowance } from '../../actions/money/correct-wallet.ts'
import { askBonus } from '../../actions/money/grant-bonus.ts'
import { freezeWallet, unfreezeWallet } from '../../actions/money/manage-wallets.ts'
import { sendMailAgain } from '../../actions/mails/send-again.ts'
import { maxNoteLength, writeNote } from '../../actions/people/write-note.ts'
import { isUuid } from '../../actions/tokens.ts'
import { maxBalanceMinor, maxOperationMinor } from '../../ledger/money.ts'
import { isLongerThan } from '../../ledger/reference.ts'
import { listAllLinks, type Person } from '../../store/people/user-search.ts'
import { findUser } from '../../store/people/users.ts'
import { findWallet } from '../../store/wallets.ts'
import { listLiveSessionsOfUser } from '../../store/people/widget-sessions.ts'
import { readAmount, reasonProblem, type Problems } from '../kit/amount-and-reason.tsx'
import { showConfirm } from './confirm.tsx'
import { Heading, Money } from '../kit/parts.tsx'
import { otherContent, redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { nameOf } from '../kit/states.tsx'
import { PersonalData, readPersonalData, WaitingDeletion } from './personal-data.tsx'
import { Holds, readWalletHolds } from './wallet-holds.tsx'
import { WalletActions } from './wallet-actions.tsx'
import { Ledger, readLedger } from './wallet-ledger.tsx'
import { Acts, Mails, NewestNote, Notes, readWalletStory, Topups } from './wallet-story.tsx'
import { Balance, findPersonOf, Links, Sessions, Who } from './wallet-view.tsx'

export const walletRoutes: AdminRoute[] = [
  get('/admin/wallets/:id', (request) => showWallet(request)),
  post('/admin/wallets/:id/notes', saveNote, 'notes'),
  post('/admin/wallets/:id/mails', sendAgain, 'mails'),
  post('/admin/wallets/:id/freeze', freeze, 'freeze'),
  post('/admin/wallets/:id/unfreeze', unfreeze, 'freeze'),
  post('/admin/wallets/:id/bonus', confirmBonus, 'bonus'),
  post('/admin/wallets/:id/bonus/grant', grant, 'bonus'),
]

/** Also answers a form with mistakes; `problems` names them by field. */
export async function walletPage(request: AdminRequest, person: Person, problems: Problems = {}): Promise<Response> {
  const { service } = request
  const db = service.db.pool
  const [wallet, user, links, sessions, apps, ledger, holds, story, allowance, personal] = await Promise.all([
    findWallet(db, person.id),
    findUser(db, person.id),
    listAllLinks(db, person.id),
    listLiveSessionsOfUser(db, person.id),
    service.apps.list(),
    readLedger(request, person.id),
    readWalletHolds(request, person.id),
    readWalletStory(request, person.id),
    readAllowance(service, db, request.actor),
    readPersonalData(request, person),
  ])
  const name = nameOf(person)
  const body = (
    <>
      <Heading title={name} sub={person.email ?? 'The account was deleted. The ledger is kept.'}>
        <nav class="row small" aria-label="On this page">
          <a href="#holds">Holds</a>
          <a href="#ledger">Ledger</a>
          <a href="#notes">Notes</a>
          <a href="#personal-data">Personal data</a>
          <a href="#actions">Actions</a>
        </nav>
      </Heading>
      <NewestNote notes={story.notes} />
      <WaitingDeletion personal={personal} />
      <div class="columns">
        <Who person={person} language={user?.language ?? null} links={links} />
        <Balance request={request} person={person} wallet={wallet!} />
      </div>
      <Holds request={request} userId={person.id} holds={holds} apps={apps} />
      <Ledger request={request} wallet={wallet!} page={ledger} apps={apps} />
      <Topups userId={person.id} topups={story.topups} />
      <Links links={links} apps={apps} />
      <Sessions sessions={sessions} apps={apps} />
      <Mails request={request} person={person} mails={story.mails} />
      <Acts userId={person.id} story={story} currency={request.service.config.currency} />
      <Notes request={request} person={person} story={story} problems={problems} />
      <PersonalData
        request={request}
        person={person}
        wallet={wallet!}
        personal={personal}
        operators={story.operators}
        problems={problems}
      />
      <WalletActions request={request} wallet={wallet!} problems={problems} allowance={allowance} />
    </>
  )
  const status = Object.keys(problems).length > 0 ? { status: 422 } : {}
  return await showPage(request, { title: name, here: 'wallets', body, ...status })
}

async function showWallet(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  return person ? await walletPage(request, person) : await showNotFound(request, 'wallet')
}

async function saveNote(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  if (!person) return await showNotFound(request, 'wallet')
  const { form, service, actor, me } = request
  const text = form.text('note').trim()
  if (text === '' || isLongerThan(text, maxNoteLength))
    return await walletPage(request, person, { note: `enter at most ${maxNoteLength.toLocaleString('en')} characters` })
  if (!isUuid(form.text('form')))
    return await showProblem(request, 422, 'This form is incomplete. Start again from the wallet.')
  if (person.email === null) return await showProblem(request, 409, 'The account was deleted, so it takes no notes.')
  const note = { id: form.text('form'), userId: person.id, operatorId: me.operator.id, text }
  if (!(await writeNote(service, actor, note))) return await showProblem(request, 409, otherContent)
  return redirect(`/admin/wallets/${person.id}?done=note-kept#notes`)
}

async function sendAgain(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  if (!person) return await showNotFound(request, 'wallet')
  const { form, service, actor } = request
  const formId = form.text('form')
  if (!isUuid(formId)) return await showProblem(request, 422, 'This form is incomplete. Start again from the wallet.')
  const mail = { formId, userId: person.id, fact: form.text('fact') }
  const done = await sendMailAgain(service, actor, mail)
  if (done === 'reused') return await showProblem(request, 409, otherContent)
  if (done === 'gone') return await showProblem(request, 409, 'This mail is still being sent, or is no longer kept.')
  return redirect(`/admin/wallets/${person.id}?done=mail-again#mails`)
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
  if (problem) return await walletPage(request, person, { reason: problem })
  const result = await change(request.service, request.actor, person.id, reason)
  if (result === 'closed')
    return await showProblem(request, 409, 'The account was deleted, so its wallet is closed for good.')
  request.service.live.poke(person.id)
  return redirect(`/admin/wallets/${person.id}?done=${result === 'in-debt' ? 'wallet-in-debt' : done}`)
}

/* A bonus takes two steps: a form, then a confirmation that shows the new balance. */

type Bonus = { readonly amountMinor: bigint; readonly reason: string }

function readBonus(request: AdminRequest): Bonus | { problems: Record<string, string> } {
  const { currency } = request.service.config
  const amount = readAmount(request.form.text('amount'), currency, maxOperationMinor(currency))
  const reason = request.form.text('bonusReason').trim()
  const problem = reasonProblem(reason)
  if ('amountMinor' in amount && !problem) return { ...amount, reason }
  return {
    problems: { ...('problem' in amount && { amount: amount.problem }), ...(problem && { bonusReason: problem }) },
  }
}

async function confirmBonus(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  const wallet = person && (await findWallet(request.service.db.pool, person.id))
  if (!person || !wallet) return await showNotFound(request, 'wallet')
  const bonus = readBonus(request)
  if ('problems' in bonus) return await walletPage(request, person, bonus.problems)
  const { currency } = request.service.config
  const after = wallet.balanceMinor + bonus.amountMinor
  if (after > maxBalanceMinor) return await walletPage(request, person, { amount: 'the balance would be too high' })
  return await showConfirm(request, {
    person,
    wallet,
    amountMinor: bonus.amountMinor,
    title: 'Grant this bonus?',
    here: 'wallets',
    action: `/admin/wallets/${person.id}/bonus/grant`,
    fields: {
      amount: request.form.text('amount').trim(),
      bonusReason: bonus.reason,
      referenceId: crypto.randomUUID(),
    },
    rows: [
      ['Bonus', <Money minor={bonus.amountMinor} currency={currency} isSigned />],
      ['Reason', bonus.reason],
    ],
    note: 'A correction reverses a wrong bonus. The books show bonuses under “Bonuses”.',
    button: 'Grant the bonus',
  })
}

/** The form carries the referenceId, which binds its content: a form sent twice grants, or requests, one bonus. */
async function grant(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  const referenceId = request.form.text('referenceId')
  if (!person) return await showNotFound(request, 'wallet')
  const bonus = readBonus(request)
  if ('problems' in bonus) return await walletPage(request, person, bonus.problems)
  if (!isUuid(referenceId))
    return await showProblem(request, 422, 'This form is incomplete. Start again from the wallet.')
  const { service, actor } = request
  const result = await askBonus(service, actor, { walletId: person.id, referenceId, ...bonus })
  if (result.kind === 'reused') return await showProblem(request, 409, otherContent)
  if (result.kind === 'correction')
    return redirect(`/admin/corrections/${result.correction.id}?done=correction-${result.correction.state}`)
  if (result.kind !== 'outcome' || result.outcome.refusal)
    return await showProblem(
      request,
      409,
      result.kind === 'unknown-user'
        ? 'The bonus was not granted: the account was deleted.'
        : 'The bonus was not granted: the balance would be too high.',
    )
  return redirect(`/admin/wallets/${person.id}?done=bonus-granted`)
}
