/** What each counter account debited from and credited to a wallet, over a span of its entries. */
import type { Queryable } from '../connection/database.ts'

export type Sums = { readonly debitedMinor: bigint; readonly creditedMinor: bigint }

/** By counter account; both ends of the span included. */
export async function sumByCounterAccount(
  db: Queryable,
  walletId: string,
  { from, to }: { from: number; to: number },
): Promise<Map<string, Sums>> {
  const { rows } = await db.query<Sums & { account: string }>(
    `select counter_account as account, coalesce(-sum(amount) filter (where amount < 0), 0)::bigint as "debitedMinor",
       coalesce(sum(amount) filter (where amount > 0), 0)::bigint as "creditedMinor"
     from all_transfers where wallet_id = $1 and sequence >= $2 and sequence <= $3 group by counter_account`,
    [walletId, from, to],
  )
  return new Map(rows.map(({ account, ...sums }) => [account, sums]))
}
