/** The table of card top-ups, shared by every page that lists some. */
import type { Person } from '../../store/people/user-search.ts'
import type { Topup } from '../../store/topups.ts'
import { Money, Table, When, type Head } from './parts.tsx'
import { currencyOf, nameOf, TopupBadges } from './states.tsx'

type Props = { topups: readonly Topup[]; owners?: ReadonlyMap<string, Person>; time?: Head }

/** `owners` adds a column with the user. */
export function TopupTable({ topups, owners, time = 'Time' }: Props) {
  return (
    <Table label="Card top-ups" head={[time, 'State', ['Amount'], 'Payment', ...(owners ? ['User'] : [])]}>
      {topups.map((topup) => (
        <tr key={topup.id}>
          <td>
            <a href={`/admin/topups/${topup.id}`}>
              <When at={topup.createdAt} />
            </a>
          </td>
          <td>
            <TopupBadges topup={topup} />
          </td>
          <td class="number">
            <Money minor={topup.amountMinor} currency={currencyOf(topup)} />
          </td>
          <td>
            <code>{topup.paymentIntentId ?? 'none'}</code>
          </td>
          {owners && (
            <td>
              <Owner owners={owners} id={topup.userId} />
            </td>
          )}
        </tr>
      ))}
    </Table>
  )
}

/** The name of the user, linked to the wallet. */
export function Owner({ owners, id }: { owners: ReadonlyMap<string, Person>; id: string }) {
  const person = owners.get(id)
  return <a href={`/admin/wallets/${id}`}>{person ? nameOf(person) : id}</a>
}
