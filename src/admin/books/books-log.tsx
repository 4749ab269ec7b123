/** The log of the books: its seal, its checkpoints, and where they went. */
import type { DescribedLog, DescribedTarget } from '../../actions/proofs/describe-log.ts'
import { sealLateSeconds } from '../../actions/proofs/describe-log.ts'
import type { BooksState } from '../../store/verify/books-check.ts'
import { ageText, countText, When } from '../kit/parts.tsx'
import { Line } from './check-line.tsx'

type Props = { log: DescribedLog | undefined; state: BooksState }

export function BooksLog({ log, state }: Props) {
  return (
    <section class="card stack" id="log">
      <div class="heading">
        <h2>Proofs</h2>
        {log?.newest && (
          <a class="button quiet" href="/admin/books/checkpoint">
            Download the checkpoint
          </a>
        )}
      </div>
      <div class="checks">
        <Seal log={log} state={state} />
        {log && <Targets log={log} state={state} />}
        {log?.incarnation && <LastIncarnation log={log} />}
        {log && <Key log={log} />}
      </div>
    </section>
  )
}

function Seal({ log, state }: Props) {
  const age = log?.levels.sealAgeSeconds ?? null
  if (!log || age === null)
    return (
      <Line kind="first" title="Nothing is sealed yet">
        The first pass seals what the check found right.
      </Line>
    )
  const compared = state.logCheckedAt
  return (
    <Line
      kind={age > sealLateSeconds ? 'late' : 'right'}
      title={`The books were sealed ${ageText(new Date(state.now.getTime() - age * 1_000), state.now)} ago`}
    >
      The log has {countText(log.levels.size)} leaves.{' '}
      {compared
        ? `All that was sealed was compared with the checkpoint of ${countText(state.logCheckedSize ?? 0)} leaves ${ageText(compared, state.now)} ago.`
        : 'It has not been compared with a checkpoint yet.'}
    </Line>
  )
}

function Targets({ log: { targets, newest }, state }: { log: DescribedLog; state: BooksState }) {
  if (targets.length === 0)
    return (
      <Line kind="late" title="Checkpoints stay in the database">
        The owner of the database can change them together with the books. Name other places in <code>CHECKPOINTS</code>
        : docs/proofs.md.
      </Line>
    )
  return (
    <>
      {targets.map((target) => (
        <Target key={target.name} target={target} newestSize={newest?.size} now={state.now} />
      ))}
    </>
  )
}

type TargetProps = { target: DescribedTarget; newestSize: number | undefined; now: Date }

function Target({ target: { name, publication }, newestSize, now }: TargetProps) {
  const last = publication?.publishedAt ? (
    <>
      The last checkpoint, of {countText(publication.size ?? 0)} leaves, was published{' '}
      <When at={publication.publishedAt} />.
    </>
  ) : (
    'No checkpoint was published there yet.'
  )
  if (publication?.contradiction)
    return (
      <Line kind="wrong" title={<>{name} contradicts the books</>}>
        {publication.contradiction} {last} Follow{' '}
        <code>docs/operations/runbooks.md#the-books-contradict-a-checkpoint</code>.
      </Line>
    )
  if (publication?.error)
    return (
      <Line kind="late" title={<>{name} fails</>}>
        {publication.error} It has failed for {ageText(publication.failingSince ?? now, now)}. {last}
      </Line>
    )
  return (
    <Line kind={publication?.size === newestSize ? 'right' : 'note'} title={name}>
      {last}
    </Line>
  )
}

const reasons = {
  moved: 'its server, timeline, database or table is another one',
  behind: 'a target of CHECKPOINTS has a checkpoint that the database lacks',
  'key-lost': 'its key was lost',
} as const

function LastIncarnation({ log }: { log: DescribedLog }) {
  const { previous, reason, at, number } = log.incarnation!
  return (
    <Line kind="note" title="The log goes on under another name">
      Since <When at={at} />, because {reasons[reason]}. It was <code>{previous}</code>, and leaf {countText(number)}{' '}
      says so. If nobody restored the database or failed over, follow{' '}
      <code>docs/operations/runbooks.md#the-log-goes-on-under-another-name</code>.
    </Line>
  )
}

function Key({ log: { origin, publicKey } }: { log: DescribedLog }) {
  return (
    <Line kind="note" title={<code>{origin}</code>}>
      {publicKey ? (
        <>
          Its public key, for those who check proofs: <code>{publicKey}</code>
        </>
      ) : (
        'This process does not have the key of the log: see SECRETS_KEY.'
      )}
    </Line>
  )
}
