/** What happened around a wallet: card payments, mails, what operators did, and what they wrote down. */
import type { ComponentChildren } from 'preact'
import { maxNoteLength } from '../../actions/people/write-note.ts'
import { listAuditAbout, type AuditRecord } from '../../store/audit.ts'
import { listMailsOfUser, type KeptMail } from '../../store/mails.ts'
import { listOperators, type Operator } from '../../store/operators.ts'
import { listNotes, type Note } from '../../store/people/notes.ts'
import type { Person } from '../../store/people/user-search.ts'
import { listTopups, type Topup } from '../../store/topups.ts'
import type { Problems } from '../kit/amount-and-reason.tsx'
import { actorName, AuditTable } from '../kit/audit-table.tsx'
import { Badge, Field, Form, Notice, Table, When, withQuery } from '../kit/parts.tsx'
import { may, type AdminRequest } from '../kit/route.ts'
import { TopupTable } from '../kit/topup-table.tsx'

/** Of each kind; the whole list is a link away. */
const shown = 10
/** Notes have no other page, so all that anybody will write are shown. */
const maxNotes = 200

export type Story = {
  readonly topups: readonly Topup[]
  readonly mails: readonly KeptMail[]
  readonly acts: readonly AuditRecord[]
  readonly notes: readonly Note[]
  readonly operators: readonly Operator[]
}

export async function readStory({ service }: AdminRequest, userId: string): Promise<Story> {
  const db = service.db.pool
  const [topups, mails, notes, operators] = await Promise.all([
    listTopups(db, { userId }, { limit: shown }),
    listMailsOfUser(db, userId, shown),
    listNotes(db, userId, maxNotes),
    listOperators(db),
  ])
  const subjects = [`wallet:${userId}`, `user:${userId}`, ...topups.map((topup) => `topup:${topup.id}`)]
  return { topups, mails, notes, operators, acts: await listAuditAbout(db, subjects, shown) }
}

type SectionProps = { title: string; id?: string; link?: ComponentChildren; children: ComponentChildren }

function Section({ title, id, link, children }: SectionProps) {
  return (
    <section class="card flush" id={id}>
      <div class="heading">
        <h2>{title}</h2>
        {link}
      </div>
      {children}
    </section>
  )
}

export function Topups({ userId, topups }: { userId: string; topups: readonly Topup[] }) {
  return (
    <Section
      title="Card top-ups"
      link={topups.length === shown && <a href={withQuery('/admin/topups', { user: userId })}>All of them</a>}
    >
      {topups.length === 0 ? <p class="empty muted">The user never paid by card.</p> : <TopupTable topups={topups} />}
    </Section>
  )
}

type MailsProps = { request: AdminRequest; person: Person; mails: readonly KeptMail[] }

export function Mails({ request, person, mails }: MailsProps) {
  const maySend = may(request, 'mails') && person.email !== null
  return (
    <Section title="Mails" id="mails">
      {mails.length === 0 ? (
        <p class="empty muted">No mail told the user anything in the last 30 days. Mails with a code are not listed.</p>
      ) : (
        <Table label="Mails" head={['Time', 'About', 'State', ...(maySend ? ['Actions'] : [])]}>
          {mails.map((mail) => (
            <tr key={mail.fact}>
              <td>
                <When at={mail.createdAt} />
              </td>
              <td>{mail.kind}</td>
              <td>
                <MailState mail={mail} />
              </td>
              {maySend && (
                <td class="end">
                  {mail.dueAt === null && <SendAgain request={request} person={person} mail={mail} />}
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
    </Section>
  )
}

function SendAgain({ request, person, mail }: { request: AdminRequest; person: Person; mail: KeptMail }) {
  return (
    <Form request={request} action={`/admin/wallets/${person.id}/mails`}>
      <input type="hidden" name="form" value={crypto.randomUUID()} />
      <input type="hidden" name="fact" value={mail.fact} />
      <button class="button small quiet" type="submit" aria-label={`Send the mail about ${mail.kind} again`}>
        Send again
      </button>
    </Form>
  )
}

function MailState({ mail: { dueAt, tries } }: { mail: KeptMail }) {
  if (dueAt === null)
    return tries > 1 ? <Badge kind="warn">tried {tries} times</Badge> : <Badge kind="good">handed over</Badge>
  return (
    <>
      <Badge kind={tries > 0 ? 'warn' : ''}>{tries > 0 ? `failed ${tries} times` : 'waiting'}</Badge> next try{' '}
      <When at={dueAt} />
    </>
  )
}

export function Acts({ userId, story }: { userId: string; story: Story }) {
  return (
    <Section
      title="What operators did"
      link={
        <span class="row">
          <a href={withQuery('/admin/audit', { subject: `wallet:${userId}` })}>All about the wallet</a>
          <a href={withQuery('/admin/audit', { subject: `user:${userId}` })}>All about the account</a>
        </span>
      }
    >
      {story.acts.length === 0 ? (
        <p class="empty muted">Nobody but the user did anything here.</p>
      ) : (
        <AuditTable label="What operators did" records={story.acts} operators={story.operators} />
      )}
    </Section>
  )
}

type NotesProps = { request: AdminRequest; person: Person; story: Story; problems: Problems }

export function Notes({ request, person, story, problems }: NotesProps) {
  const problem = problems['note']
  return (
    <Section title="Notes" id="notes">
      {story.notes.length === 0 ? (
        <p class="empty muted">No operator wrote anything down about this user.</p>
      ) : (
        <ol class="notes" role="list">
          {story.notes.map((note) => (
            <li key={note.id}>
              <p class="small muted">
                {actorName(story.operators, `operator:${note.operatorId}`)}, <When at={note.writtenAt} />
              </p>
              <p class="note-text">{note.text}</p>
            </li>
          ))}
        </ol>
      )}
      {may(request, 'notes') && person.email !== null && (
        <Form request={request} action={`/admin/wallets/${person.id}/notes`}>
          <details open={problem !== undefined}>
            <summary>Write a note</summary>
            <div class="stack">
              <input type="hidden" name="form" value={crypto.randomUUID()} />
              <Field
                label="Note"
                name="note"
                rows={3}
                value={request.form.text('note')}
                hint="For operators alone; the user does not see it. It cannot be changed, and goes when the account is deleted."
                problem={problem}
                attributes={{ required: true, maxlength: 2 * maxNoteLength }}
              />
              <div>
                <button class="button small" type="submit">
                  Keep the note
                </button>
              </div>
            </div>
          </details>
        </Form>
      )}
    </Section>
  )
}

/** The newest note, above everything else: whoever opens the page should know it before they act. */
export function NewestNote({ notes }: { notes: readonly Note[] }) {
  const [newest] = notes
  if (!newest) return null
  return (
    <Notice>
      <a href="#notes">{notes.length === 1 ? 'A note' : `${notes.length} notes`}</a>, the newest of{' '}
      <When at={newest.writtenAt} />: {newest.text.length > 200 ? `${newest.text.slice(0, 200)}…` : newest.text}
    </Notice>
  )
}
