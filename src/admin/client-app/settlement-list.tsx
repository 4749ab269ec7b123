/** The payouts to all apps. The page of one app's settlements marks periods as paid out. */
import { formatMinor } from '../../ledger/money.ts'
import { settlementListing, type ListedSettlement } from '../../store/books/settlements.ts'
import { plain } from '../../web/csv.ts'
import { actorName } from '../kit/audit-table.tsx'
import { deskList, type Names } from '../kit/desk-list.tsx'
import { Badge, Money, When } from '../kit/parts.tsx'

const appName = ({ apps }: Names, clientId: string) => apps.find((app) => app.clientId === clientId)?.name ?? clientId

function State({ settlement }: { settlement: ListedSettlement }) {
  if (settlement.reverses) return <Badge kind="warn">reversal</Badge>
  return settlement.isReversed ? <Badge>reversed</Badge> : <Badge kind="good">paid out</Badge>
}

export const settlementList = deskList<ListedSettlement>({
  path: '/admin/settlements',
  name: 'settlements',
  here: 'settlements',
  title: 'Settlements',
  sub: 'Periods marked as paid out to apps.',
  what: ['settlement', 'settlements'],
  empty: 'Mark a period as paid out on the settlements page of an app.',
  idLabel: 'Id or reference',
  labels: { state: 'State', app: 'App' },
  optionsOf: (name, { apps }) => (name === 'app' ? apps.map((app) => [app.clientId, app.name] as const) : undefined),
  listing: settlementListing,
  columns: [
    { head: 'Marked', class: 'nowrap', sort: 'time', cell: (each) => <When at={each.madeAt} /> },
    {
      head: 'App',
      class: 'wide',
      cell: (each, names) => (
        <a href={`/admin/client-apps/${each.clientId}/settlements`}>{appName(names, each.clientId)}</a>
      ),
    },
    { head: '#', class: 'number', cell: (each) => each.number },
    {
      head: 'Period (UTC)',
      class: 'nowrap',
      cell: (each) => `${each.fromDay ?? 'the beginning'} – ${each.throughDay}`,
    },
    {
      head: 'Amount',
      class: 'number',
      sort: 'amount',
      cell: (each, { currency }) => <Money minor={each.amountMinor} currency={currency} />,
    },
    { head: 'State', class: 'nowrap', cell: (each) => <State settlement={each} /> },
    { head: 'By', cell: (each, { operators }) => actorName(operators, each.madeBy) },
    { head: 'Reference', class: 'wide', cell: (each) => each.reference },
  ],
  csv: {
    id: (each) => each.id,
    clientId: (each) => each.clientId,
    app: (each, names) => appName(names, each.clientId),
    number: (each) => each.number,
    from: (each) => each.fromDay,
    through: (each) => each.throughDay,
    amount: (each, { currency }) => plain(formatMinor(each.amountMinor, currency)),
    currency: (_, { currency }) => currency.code,
    reference: (each) => each.reference,
    takesBack: (each) => each.reverses,
    isReversed: (each) => (each.isReversed ? 'yes' : 'no'),
    madeBy: (each, { operators }) => actorName(operators, each.madeBy),
    madeById: (each) => each.madeBy,
    madeAt: (each) => each.madeAt.toISOString(),
  },
})
