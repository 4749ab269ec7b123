/** A stretch of a wallet's ledger: what comes after a point up to which it was found right. */
import { plainArray } from '../connection/arrays.ts'

export type Stretch = {
  readonly walletId: string
  /** The last entry that is known to be right, and the balance after it; zero and zero at the beginning of the ledger. */
  readonly sequence: bigint
  readonly balanceMinor: bigint
  /** The last entry that belongs to it. */
  readonly until: bigint
}

/** To the end of the ledger, entries included that the wallet does not know of. */
export const endOfLedger = 2n ** 63n - 1n

/** The stretches in `$1` to `$4`, as a table by the name of s. */
export const stretchesSql = `unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) as s(wallet_id, sequence, balance, until)`

export function stretchValues(stretches: readonly Stretch[]): string[] {
  return [
    plainArray(stretches, ({ walletId }) => walletId),
    plainArray(stretches, ({ sequence }) => sequence),
    plainArray(stretches, ({ balanceMinor }) => balanceMinor),
    plainArray(stretches, ({ until }) => until),
  ]
}
