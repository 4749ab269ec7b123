/** Granting a bonus: asked, shown once more with what it comes to, then done, once. */
import { grantBonus } from '../actions/money/manage-wallets.ts'
import { isUuid } from '../actions/tokens.ts'
import { maxBalanceMinor, maxOperationMinor, parseDecimal } from '../ledger/money.ts'
import { findWallet } from '../store/wallets.ts'
import { Facts, Form, Heading, Money } from './kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from './kit/respond.tsx'
import { post, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { findPersonOf, reasonProblem, showWallet } from './wallet.tsx'

export const bonusRoutes: AdminRoute[] = [
  post('/admin/wallets/:id/bonus', confirm),
  post('/admin/wallets/:id/bonus/grant', grant),
]

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

async function confirm(request: AdminRequest): Promise<Response> {
  const person = await findPersonOf(request)
  const wallet = person && (await findWallet(request.service.db.pool, person.id))
  if (!person || !wallet) return await showNotFound(request, 'wallet')
  const bonus = readBonus(request)
  if ('problems' in bonus) return await showWallet(request, person, bonus.problems)
  const { currency } = request.service.config
  const after = wallet.balanceMinor + bonus.amountMinor
  if (after > maxBalanceMinor) return await showWallet(request, person, { amount: 'the balance would be too high' })
  const name = `${person.firstName} ${person.lastName}`
  const body = (
    <>
      <Heading title="Grant this bonus?" sub={`${name} · ${person.email}`} />
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

/** The reference comes with the form: sent twice, it grants once. */
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
    return await showProblem(request, 409, 'The bonus was not granted: the balance would be too high.')
  service.live.poke(person.id)
  return redirect(`/admin/wallets/${person.id}?done=bonus-granted`)
}
