/** The confirmation before a wallet is changed: what will happen, and the balance, with holds also what is available, before and after. */
import type { ComponentChildren } from 'preact'
import { readAllowance, type Allowance } from '../../actions/money/correct-wallet.ts'
import type { Currency } from '../../ledger/money.ts'
import { magnitude } from '../../ledger/reference.ts'
import type { Person } from '../../store/people/user-search.ts'
import type { WalletRow } from '../../store/wallets.ts'
import { Facts, Form, Heading, Money } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import type { AdminRequest } from '../kit/route.ts'
import type { NavName } from '../kit/shell.tsx'
import { nameOf } from '../kit/states.tsx'

type Asked = {
  readonly person: Person
  readonly wallet: WalletRow
  readonly amountMinor: bigint
  readonly title: string
  readonly here: NavName
  readonly action: string
  /** Hidden fields that repeat the first form. */
  readonly fields: Readonly<Record<string, string>>
  readonly rows: readonly (readonly [label: string, value: ComponentChildren])[]
  readonly note?: string
  readonly button: string
}

export async function showConfirm(request: AdminRequest, asked: Asked): Promise<Response> {
  const { person, wallet, amountMinor, title, here, action, fields, rows, note, button } = asked
  const { service, actor } = request
  const { currency } = service.config
  const allowance = await readAllowance(service, service.db.pool, actor)
  const body = (
    <>
      <Heading title={title} sub={[nameOf(person), person.email].filter(Boolean).join(' · ')} />
      <Form request={request} action={action} class="card stack">
        {Object.entries(fields).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <Facts rows={rows} />
        <BeforeAfter what="Balance" before={wallet.balanceMinor} change={amountMinor} currency={currency} />
        {wallet.heldMinor > 0n && (
          <BeforeAfter
            what="Available"
            before={wallet.balanceMinor - wallet.heldMinor}
            change={amountMinor}
            currency={currency}
          />
        )}
        <p class="muted small">
          {magnitude(amountMinor) > allowance.leftMinor
            ? 'A second operator must approve it. Until then nothing moves.'
            : 'It is done at once.'}{' '}
          <AllowanceText allowance={allowance} currency={currency} /> {note}
        </p>
        <div class="row">
          <button class="button" type="submit">
            {button}
          </button>
          <a class="button quiet" href={`/admin/wallets/${person.id}`}>
            Cancel
          </a>
        </div>
      </Form>
    </>
  )
  return await showPage(request, { title, here, body })
}

/** What the operator can still move alone. */
export function AllowanceText({ allowance, currency }: { allowance: Allowance; currency: Currency }) {
  const { limitMinor, leftMinor } = allowance
  if (limitMinor === 0n) return <>A second operator must approve every correction and bonus.</>
  return (
    <>
      You can still move <Money minor={leftMinor} currency={currency} /> without a second operator. The limit is{' '}
      <Money minor={limitMinor} currency={currency} /> in 24 hours, for bonuses and corrections of all wallets together.
    </>
  )
}

type Change = { what: string; before: bigint; change: bigint; currency: Currency }

function BeforeAfter({ what, before, change, currency }: Change) {
  return (
    <div class="before-after">
      <Side label={`${what} now`} minor={before} currency={currency} />
      <span aria-hidden="true">→</span>
      <Side label={`${what} after`} minor={before + change} currency={currency} />
    </div>
  )
}

function Side({ label, minor, currency }: { label: string; minor: bigint; currency: Currency }) {
  return (
    <div>
      <p class="label muted small">{label}</p>
      <p class="value">
        <Money minor={minor} currency={currency} />
      </p>
    </div>
  )
}
