/** Names and states of apps, wallets and top-ups, shared by every page that shows them. */
import { parseCurrency, type Currency } from '../../ledger/money.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import type { Person } from '../../store/people/user-search.ts'
import type { Topup } from '../../store/topups.ts'
import { Badge, Money, Table, When, type Head } from './parts.tsx'

export function AppState({ app }: { app: App }) {
  return app.isActive ? <Badge kind="good">active</Badge> : <Badge kind="bad">inactive</Badge>
}

export function WalletState({ frozenFor }: { frozenFor: Person['frozenFor'] }) {
  if (frozenFor === null) return <Badge kind="good">active</Badge>
  if (frozenFor === 'closed') return <Badge>deleted</Badge>
  return frozenFor === 'debt' ? <Badge kind="warn">frozen for debt</Badge> : <Badge kind="bad">frozen</Badge>
}

/** A deleted user has no name. */
export function nameOf({ firstName, lastName, email }: Pick<Person, 'firstName' | 'lastName' | 'email'>): string {
  return email === null ? 'Deleted user' : `${firstName} ${lastName}`
}

/** The display name of a counter account. */
export function accountName(apps: readonly App[], account: string): string {
  if (account === 'cards') return 'Card top-ups'
  if (account === 'bonus') return 'Bonuses'
  if (account === 'adjustments') return 'Adjustments'
  return apps.find((app) => counterAccountOfApp(app.clientId) === account)?.name ?? account
}

type PeopleProps = { currency: Currency; people: readonly Person[]; balance?: Head; since?: Head }

export function PeopleTable({ currency, people, balance = ['Balance'], since = 'Since' }: PeopleProps) {
  return (
    <Table label="Wallets" head={['User', 'Email', balance, 'State', since]}>
      {people.map((person) => (
        <tr key={person.id}>
          <td class="wide">
            <a href={`/admin/wallets/${person.id}`}>{nameOf(person)}</a>
          </td>
          <td class="wide">{person.email}</td>
          <td class="number">
            <Money minor={person.balanceMinor} currency={currency} />
            {person.heldMinor > 0n && (
              <div class="small muted">
                <Money minor={person.balanceMinor - person.heldMinor} currency={currency} /> available
              </div>
            )}
          </td>
          <td>
            <WalletState frozenFor={person.frozenFor} />
          </td>
          <td>
            <When at={person.createdAt} isShort />
          </td>
        </tr>
      ))}
    </Table>
  )
}

export function currencyOf({ currency }: Topup): Currency {
  return parseCurrency(currency)!
}

const stateKinds = { created: '', processing: 'warn', succeeded: 'good', failed: '', cancelled: '' } as const

export function TopupBadges({ topup }: { topup: Topup }) {
  const { state, problem, dispute, declineCode, creditedMinor, refundedMinor } = topup
  return (
    <>
      <Badge kind={stateKinds[state]}>{state}</Badge> {problem && <Badge kind="bad">{problemTexts[problem][0]}</Badge>}{' '}
      {refundedMinor > 0n && (
        <Badge kind="warn">{refundedMinor === creditedMinor ? 'refunded' : 'partly refunded'}</Badge>
      )}{' '}
      {dispute !== 'none' && <Badge kind={dispute === 'won' ? 'good' : 'bad'}>dispute {dispute}</Badge>}{' '}
      {declineCode !== null && <Badge>declined</Badge>}
    </>
  )
}

export const problemTexts = {
  mismatch: [
    'not as ordered',
    'The processor took money for this payment, but its amount, currency, user or top-up is not the ordered one. Nothing was credited. Check it in the processor’s dashboard, and refund it if it should not have been taken.',
  ],
  'credit-refused': [
    'balance too high',
    'The payment was taken, but the wallet’s balance would exceed the highest allowed balance. Nothing was credited. Refund it.',
  ],
} as const
