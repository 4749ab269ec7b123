/** The open holds of a wallet as its user sees them: those of all apps. */
import { viewHold, type HoldView } from '../../ledger/hold.ts'
import type { App } from '../../store/apps.ts'
import { listOpenHolds } from '../../store/people/user-holds.ts'
import type { Service } from '../service.ts'

export type OpenHold = { readonly hold: HoldView; readonly app: App | undefined }

/** More than a user can read; an app has at most 100 on a wallet. */
export const maxOpenHoldsShown = 200

/** Newest first. */
export async function readOpenHolds(
  service: Service,
  { userId, heldMinor }: { readonly userId: string; readonly heldMinor: bigint },
  limit: number,
): Promise<OpenHold[]> {
  if (heldMinor === 0n) return []
  const seen = await listOpenHolds(service.db.pool, userId, limit)
  return await Promise.all(
    seen.map(async ({ hold, at }) => ({ hold: viewHold(hold, at), app: await service.apps.find(hold.clientId) })),
  )
}
