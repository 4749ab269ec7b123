/** The notes about all users. The page of a wallet has those about one, and the form. */
import { operatorNoteListing, type ListedNote } from '../../store/people/notes.ts'
import { actorName } from '../kit/audit-table.tsx'
import { deskList, userName, type Names } from '../kit/desk-list.tsx'
import { When } from '../kit/parts.tsx'

const author = ({ operators }: Names, { operatorId }: ListedNote) => actorName(operators, `operator:${operatorId}`)

export const operatorNotes = deskList<ListedNote>({
  path: '/admin/notes',
  name: 'notes',
  here: 'notes',
  title: 'Notes',
  sub: 'Remarks of operators about users. They are deleted with the account they are about.',
  what: ['note', 'notes'],
  empty: 'Write a note on the page of a wallet.',
  idLabel: 'Id',
  labels: { user: 'User' },
  listing: operatorNoteListing,
  userOf: (each) => each.userId,
  columns: [
    { head: 'Written', class: 'nowrap', sort: 'time', cell: (each) => <When at={each.writtenAt} /> },
    {
      head: 'User',
      class: 'wide',
      cell: (each, names) => <a href={`/admin/wallets/${each.userId}#notes`}>{userName(names, each.userId)}</a>,
    },
    { head: 'By', cell: (each, names) => author(names, each) },
    { head: 'Note', class: 'widest', cell: (each) => <span class="breaks">{each.text}</span> },
  ],
  csv: {
    id: (each) => each.id,
    writtenAt: (each) => each.writtenAt.toISOString(),
    userId: (each) => each.userId,
    user: (each, names) => userName(names, each.userId),
    writtenBy: (each, names) => author(names, each),
    writtenById: (each) => `operator:${each.operatorId}`,
    text: (each) => each.text,
  },
})
