/** Requesting a correction: the form, the confirmation, and the order, which counts once however often it is sent. */
import { isArchived, type Archived } from '../../store/closing/archived-entries.ts'
import {
  askCorrection,
  correctionProblems,
  listCorrectionAccounts,
  readAllowance,
  type CorrectionOrder,
  type CorrectionProblem,
} from '../../actions/money/correct-wallet.ts'
import { isUuid } from '../../actions/tokens.ts'
import { formatMinor, maxBalanceMinor, maxOperationMinor } from '../../ledger/money.ts'
import { magnitude } from '../../ledger/reference.ts'
import { parseTransactionId } from '../../store/outcomes.ts'
import type { Person } from '../../store/people/user-search.ts'
import { findTransferByReference, findWallet, type Transfer, type WalletRow } from '../../store/wallets.ts'
import { AmountAndReason, readAmount, reasonProblem, type Problems } from '../kit/amount-and-reason.tsx'
import { AllowanceText, showConfirm } from './confirm.tsx'
import { Field, Form, Heading, Money, Notice, When } from '../kit/parts.tsx'
import { otherContent, redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { accountName, nameOf } from '../kit/states.tsx'
import { findPersonOf } from './wallet-view.tsx'

const path = '/admin/wallets/:id/correct'

export const correctRoutes: AdminRoute[] = [
  get(path, (request) => withWallet(request, (target) => showCorrectForm(request, target)), 'correct'),
  post(path, (request) => withWallet(request, (target) => confirmCorrection(request, target)), 'correct'),
  post(`${path}/order`, (request) => withWallet(request, (target) => orderCorrection(request, target)), 'correct'),
]

type Target = { readonly person: Person; readonly wallet: WalletRow }

async function withWallet(request: AdminRequest, show: (target: Target) => Promise<Response>): Promise<Response> {
  const person = await findPersonOf(request)
  const wallet = person && (await findWallet(request.service.db.pool, person.id))
  return person && wallet ? await show({ person, wallet }) : await showNotFound(request, 'wallet')
}

/** The value of a field: the submitted one, else the one the address proposes. */
const valueOf = (request: AdminRequest, name: string) => request.form.text(name) || request.query(name)

async function findTransaction(request: AdminRequest, walletId: string): Promise<Transfer | Archived | undefined> {
  const key = parseTransactionId(valueOf(request, 'transaction').trim())
  const found = key && (await findTransferByReference(request.service.db.pool, key))
  return found && found.walletId === walletId ? found : undefined
}

async function showCorrectForm(
  request: AdminRequest,
  { person, wallet }: Target,
  problems: Problems = {},
): Promise<Response> {
  const { service } = request
  const { currency } = service.config
  const [accounts, apps, transaction, allowance] = await Promise.all([
    listCorrectionAccounts(service, person.id),
    service.apps.list(),
    findTransaction(request, person.id),
    readAllowance(service, service.db.pool, request.actor),
  ])
  const hasProblems = Object.keys(problems).length > 0
  // Most corrections reverse a whole transaction on its own counter account.
  const proposed =
    transaction &&
    !isArchived(transaction) &&
    accounts.includes(transaction.counterAccount) &&
    transaction.counterAccount
  const body = (
    <>
      <Heading title="Correct the wallet" sub={[nameOf(person), person.email].filter(Boolean).join(' · ')}>
        <a class="button quiet small" href={`/admin/wallets/${person.id}`}>
          The wallet
        </a>
      </Heading>
      {hasProblems && <Notice kind="bad">Nothing was done. Check the fields below.</Notice>}
      <Form request={request} action={`/admin/wallets/${person.id}/correct`} class="card stack">
        <p>
          The balance is <Money minor={wallet.balanceMinor} currency={currency} />
          {wallet.heldMinor > 0n && (
            <>
              , and apps hold <Money minor={wallet.heldMinor} currency={currency} /> of it
            </>
          )}
          . <AllowanceText allowance={allowance} currency={currency} />
        </p>
        <div class="columns">
          <Field
            label="Transaction it corrects"
            name="transaction"
            value={valueOf(request, 'transaction')}
            hint={
              transaction ? (
                <TransactionText request={request} transaction={transaction} />
              ) : (
                'txn_…, or leave it empty.'
              )
            }
            problem={problems['transaction']}
            attributes={{ autocomplete: 'off', spellcheck: 'false', maxlength: 40 }}
          />
          <Field
            label="Other side"
            name="account"
            value={request.form.text('account') || proposed || 'adjustments'}
            options={accounts.map((account): [string, string] => [account, accountName(apps, account)])}
            hint="The account that pays or receives the money. Adjustments are the service’s own gain or loss."
            problem={problems['account']}
          />
        </div>
        <Field
          label="What it does"
          name="direction"
          value={request.form.text('direction') || (transaction && transaction.amountMinor < 0n ? 'credit' : 'debit')}
          options={[
            ['debit', 'Take money out of the wallet'],
            ['credit', 'Put money into the wallet'],
          ]}
        />
        <AmountAndReason
          request={request}
          problems={problems}
          currency={currency.code}
          value={transaction && formatMinor(magnitude(transaction.amountMinor), currency)}
          reasonName="reason"
          reasonHint="The user and the apps that see the entry can read it."
        />
      </Form>
    </>
  )
  return await showPage(request, {
    title: 'Correct the wallet',
    here: 'corrections',
    body,
    ...(hasProblems && { status: 422 }),
  })
}

function TransactionText({ request, transaction }: { request: AdminRequest; transaction: Transfer | Archived }) {
  if (isArchived(transaction))
    return (
      <>
        An archived entry: <Money minor={transaction.amountMinor} currency={request.service.config.currency} isSigned />
      </>
    )
  return (
    <>
      Entry {transaction.sequence}:{' '}
      <Money minor={transaction.amountMinor} currency={request.service.config.currency} isSigned />,{' '}
      {transaction.referenceType} {transaction.referenceId}, <When at={transaction.createdAt} />
    </>
  )
}

type Read = Omit<CorrectionOrder, 'id' | 'walletId'>

async function readCorrection(request: AdminRequest, { person }: Target): Promise<Read | { problems: Problems }> {
  const { form, service } = request
  const { currency } = service.config
  const amount = readAmount(form.text('amount'), currency, maxOperationMinor(currency))
  const reason = form.text('reason').trim()
  const counterAccount = form.text('account')
  const transaction = form.text('transaction').trim()
  const corrects = parseTransactionId(transaction)
  const problems: Record<string, string> = {}
  if ('problem' in amount) problems['amount'] = amount.problem
  const wrong = reasonProblem(reason)
  if (wrong) problems['reason'] = wrong
  if (!(await listCorrectionAccounts(service, person.id)).includes(counterAccount))
    problems['account'] = 'choose an account from the list'
  if (transaction !== '' && !(await findTransaction(request, person.id)))
    problems['transaction'] = corrects ? correctionProblems['unknown-transaction'] : 'enter txn_ and 32 characters'
  if ('problem' in amount || Object.keys(problems).length > 0) return { problems }
  const signed = form.text('direction') === 'credit' ? amount.amountMinor : -amount.amountMinor
  return { amountMinor: signed, counterAccount, reason, corrects: corrects ?? null }
}

async function confirmCorrection(request: AdminRequest, target: Target): Promise<Response> {
  const { person, wallet } = target
  const read = await readCorrection(request, target)
  if ('problems' in read) return await showCorrectForm(request, target, read.problems)
  const after = wallet.balanceMinor + read.amountMinor
  if (read.amountMinor < 0n && after < wallet.heldMinor)
    return await showCorrectForm(request, target, {
      amount: after < 0n ? 'the wallet does not have that much' : 'apps hold a part of that: less is available',
    })
  if (after > maxBalanceMinor)
    return await showCorrectForm(request, target, { amount: 'the balance would be too high' })
  const { service, form } = request
  const { currency } = service.config
  const transaction = await findTransaction(request, person.id)
  const kept = ['amount', 'direction', 'account', 'transaction', 'reason']
  const fields = Object.fromEntries(kept.map((name) => [name, form.text(name).trim()]))
  return await showConfirm(request, {
    person,
    wallet,
    amountMinor: read.amountMinor,
    title: 'Make this correction?',
    here: 'corrections',
    action: `/admin/wallets/${person.id}/correct/order`,
    fields: { ...fields, id: crypto.randomUUID() },
    rows: [
      ['Correction', <Money minor={read.amountMinor} currency={currency} isSigned />],
      ['Other side', accountName(await service.apps.list(), read.counterAccount)],
      ['Corrects', transaction ? <TransactionText request={request} transaction={transaction} /> : 'no transaction'],
      ['Reason', read.reason],
    ],
    button: 'Make the correction',
  })
}

/** The form carries the id, which binds its content: a form sent twice requests one correction. */
async function orderCorrection(request: AdminRequest, target: Target): Promise<Response> {
  const read = await readCorrection(request, target)
  if ('problems' in read) return await showCorrectForm(request, target, read.problems)
  const id = request.form.text('id')
  if (!isUuid(id)) return await showProblem(request, 422, 'This form is incomplete. Start again from the wallet.')
  const asked = await askCorrection(request.service, request.actor, { id, walletId: target.person.id, ...read })
  if ('problem' in asked)
    return asked.problem === 'reused'
      ? await showProblem(request, 409, otherContent)
      : await showCorrectForm(request, target, { [fieldOf[asked.problem]]: correctionProblems[asked.problem] })
  return redirect(`/admin/corrections/${asked.id}?done=correction-${asked.state}`)
}

const fieldOf: Readonly<Record<Exclude<CorrectionProblem, 'reused'>, string>> = {
  'unknown-wallet': 'reason',
  'unknown-account': 'account',
  'unknown-transaction': 'transaction',
  'too-much': 'amount',
}
