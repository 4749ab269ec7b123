/** The result of the continuous check of the books, in green or red. */
import type { BooksState, Problem } from '../../store/verify/books-check.ts'
import { Icon } from './icons.tsx'
import { Money, When } from './parts.tsx'
import type { AdminRequest } from './route.ts'

export function BooksCheck({
  request,
  state,
  problems,
}: {
  request: AdminRequest
  state: BooksState
  problems: readonly Problem[]
}) {
  const { currency } = request.service.config
  const { walletsMinor, positionsMinor, lastRoundAt, lastWallets, lastTransfers, lastRoundMs } = state
  const isBalanced = walletsMinor !== null && positionsMinor !== null && walletsMinor + positionsMinor === 0n
  const seconds = Math.max(1, Math.round((lastRoundMs ?? 0) / 1000))
  return (
    <section class="card stack" id="check">
      <div class="checks">
        {problems.length > 0 ? (
          <div class="check bad" role="alert">
            <Icon name="cross" />
            <strong>The books are wrong</strong>
            <p>
              Stop and look: run <code>npx billfold verify</code>, and keep a copy of the database as it is.
            </p>
          </div>
        ) : lastRoundAt ? (
          <div class="check good">
            <Icon name="check" />
            <strong>The books are right</strong>
            <p>
              Last whole round <When at={lastRoundAt} />: {lastWallets!.toLocaleString('en')} wallets with{' '}
              {lastTransfers!.toLocaleString('en')} entries, in {seconds} s. Sequences without gaps, running balances,
              outcomes and links of every entry.
            </p>
          </div>
        ) : (
          <div class="check">
            <Icon name="dash" />
            <strong>The first round is under way</strong>
            <p>The check goes through all wallets in small slices, so that the service does not feel it.</p>
          </div>
        )}
        {walletsMinor !== null && positionsMinor !== null && (
          <div class={isBalanced ? 'check good' : 'check bad'}>
            <Icon name={isBalanced ? 'check' : 'cross'} />
            <strong>
              Σ wallets + Σ positions = <Money minor={walletsMinor + positionsMinor} currency={currency} />
            </strong>
            <p>
              Wallets hold <Money minor={walletsMinor} currency={currency} />, positions stand at{' '}
              <Money minor={positionsMinor} currency={currency} />, both as of <When at={state.sumsAt} />.
            </p>
          </div>
        )}
        {state.cursor && lastRoundAt && (
          <div class="check">
            <Icon name="dash" />
            <strong>A new round is under way</strong>
            <p>{state.walletsChecked.toLocaleString('en')} wallets so far.</p>
          </div>
        )}
        {problems.map((problem) => (
          <div class="check bad" key={problem.message}>
            <Icon name="cross" />
            <strong>{problem.check}</strong>
            <p>
              {problem.message} {problem.walletId && <a href={`/admin/wallets/${problem.walletId}`}>Open the wallet</a>}
            </p>
          </div>
        ))}
      </div>
    </section>
  )
}
