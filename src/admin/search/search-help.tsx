/** What the search finds, and what it searched when it found nothing. */
import { searchKinds, type SearchState, type SearchKind } from '../../actions/search/find-anything.ts'
import { Empty, Table } from '../kit/parts.tsx'

type KindText = {
  readonly what: string
  readonly examples: readonly string[]
  readonly how: string
  /** What was searched, for a page without results. */
  readonly searched: string
  /** The text that it did not search for, because it has another form. */
  readonly form: string
}

/** `docs/operators.md` has the same table, and a test compares them. */
export const kindTexts: Readonly<Record<SearchKind, KindText>> = {
  users: {
    what: 'A user',
    examples: ['ada@example.com', 'Lovelace', 'su_1f0c…'],
    how: 'The beginning of an email, first or last name; a complete user id or serviceUserId, disconnected ones too.',
    searched: 'users whose email or name begins with it, user ids and serviceUserIds',
    form: '',
  },
  emails: {
    what: 'Part of an email',
    examples: ['lovelace@'],
    how: 'Three characters or more, from anywhere in it. The newest users are searched for one second; the page says how many.',
    searched: 'emails that contain it',
    form: 'part of an email (three characters or more, without spaces)',
  },
  entries: {
    what: 'A debit or credit',
    examples: ['txn_9b2e…', 'order-1042', '7K2M-9QXR-4TBV'],
    how: 'The complete transaction id, referenceId (of any app and type, refused ones too) or receipt code.',
    searched: 'complete transaction ids, referenceIds and receipt codes',
    form: 'a transaction id, referenceId or receipt code',
  },
  holds: {
    what: 'A hold',
    examples: ['hold_4c1d…', 'order-1042'],
    how: 'The complete id of the hold, or its referenceId (of any app and type). Open and ended ones.',
    searched: 'holds by their complete id and referenceId',
    form: 'the id or referenceId of a hold',
  },
  topups: {
    what: 'A card top-up',
    examples: ['pi_3Nx…'],
    how: 'The complete payment id of the card processor, or the complete id of the top-up.',
    searched: 'card payments and top-ups by their complete id',
    form: 'the id of a card payment or top-up',
  },
  days: {
    what: 'An amount on a day',
    examples: ['19.99 2026-11-14', '−5 today'],
    how: 'In UTC, card top-ups included. −19.99 finds only debits, +19.99 only credits. “today” and “yesterday” work too.',
    searched: 'debits, credits and card top-ups of that day',
    form: 'an amount on a day (19.99 2026-11-14)',
  },
  amounts: {
    what: 'An amount',
    examples: ['19.99', '+1,250'],
    how: 'The newest debits and credits of exactly that amount. Older ones are searched for one second; the page says since when.',
    searched: 'debits and credits of that amount',
    form: 'an amount (19.99)',
  },
  corrections: {
    what: 'A correction',
    examples: ['01998a5e-…'],
    how: 'Its complete id, whether it waits, was posted or was declined.',
    searched: 'corrections by their complete id',
    form: 'the complete id of a correction',
  },
  payouts: {
    what: 'A payout',
    examples: ['SEPA 4711'],
    how: 'The beginning of its reference, in any case, or its complete id. Reversals too, by the beginning of their reason.',
    searched: 'payouts whose reference begins with it, and their ids',
    form: 'the reference or id of a payout',
  },
  apps: {
    what: 'A client app',
    examples: ['Fernweh', 'app_52a1…'],
    how: 'Any part of the name, or the complete clientId.',
    searched: 'names of client apps, and their complete clientIds',
    form: '',
  },
  secrets: {
    what: 'A secret of an app',
    examples: ['a2f9', '01998a5e-…'],
    how: 'Its fingerprint (four characters) or its complete id, until 90 days after it ended. Never type the secret itself.',
    searched: 'secrets by fingerprint and complete id',
    form: 'the fingerprint (four characters of 0–9 and a–f) or complete id of a secret',
  },
  operators: {
    what: 'An operator, an invitation',
    examples: ['grace@company.example', 'Hopper'],
    how: 'Any part of a name or email, or the complete id of an operator, an open invitation or a change of an operator.',
    searched: 'operators and open invitations by any part of name and email, and by complete id',
    form: '',
  },
  notes: {
    what: 'A note about a user',
    examples: ['01998a5e-…'],
    how: 'Its complete id. Texts of notes are not searched.',
    searched: 'notes by their complete id',
    form: 'the complete id of a note',
  },
  deletions: {
    what: 'A requested deletion',
    examples: ['01998a5e-…'],
    how: 'Its complete id, whether it waits or was decided.',
    searched: 'requested deletions by their complete id',
    form: 'the complete id of a requested deletion',
  },
  requests: {
    what: 'A request',
    examples: ['req_m3k9x2ab000001'],
    how: 'Request ids are in the log, and not in the database: the page says how to find one there.',
    searched: '',
    form: '',
  },
}

/** What a search never reads. */
const never =
  'Never searched: texts of notes, reasons and descriptions, parts of ids and references, addresses, session tokens.'

export function Help({ title }: { title: string }) {
  return (
    <section class="card flush">
      <Empty title={title}>
        <p>
          Type into the search field. <kbd>/</kbd>, <kbd>Ctrl</kbd> <kbd>K</kbd> and <kbd>⌘</kbd> <kbd>K</kbd> focus it
          from any page.
        </p>
      </Empty>
      <Examples />
    </section>
  )
}

/** Names what was searched and what was not, so that “nothing found” is not taken for “does not exist”. */
export function Nothing({ states }: { states: Readonly<Record<SearchKind, SearchState>> }) {
  const searched = searchKinds.filter((kind) => states[kind] === 'searched' && kindTexts[kind].searched)
  const skipped = searchKinds.filter((kind) => states[kind] === 'skipped' && kindTexts[kind].form)
  return (
    <>
      <section class="card stack">
        <h2>Nothing found</h2>
        <div class="columns">
          <Bullets title="Searched:" texts={searched.map((kind) => kindTexts[kind].searched)} />
          <Bullets title="Not searched, because the text is not:" texts={skipped.map((kind) => kindTexts[kind].form)} />
        </div>
        <p class="small muted">{never}</p>
      </section>
      <section class="card flush">
        <Examples />
      </section>
    </>
  )
}

function Bullets({ title, texts }: { title: string; texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <div>
      <p>{title}</p>
      <ul class="bullets small muted">
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  )
}

function Examples() {
  return (
    <Table label="What can be found" head={['To find', 'Type, for example', 'How']}>
      {searchKinds.map((kind) => {
        const { what, examples, how } = kindTexts[kind]
        return (
          <tr key={kind}>
            <td>{what}</td>
            <td class="wide">
              <span class="chips">
                {examples.map((example) => (
                  <code key={example}>{example}</code>
                ))}
              </span>
            </td>
            <td class="widest muted">{how}</td>
          </tr>
        )
      })}
    </Table>
  )
}
