/** The holds on a wallet: what is promised to apps, and how earlier holds ended. */
import type { App } from '../../store/apps.ts'
import { listEndedHolds, listUnclosedHolds } from '../../store/books/hold-lists.ts'
import type { SeenHold } from '../../store/writer/stored-holds.ts'
import { HoldTable } from '../kit/hold-table.tsx'
import { withQuery } from '../kit/parts.tsx'
import { may, type AdminRequest } from '../kit/route.ts'

/** Rows of each kind; a link leads to the whole list. */
const maxOpen = 50
const maxEnded = 10

export type WalletHolds = { readonly open: readonly SeenHold[]; readonly ended: readonly SeenHold[] }

export async function readWalletHolds({ service }: AdminRequest, walletId: string): Promise<WalletHolds> {
  const db = service.db.pool
  const [open, ended] = await Promise.all([
    listUnclosedHolds(db, walletId, maxOpen),
    listEndedHolds(db, walletId, { before: undefined, limit: maxEnded }),
  ])
  return { open, ended }
}

type Props = { request: AdminRequest; userId: string; holds: WalletHolds; apps: readonly App[] }

export function Holds({ request, userId, holds, apps }: Props) {
  const { open, ended } = holds
  const { currency } = request.service.config
  return (
    <section class="card flush" id="holds">
      <div class="heading">
        <h2>Holds</h2>
        {(open.length === maxOpen || ended.length === maxEnded) && (
          <a href={withQuery('/admin/holds', { user: userId })}>All holds</a>
        )}
      </div>
      {open.length === 0 ? (
        <p class="empty muted">
          {ended.length === 0 ? 'No app has ever held money of this wallet.' : 'No hold is open.'}
        </p>
      ) : (
        <HoldTable label="Open holds" holds={open} apps={apps} currency={currency} mayVoid={may(request, 'holds')} />
      )}
      {ended.length > 0 && (
        <details>
          <summary>Ended holds</summary>
          <HoldTable label="Ended holds" holds={ended} apps={apps} currency={currency} />
        </details>
      )}
    </section>
  )
}
