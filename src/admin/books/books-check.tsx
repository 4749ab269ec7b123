/** The result of the continuous check of the books, and its age. */
import { healthOf } from '../../actions/money/check-books.ts'
import type { Archive } from '../../store/closing/archive/archived-periods.ts'
import type { BooksState, Problem } from '../../store/verify/books-check.ts'
import type { Check } from '../../store/verify/fault.ts'
import type { User } from '../../store/people/users.ts'
import { Icon } from '../kit/icons.tsx'
import { ageText, lengthText, Money, When, countText } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'
import { Line } from './check-line.tsx'

type Props = {
  request: AdminRequest
  state: BooksState
  owners: ReadonlyMap<string, User>
  archives: readonly Archive[]
}

export function BooksCheck({ request, state, owners, archives }: Props) {
  return (
    <section class="card stack" id="check">
      <div class="checks">
        <Verdict state={state} />
        {state.problems.map((problem) => (
          <Found key={problem.message} problem={problem} owner={owners.get(problem.walletId ?? '')} />
        ))}
        <Sides request={request} state={state} />
        <Changes state={state} />
        <Round state={state} />
        {archives.length > 0 && <Archived periods={archives.map(({ id }) => id)} />}
      </div>
    </section>
  )
}

function Verdict({ state }: { state: BooksState }) {
  const health = healthOf(state)
  if (health === 'wrong')
    return (
      <Line kind="wrong" title="The books are wrong">
        Two checks in a row found the problems listed here. Do not repair anything yet: copy the database as it is, run{' '}
        <code>npx billfold verify</code>, and follow the runbook,{' '}
        <code>docs/operations/runbooks.md#the-books-are-wrong</code>.
      </Line>
    )
  if (health === 'late')
    return (
      <Line kind="late" title="The check of the books is late">
        No problem was found, but the last check was {ageText(oldestOf(state), state.now)} ago. If this persists, check
        the log for failures of the job <code>check-books</code>, and whether the database is overloaded or a node of a
        cluster is away.
      </Line>
    )
  if (health === 'first')
    return (
      <Line kind="first" title="The first check is running">
        It reads all wallets in small slices, so that it does not slow the service down.
      </Line>
    )
  return (
    <Line kind="right" title="The books are right">
      Every entry up to <When at={state.checkedUpTo} /> was checked, {ageText(state.checkedUpTo!, state.now)} ago:
      sequences without gaps, running balances, outcomes and links.
    </Line>
  )
}

function oldestOf({ checkedUpTo, sumsAt, lastRoundAt, now }: BooksState): Date {
  const recent = [checkedUpTo, sumsAt].flatMap((at) => at?.getTime() ?? [])
  const oldest = Math.min(...recent)
  // When both are fresh, the full round is late.
  return now.getTime() - oldest > 120_000 ? new Date(oldest) : (lastRoundAt ?? new Date(oldest))
}

function Sides({ request, state }: { request: AdminRequest; state: BooksState }) {
  const { currency } = request.service.config
  const { walletsMinor, positionsMinor, sumsAt, now } = state
  if (walletsMinor === null || positionsMinor === null || !sumsAt) return null
  const sum = walletsMinor + positionsMinor
  return (
    <Line
      kind={sum === 0n ? 'right' : 'wrong'}
      title={
        <>
          Σ wallets + Σ positions = <Money minor={sum} currency={currency} />
        </>
      }
    >
      Wallets hold <Money minor={walletsMinor} currency={currency} />, positions are{' '}
      <Money minor={positionsMinor} currency={currency} />, both {ageText(sumsAt, now)} ago.
    </Line>
  )
}

function Changes({ state }: { state: BooksState }) {
  const { checkedUpTo, lastPassMs, lastPassWallets, lastPassEntries, now } = state
  if (!checkedUpTo)
    return (
      <Line kind="note" title="Following what changes">
        The first pass has checked {plural(state.passWallets, 'wallet')} with{' '}
        {plural(state.passEntries, 'entry', 'entries')} so far.
      </Line>
    )
  return (
    <Line kind="note" title="Following what changes">
      Checked up to <When at={checkedUpTo} />, {ageText(checkedUpTo, now)} ago. The last pass checked{' '}
      {plural(lastPassWallets!, 'changed wallet')} with {plural(lastPassEntries!, 'entry', 'entries')} in{' '}
      {lengthText(lastPassMs!)}.
    </Line>
  )
}

function Round({ state }: { state: BooksState }) {
  const { lastRoundAt, lastRoundMs, lastWallets, lastTransfers, cursor, walletsChecked, transfersChecked } = state
  return (
    <Line kind="note" title="Full check of every ledger">
      {lastRoundAt ? (
        <>
          Last full round <When at={lastRoundAt} />: {plural(lastWallets!, 'wallet')} with{' '}
          {plural(lastTransfers!, 'entry', 'entries')} in {lengthText(lastRoundMs!)}.
        </>
      ) : (
        'No full round yet.'
      )}
      {state.isHurried &&
        ' Ledger rows were changed, which must never happen. The whole ledger is being checked again at full speed.'}
      {cursor &&
        ` One is running: ${plural(walletsChecked, 'wallet')}, ${plural(transfersChecked, 'entry', 'entries')} so far.`}
    </Line>
  )
}

/** A period is archived when all earlier ones are. */
function Archived({ periods }: { periods: readonly number[] }) {
  const last = periods.at(-1)!
  return (
    <Line kind="note" title={last === 1 ? 'Period 1 is in the archive' : `Periods 1 to ${last} are in the archive`}>
      The archived entries were checked before they were archived. The checks above begin after the last archived entry
      of each wallet, and <code>npx billfold verify</code> also compares what the database keeps of them.
    </Line>
  )
}

function Found({ problem, owner }: { problem: Problem; owner: User | undefined }) {
  const { check, walletId, message, foundAt } = problem
  return (
    <div class="check bad">
      <Icon name="cross" />
      <strong>{titles[check as Check] ?? check}</strong>
      <p>
        {walletId && (
          <>
            <a href={`/admin/wallets/${walletId}`}>
              {owner ? `${owner.firstName} ${owner.lastName}`.trim() || 'The wallet' : 'The wallet'}
            </a>
            {owner && (owner.email ? ` (${owner.email})` : ' (deleted)')}:{' '}
          </>
        )}
        {message} <span class="muted">Found</span> <When at={new Date(foundAt)} />, <code>{check}</code>.
      </p>
    </div>
  )
}

/** What each finding means. */
const titles: Record<Check, string> = {
  'entry-sequence': 'An entry is missing from a ledger',
  'entry-running-balance': 'An entry does not follow from the one before it',
  'entry-overdraft': 'A debit took more than there was',
  'entry-time': 'An entry is older than the one before it',
  'entry-reference-key': 'An entry has the key of another reference',
  'entry-without-outcome': 'An entry has no outcome',
  'entry-with-refusal': 'Money moved that was refused',
  'entry-unlike-outcome': 'An entry and its outcome differ',
  'entry-without-link': 'An app moved money of a user it was never linked to',
  'wallet-missing': 'A wallet is missing',
  'wallet-without-user': 'A wallet has no user',
  'wallet-balance': 'A balance is not the sum of its entries',
  'wallet-sequence': 'A wallet’s entry count is wrong',
  'wallet-last-entry': 'A balance differs from its last entry',
  'wallet-overdrawn-active': 'A wallet below zero is not frozen',
  'wallet-frozen-without-debt': 'A wallet is frozen for a debt it does not have',
  'wallet-held': 'What a wallet holds back is not the sum of its holds',
  'hold-steps': 'A hold does not follow from its steps',
  'hold-entry': 'A capture has no entry',
  'hold-without-outcome': 'A hold has no outcome',
  'link-dangling': 'A link has no user or app',
  'outcome-without-entry': 'An outcome has no entry',
  'outcome-refusal-unfounded': 'A refusal had no reason',
  'outcome-without-wallet': 'An outcome belongs to no wallet',
  'outcome-without-hold': 'An outcome has no hold',
  'outcome-twice': 'A reference has an outcome in two periods',
  'sealed-entry': 'An entry is not what was sealed',
  'sealed-record': 'An audit record is not what was sealed',
  'sealed-books': 'A sealed day is not what the positions are',
  'sealed-log': 'The log is not what was signed',
  'position-differs': 'An account’s position is not the sum of its entries',
  'archive-changed': 'What the database keeps of an archived period was changed',
  'books-unbalanced': 'Money was created or lost',
}

const plural = (count: number, one: string, many = `${one}s`) => `${countText(count)} ${count === 1 ? one : many}`
