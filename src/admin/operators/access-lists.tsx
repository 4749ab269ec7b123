/** Who may sign in, and why: requested changes, links that were mailed, and the access that was given. */
import { describeChange } from '../../actions/operators/describe-change.ts'
import { changeListing, toChange, type ListedChange } from '../../store/operator-access/operator-changes.ts'
import { grantListing, type Grant } from '../../store/operator-access/operator-grants.ts'
import { inviteListing, type ListedLink } from '../../store/operator-access/operator-invites.ts'
import { actorName } from '../kit/audit-table.tsx'
import { deskList, type Names } from '../kit/desk-list.tsx'
import { grantVerbs } from '../kit/grants.tsx'
import { Badge, When } from '../kit/parts.tsx'

const nobody = <span class="muted">–</span>

const nameOf = ({ operators }: Names, actor: string | null) => (actor === null ? null : actorName(operators, actor))

function shownName(names: Names, actor: string | null) {
  return actor === null ? nobody : <bdi>{actorName(names.operators, actor)}</bdi>
}

const changeKinds = { waiting: 'warn', approved: 'good', declined: 'bad', withdrawn: '', expired: '' } as const

const describe = (row: ListedChange, { operators }: Names) => describeChange(toChange(row).change, operators)

const changeList = deskList<ListedChange>({
  path: '/admin/operators/changes',
  name: 'operator-changes',
  here: 'operators',
  title: 'Requested changes',
  sub: 'Changes of operators that needed a second admin.',
  what: ['change', 'changes'],
  empty: 'A change waits here when the service has two admins or more.',
  idLabel: 'Id',
  labels: { kind: 'Change', state: 'State' },
  links: [['Operators', '/admin/operators']],
  listing: changeListing,
  columns: [
    { head: 'Requested', class: 'nowrap', sort: 'time', cell: (each) => <When at={each.askedAt} /> },
    { head: 'Change', class: 'wide', cell: describe },
    { head: 'State', cell: (each) => <Badge kind={changeKinds[each.state]}>{each.state}</Badge> },
    { head: 'Requested by', cell: (each, names) => shownName(names, each.askedBy) },
    { head: 'Decided by', cell: (each, names) => shownName(names, each.decidedBy) },
    { head: 'Decided', class: 'nowrap', cell: (each) => (each.decidedAt ? <When at={each.decidedAt} /> : nobody) },
  ],
  csv: {
    id: (each) => each.id,
    requestedAt: (each) => each.askedAt.toISOString(),
    kind: (each) => each.kind,
    change: describe,
    role: (each) => each.role,
    email: (each) => each.email,
    operatorId: (each) => each.operatorId,
    state: (each) => each.state,
    requestedBy: (each, names) => nameOf(names, each.askedBy),
    requestedById: (each) => each.askedBy,
    decidedBy: (each, names) => nameOf(names, each.decidedBy),
    decidedById: (each) => each.decidedBy,
    decidedAt: (each) => each.decidedAt?.toISOString(),
  },
})

const forWhom = ({ operatorEmail, email }: ListedLink) => operatorEmail ?? email

const inviteList = deskList<ListedLink>({
  path: '/admin/operators/invites',
  name: 'operator-invites',
  here: 'operators',
  title: 'Invitations',
  sub: 'Links that give access. A link that was used or revoked is no longer here: see “Access given” and the audit log.',
  what: ['invitation', 'invitations'],
  empty: 'Invite an operator on the operators’ page.',
  idLabel: 'Id',
  labels: { role: 'Role', state: 'State' },
  links: [['Operators', '/admin/operators']],
  listing: inviteListing,
  columns: [
    { head: 'Created', class: 'nowrap', sort: 'time', cell: (each) => <When at={each.createdAt} /> },
    { head: 'For', class: 'wide', cell: (each) => forWhom(each) ?? <span class="muted">first to open it</span> },
    { head: 'Gives', cell: (each) => (each.operatorId ? 'new password and second factor' : `role ${each.role}`) },
    { head: 'State', cell: (each) => (each.isOpen ? <Badge kind="warn">open</Badge> : <Badge>ended</Badge>) },
    { head: 'Created by', cell: (each, names) => shownName(names, each.createdBy) },
    { head: 'Approved by', cell: (each, names) => shownName(names, each.approvedBy) },
    { head: 'Until', class: 'nowrap', cell: (each) => <When at={each.expiresAt} /> },
  ],
  csv: {
    id: (each) => each.id,
    createdAt: (each) => each.createdAt.toISOString(),
    email: forWhom,
    role: (each) => each.role,
    operatorId: (each) => each.operatorId,
    state: (each) => (each.isOpen ? 'open' : 'ended'),
    createdBy: (each, names) => nameOf(names, each.createdBy),
    createdById: (each) => each.createdBy,
    approvedBy: (each, names) => nameOf(names, each.approvedBy),
    approvedById: (each) => each.approvedBy,
    mailedAt: (each) => each.mailedAt?.toISOString(),
    expiresAt: (each) => each.expiresAt.toISOString(),
  },
})

const subject = ({ operators }: Names, { operatorId }: Grant) => actorName(operators, `operator:${operatorId}`)

const grantList = deskList<Grant>({
  path: '/admin/operators/grants',
  name: 'operator-grants',
  here: 'operators',
  title: 'Access given',
  sub: 'Who gave which operator access, and who approved it.',
  what: ['grant', 'grants'],
  empty: 'The first operator appears here.',
  idLabel: 'Id of the operator',
  labels: { kind: 'What' },
  links: [['Operators', '/admin/operators']],
  listing: grantListing,
  columns: [
    { head: 'Time', class: 'nowrap', sort: 'time', cell: (each) => <When at={each.at} /> },
    { head: 'Operator', class: 'wide', cell: (each, names) => <bdi>{subject(names, each)}</bdi> },
    { head: 'What', cell: (each) => grantVerbs[each.kind].replace(/ (by|from)$/, '') },
    { head: 'Given by', cell: (each, names) => shownName(names, each.madeBy) },
    { head: 'Approved by', cell: (each, names) => shownName(names, each.approvedBy) },
  ],
  csv: {
    operatorId: (each) => each.operatorId,
    operator: (each, names) => subject(names, each),
    at: (each) => each.at.toISOString(),
    kind: (each) => each.kind,
    givenBy: (each, names) => nameOf(names, each.madeBy),
    givenById: (each) => each.madeBy,
    approvedBy: (each, names) => nameOf(names, each.approvedBy),
    approvedById: (each) => each.approvedBy,
  },
})

export const accessLists = [changeList, inviteList, grantList]
