/** A stretch of a wallet's ledger: the entries after a checkpoint. */
import { plainArray } from '../connection/arrays.ts'

export type Stretch = {
  readonly walletId: string
  /** The checkpoint: the last verified entry, and the balance after it; zeros at the beginning of the ledger. */
  readonly sequence: bigint
  readonly balanceMinor: bigint
  /** The last entry of the stretch. */
  readonly until: bigint
}

/** Includes entries beyond the wallet's sequence. */
export const endOfLedger = 2n ** 63n - 1n

/** The stretches in `$1` to `$4`, as table s. */
export const stretchesSql = `unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) as s(wallet_id, sequence, balance, until)`

export function stretchValues(stretches: readonly Stretch[]): string[] {
  return [
    plainArray(stretches, ({ walletId }) => walletId),
    plainArray(stretches, ({ sequence }) => sequence),
    plainArray(stretches, ({ balanceMinor }) => balanceMinor),
    plainArray(stretches, ({ until }) => until),
  ]
}
