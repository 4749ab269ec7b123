/** The history around a wallet: card top-ups, mails, operator actions and notes. */
import type { ComponentChildren } from 'preact'
import { maxNoteLength } from '../../actions/people/write-note.ts'
import type { Currency } from '../../ledger/money.ts'
import { listAuditAbout, type AuditRecord } from '../../store/audit.ts'
import { listMailsOfUser, type KeptMail } from '../../store/mails.ts'
import { listOperators, type Operator } from '../../store/operators.ts'
import { listNotes, type OperatorNote } from '../../store/people/notes.ts'
import type { Person } from '../../store/people/user-search.ts'
import { listTopups, type Topup } from '../../store/topups.ts'
import type { Problems } from '../kit/amount-and-reason.tsx'
import { actorName, AuditTable } from '../kit/audit-table.tsx'
import { Badge, Field, Form, Notice, Table, When, withQuery } from '../kit/parts.tsx'
import { may, type AdminRequest } from '../kit/route.ts'
import { TopupTable } from '../kit/topup-table.tsx'

/** Rows of each kind; a link leads to the whole list. */
const shown = 10
/** Notes have no other page, so this shows practically all of them. */
const maxNotes = 200

export type WalletStory = {
  readonly topups: readonly Topup[]
  readonly mails: readonly KeptMail[]
  readonly acts: readonly AuditRecord[]
  readonly notes: readonly OperatorNote[]
  readonly operators: readonly Operator[]
}

export async function readWalletStory({ service }: AdminRequest, userId: string): Promise<WalletStory> {
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
      link={topups.length === shown && <a href={withQuery('/admin/topups', { user: userId })}>All top-ups</a>}
    >
      {topups.length === 0 ? (
        <p class="empty muted">The user has never paid by card.</p>
      ) : (
        <TopupTable topups={topups} />
      )}
    </Section>
  )
}

type MailsProps = { request: AdminRequest; person: Person; mails: readonly KeptMail[] }

export function Mails({ request, person, mails }: MailsProps) {
  const maySend = may(request, 'mails') && person.email !== null
  return (
    <Section title="Emails" id="mails">
      {mails.length === 0 ? (
        <p class="empty muted">
          {person.email === null
            ? 'The list of emails was deleted with the account.'
            : 'No email to this user in the last 30 days. Emails with a code are not listed.'}
        </p>
      ) : (
        <Table label="Emails" head={['Time', 'About', 'State', ...(maySend ? ['Actions'] : [])]}>
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
      <button class="button small quiet" type="submit" aria-label={`Send again: the mail about ${mail.kind}`}>
        Send again
      </button>
    </Form>
  )
}

function MailState({ mail: { dueAt, tries } }: { mail: KeptMail }) {
  if (dueAt === null)
    return tries > 1 ? <Badge kind="warn">attempted {tries} times</Badge> : <Badge kind="good">sent</Badge>
  return (
    <>
      <Badge kind={tries > 0 ? 'warn' : ''}>
        {tries === 0 ? 'waiting' : tries === 1 ? 'failed once' : `failed ${tries} times`}
      </Badge>{' '}
      next attempt <When at={dueAt} />
    </>
  )
}

export function Acts({ userId, story, currency }: { userId: string; story: WalletStory; currency: Currency }) {
  return (
    <Section
      title="Operator actions"
      link={
        <span class="row">
          <a href={withQuery('/admin/audit', { subject: `wallet:${userId}` })}>All for the wallet</a>
          <a href={withQuery('/admin/audit', { subject: `user:${userId}` })}>All for the account</a>
        </span>
      }
    >
      {story.acts.length === 0 ? (
        <p class="empty muted">No operator has changed anything here.</p>
      ) : (
        <AuditTable label="Operator actions" records={story.acts} operators={story.operators} currency={currency} />
      )}
    </Section>
  )
}

type NotesProps = { request: AdminRequest; person: Person; story: WalletStory; problems: Problems }

export function Notes({ request, person, story, problems }: NotesProps) {
  const problem = problems['note']
  return (
    <Section title="Notes" id="notes">
      {story.notes.length === 0 ? (
        <p class="empty muted">
          {person.email === null ? 'Notes are deleted with the account.' : 'No notes about this user.'}
        </p>
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
                hint="Only operators see it. It cannot be changed, and is deleted with the account."
                problem={problem}
                attributes={{ required: true, maxlength: 2 * maxNoteLength }}
              />
              <div>
                <button class="button small" type="submit">
                  Save the note
                </button>
              </div>
            </div>
          </details>
        </Form>
      )}
    </Section>
  )
}

/** The newest note at the top of the page: an operator should read it before acting. */
export function NewestNote({ notes }: { notes: readonly OperatorNote[] }) {
  const [newest] = notes
  if (!newest) return null
  return (
    <Notice>
      <a href="#notes">{notes.length === 1 ? 'A note' : `${notes.length} notes`}</a>, newest{' '}
      <When at={newest.writtenAt} />: {newest.text.length > 200 ? `${newest.text.slice(0, 200)}…` : newest.text}
    </Notice>
  )
}
