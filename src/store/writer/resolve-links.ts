/** The wallet of each posting, for batches that must know it before they are written. */
import { plainArray, textArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import type { ByLink, PendingPosting } from './posting.ts'

/** A link of another app, or a disconnected one, has a wallet that this posting may not reach. */
export type ResolvedLink = { readonly walletId: string; readonly isReachable: boolean }

const linksSql = `select id, client_id, user_id, disconnected_at is null from links where id = any($1::text[])`
const walletsSql = `select id from wallets where id = any($1::uuid[])`

export async function resolveLinks(
  db: Queryable,
  batch: readonly PendingPosting[],
): Promise<(ResolvedLink | undefined)[]> {
  const linkIds = batch.flatMap(({ by }) => ('walletId' in by ? [] : [by.serviceUserId]))
  const walletIds = batch.flatMap(({ by }) => ('walletId' in by ? [by.walletId] : []))
  const [links, wallets] = await Promise.all([
    db.query<[string, string, string, boolean]>({
      name: 'find-links',
      text: linksSql,
      values: [textArray(linkIds, (id) => id)],
      rowMode: 'array',
    }),
    walletIds.length > 0
      ? db.query<[string]>({
          name: 'find-wallets',
          text: walletsSql,
          values: [plainArray(walletIds, (id) => id)],
          rowMode: 'array',
        })
      : { rows: [] },
  ])
  const linkOf = new Map(links.rows.map((row) => [row[0], row]))
  const known = new Set(wallets.rows.map(([id]) => id))
  const byLink = ({ clientId, serviceUserId }: ByLink): ResolvedLink | undefined => {
    const link = linkOf.get(serviceUserId)
    return link && { walletId: link[2], isReachable: link[1] === clientId && link[3] }
  }
  return batch.map(({ by }) => {
    if (!('walletId' in by)) return byLink(by)
    return known.has(by.walletId) ? { walletId: by.walletId, isReachable: true } : undefined
  })
}
