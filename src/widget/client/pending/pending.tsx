/** What is not in the ledger yet: rows above the latest entries, and the list of everything on hold. */
import type { WidgetWallet } from '../call.ts'
import { usePage } from '../page-context.tsx'
import { HoldList, type HoldListProps } from './hold-list.tsx'
import { HoldRow, isMoreHeld } from './hold-row.tsx'
import { Unposted } from './unposted.tsx'

type PendingProps = { wallet: WidgetWallet; now: Date; onHolds: () => void }

/** The list has its own head; the rows are part of the wallet. */
export function View(props: PendingProps | HoldListProps) {
  return 'onBack' in props ? <HoldList {...props} /> : <Pending {...props} />
}

function Pending({ wallet, now, onHolds }: PendingProps) {
  const { words, topup } = usePage<'pending'>()
  const { waiting, failedTopups = [], holds = [], held, currency } = wallet
  return (
    <>
      <ul role="list">
        {[...waiting, ...failedTopups].map((topup) => (
          <Unposted key={topup.createdAt} topup={topup} currency={currency} now={now} />
        ))}
        {holds.map((hold) => (
          <HoldRow key={hold.id} hold={hold} currency={currency} now={now} />
        ))}
      </ul>
      {isMoreHeld(held, holds, topup.decimals) && (
        <button type="button" class="button quiet small" onClick={onHolds}>
          {words.holdsAll}
        </button>
      )}
    </>
  )
}
