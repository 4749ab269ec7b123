/** All days, differences and contradictions. The page of the reconciliation has the newest days and what is open. */
import { formatMinor, type Currency } from '../../ledger/money.ts'
import { dayListing, listTotalsOf, type DayTotals } from '../../store/books/day-totals.ts'
import { contradictionListing, type ListedContradiction, type Resolution } from '../../store/books/processor-lines.ts'
import { differenceListing, type ListedDifference } from '../../store/books/reconciliation.ts'
import { plain, type Cell } from '../../web/csv.ts'
import { actorName } from '../kit/audit-table.tsx'
import { deskList, type ListColumn, type Names } from '../kit/desk-list.tsx'
import { Badge, Money, When, withQuery } from '../kit/parts.tsx'
import { saidText } from './contradiction.tsx'
import { DayBadge, dayState } from './days.tsx'
import { differenceText } from './difference.tsx'

const nothing = <span class="muted">–</span>
const links = [['Reconciliation', '/admin/reconciliation']] as const

function amountColumn<Row>(head: string, minorOf: (row: Row) => bigint): ListColumn<Row> {
  return {
    head,
    class: 'number',
    cell: (row, { currency }) => (minorOf(row) === 0n ? nothing : <Money minor={minorOf(row)} currency={currency} />),
  }
}

const amountCell =
  <Row,>(minorOf: (row: Row) => bigint) =>
  (row: Row, { currency }: { currency: Currency }): Cell =>
    plain(formatMinor(minorOf(row), currency))

const currencyCell = (_: unknown, { currency }: Names) => currency.code

const dayList = deskList<DayTotals>({
  path: '/admin/reconciliation/days',
  name: 'reconciliation-days',
  here: 'reconciliation',
  title: 'Days of the reconciliation',
  sub: 'What the card processor and the ledger booked on each day, each by its own clock. Days are in UTC.',
  what: ['day', 'days'],
  empty: 'The first days appear within a minute, or when you read a report file.',
  idLabel: 'Day',
  labels: { state: 'State', source: 'Source' },
  links,
  listing: dayListing,
  complete: async ({ service }, rows) => {
    const days = rows.map(({ day }) => day)
    const totals = new Map((await listTotalsOf(service.db.longRunning.pool, days)).map((each) => [each.day, each]))
    return days.flatMap((day) => totals.get(day) ?? [])
  },
  csvPageSize: 100,
  columns: [
    { head: 'Day', sort: 'time', cell: (each) => each.day },
    { head: 'State', cell: (each) => <DayBadge day={each} /> },
    amountColumn('Charges', (each) => each.charges),
    amountColumn('Charges in the ledger', (each) => each.ledgerCharges),
    amountColumn('Refunds', (each) => each.refunds),
    amountColumn('Refunds in the ledger', (each) => each.ledgerRefunds),
    amountColumn('Disputes', (each) => each.disputes),
    amountColumn('Disputes in the ledger', (each) => each.ledgerDisputes),
    amountColumn('Fees', (each) => -each.fees),
    amountColumn('Payouts', (each) => each.payouts),
  ],
  csv: {
    day: (each) => each.day,
    state: dayState,
    source: (each) => each.source,
    openDifferences: (each) => each.openDifferences,
    finishedAt: (each) => each.finishedAt?.toISOString(),
    problem: (each) => each.problem,
    currency: currencyCell,
    charges: amountCell((each) => each.charges),
    ledgerCharges: amountCell((each) => each.ledgerCharges),
    refunds: amountCell((each) => each.refunds),
    ledgerRefunds: amountCell((each) => each.ledgerRefunds),
    disputes: amountCell((each) => each.disputes),
    ledgerDisputes: amountCell((each) => each.ledgerDisputes),
    fees: amountCell((each) => -each.fees),
    payouts: amountCell((each) => each.payouts),
  },
})

const nameOf = ({ operators }: Names, actor: string | null) => (actor === null ? null : actorName(operators, actor))

function resolutionColumns<Row extends Resolution>(): ListColumn<Row>[] {
  return [
    { head: 'Resolved by', cell: (each, names) => nameOf(names, each.resolvedBy) ?? nothing },
    {
      head: 'Resolved',
      class: 'nowrap',
      cell: (each) => (each.resolvedAt ? <When at={each.resolvedAt} /> : nothing),
    },
    { head: 'Reason', class: 'wide', cell: (each) => each.resolvedReason ?? nothing },
  ]
}

const resolutionCsv = {
  resolvedBy: (each: Resolution, names: Names) => nameOf(names, each.resolvedBy),
  resolvedById: (each: Resolution) => each.resolvedBy,
  resolvedAt: (each: Resolution) => each.resolvedAt?.toISOString(),
  resolvedReason: (each: Resolution) => each.resolvedReason,
}

function differenceState({ agreedAt, resolvedAt }: ListedDifference): 'open' | 'resolved by hand' | 'agrees again' {
  if (agreedAt) return 'agrees again'
  return resolvedAt ? 'resolved by hand' : 'open'
}

const stateKinds = { open: 'bad', 'resolved by hand': '', 'agrees again': 'good' } as const

const differenceList = deskList<ListedDifference>({
  path: '/admin/reconciliation/differences',
  name: 'reconciliation-differences',
  here: 'reconciliation',
  title: 'Differences',
  sub: 'Payments on which the card processor and the ledger disagreed. Days are in UTC.',
  what: ['difference', 'differences'],
  empty: 'A payment on which the card processor and the ledger disagree appears here.',
  idLabel: 'Payment',
  labels: { kind: 'What', state: 'State' },
  links,
  listing: differenceListing,
  columns: [
    { head: 'Day', sort: 'time', cell: (each) => each.day },
    {
      head: 'Payment',
      cell: ({ topupId, paymentIntentId }) => {
        const id = <code>{paymentIntentId}</code>
        return topupId ? <a href={`/admin/topups/${topupId}`}>{id}</a> : id
      },
    },
    {
      head: 'What',
      class: 'wide',
      cell: (each) => {
        if (differenceState(each) !== 'open') return differenceText(each)
        const subject = { payment: each.paymentIntentId, kind: each.kind }
        return <a href={withQuery('/admin/reconciliation/difference', subject)}>{differenceText(each)}</a>
      },
    },
    amountColumn('Processor', (each) => each.processorMinor),
    amountColumn('Ledger', (each) => each.ledgerMinor),
    { ...amountColumn('Difference', (each) => each.processorMinor - each.ledgerMinor), sort: 'amount' },
    {
      head: 'State',
      class: 'nowrap',
      cell: (each) => <Badge kind={stateKinds[differenceState(each)]}>{differenceState(each)}</Badge>,
    },
    ...resolutionColumns<ListedDifference>(),
  ],
  csv: {
    paymentIntentId: (each) => each.paymentIntentId,
    kind: (each) => each.kind,
    day: (each) => each.day,
    state: differenceState,
    currency: currencyCell,
    processorAmount: amountCell((each) => each.processorMinor),
    ledgerAmount: amountCell((each) => each.ledgerMinor),
    difference: amountCell((each) => each.processorMinor - each.ledgerMinor),
    topupId: (each) => each.topupId,
    foundAt: (each) => each.foundAt.toISOString(),
    agreedAt: (each) => each.agreedAt?.toISOString(),
    ...resolutionCsv,
  },
})

const contradictionList = deskList<ListedContradiction>({
  path: '/admin/reconciliation/contradictions',
  name: 'report-contradictions',
  here: 'reconciliation',
  title: 'Contradictions',
  sub: 'Lines of report files that contradict the card processor. Days are in UTC.',
  what: ['contradiction', 'contradictions'],
  empty: 'A line of a report file that contradicts the card processor appears here.',
  idLabel: 'Id or booking',
  labels: { state: 'State' },
  links,
  listing: contradictionListing,
  columns: [
    { head: 'Day', sort: 'time', cell: (each) => each.day },
    {
      head: 'Booking',
      cell: (each) => {
        const id = <code>{each.lineId}</code>
        return each.resolvedAt ? (
          id
        ) : (
          <a href={withQuery('/admin/reconciliation/contradiction', { id: each.id })}>{id}</a>
        )
      },
    },
    { head: 'Processor', class: 'wide', cell: (each, { currency }) => saidText(each.processorSaid, currency) },
    { head: 'File', class: 'wide', cell: (each, { currency }) => saidText(each.fileSaid, currency) },
    { head: 'Uploaded by', cell: (each, names) => nameOf(names, each.readBy) },
    { head: 'State', cell: (each) => (each.resolvedAt ? <Badge>resolved</Badge> : <Badge kind="bad">open</Badge>) },
    ...resolutionColumns<ListedContradiction>(),
  ],
  csv: {
    id: (each) => each.id,
    bookingId: (each) => each.lineId,
    day: (each) => each.day,
    state: (each) => (each.resolvedAt ? 'resolved' : 'open'),
    processorSaid: (each, { currency }) => saidText(each.processorSaid, currency),
    fileSaid: (each, { currency }) => saidText(each.fileSaid, currency),
    uploadedBy: (each, names) => nameOf(names, each.readBy),
    uploadedById: (each) => each.readBy,
    foundAt: (each) => each.readAt.toISOString(),
    ...resolutionCsv,
  },
})

export const reconciliationLists = [dayList, differenceList, contradictionList]
