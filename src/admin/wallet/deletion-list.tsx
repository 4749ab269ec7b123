/** The deletions of users that operators requested. The page of a wallet has the decision. */
import { deletionListing, type RequestedDeletion } from '../../store/people/deletions.ts'
import { actorName } from '../kit/audit-table.tsx'
import { deskList, userName, type Names } from '../kit/desk-list.tsx'
import { Badge, When } from '../kit/parts.tsx'

const nothing = <span class="muted">–</span>

const kinds = { waiting: 'warn', approved: 'good', declined: 'bad', withdrawn: '', expired: '', overtaken: '' } as const

const decider = ({ operators }: Names, { decidedBy }: RequestedDeletion) =>
  decidedBy === null ? null : actorName(operators, decidedBy)

export const deletionList = deskList<RequestedDeletion>({
  path: '/admin/deletions',
  name: 'deletions',
  here: 'deletions',
  title: 'Requested deletions',
  sub: 'Deletions of users that operators requested. “Overtaken”: the user deleted the account meanwhile.',
  what: ['deletion', 'deletions'],
  empty: 'Request a deletion on the page of a wallet, under “Personal data”.',
  idLabel: 'Id',
  labels: { state: 'State' },
  links: [['Wallets', '/admin/wallets']],
  listing: deletionListing,
  userOf: (each) => each.userId,
  columns: [
    { head: 'Requested', class: 'nowrap', sort: 'time', cell: (each) => <When at={each.askedAt} /> },
    {
      head: 'User',
      class: 'wide',
      cell: (each, names) => <a href={`/admin/wallets/${each.userId}`}>{userName(names, each.userId)}</a>,
    },
    { head: 'State', class: 'nowrap', cell: (each) => <Badge kind={kinds[each.state]}>{each.state}</Badge> },
    { head: 'Requested by', cell: (each, { operators }) => actorName(operators, each.askedBy) },
    { head: 'Decided by', cell: (each, names) => decider(names, each) ?? nothing },
    { head: 'Reason', class: 'wide', cell: (each) => each.reason },
    { head: 'Decision reason', class: 'wide', cell: (each) => each.decisionReason ?? nothing },
  ],
  csv: {
    id: (each) => each.id,
    requestedAt: (each) => each.askedAt.toISOString(),
    userId: (each) => each.userId,
    user: (each, names) => userName(names, each.userId),
    state: (each) => each.state,
    requestedBy: (each, { operators }) => actorName(operators, each.askedBy),
    requestedById: (each) => each.askedBy,
    decidedBy: (each, names) => decider(names, each),
    decidedById: (each) => each.decidedBy,
    decidedAt: (each) => each.decidedAt?.toISOString(),
    reason: (each) => each.reason,
    decisionReason: (each) => each.decisionReason,
  },
})
