/** The rules of the money, in the order they are checked: one operation on one wallet. */
import { maxBalanceMinor } from './money.ts'

export type Wallet = {
  readonly balanceMinor: bigint
  readonly sequence: number
  /**
   * The cause of the freeze; null when the wallet is active. Debt: a reversal found the money already spent. Closed: the user was
   * deleted; a debt may still come and be repaid, but the balance never rises above zero.
   */
  readonly frozenFor: 'operator' | 'debt' | 'closed' | null
}

export type Operation = {
  /** Above zero a credit, below zero a debit. */
  readonly amountMinor: bigint
  /** A reversal takes back money (a charge-back): it posts at any balance, and a debt freezes the wallet. */
  readonly isReversal: boolean
  /** A correction by an operator. An operator's freeze does not stop it. */
  readonly isByOperator?: boolean
}

export type Refusal = 'WALLET_INACTIVE' | 'WALLET_CLOSED' | 'INSUFFICIENT_BALANCE' | 'BALANCE_LIMIT'

export type Decision = { readonly wallet: Wallet; readonly refusal?: never } | { readonly refusal: Refusal }

export function decide(wallet: Wallet, operation: Operation): Decision {
  const { amountMinor, isReversal, isByOperator } = operation
  const balanceMinor = wallet.balanceMinor + amountMinor
  const isDebit = amountMinor < 0n
  const isFrozen = wallet.frozenFor !== null && !(isByOperator && wallet.frozenFor === 'operator')

  if (isDebit && !isReversal && isFrozen) return { refusal: 'WALLET_INACTIVE' }
  if (wallet.frozenFor === 'closed' && balanceMinor > 0n) return { refusal: 'WALLET_CLOSED' }
  if (isDebit && !isReversal && balanceMinor < 0n) return { refusal: 'INSUFFICIENT_BALANCE' }
  if (balanceMinor > maxBalanceMinor || balanceMinor < -maxBalanceMinor) return { refusal: 'BALANCE_LIMIT' }

  // From here on it posts.
  return { wallet: { balanceMinor, sequence: wallet.sequence + 1, frozenFor: freezeAfter(wallet, balanceMinor) } }
}

/** A wallet below zero is frozen for debt until the debt is repaid. Only an operator ends an operator's freeze; closed is for ever. */
function freezeAfter(wallet: Wallet, balanceMinor: bigint): Wallet['frozenFor'] {
  if (wallet.frozenFor === 'operator' || wallet.frozenFor === 'closed') return wallet.frozenFor
  return balanceMinor < 0n ? 'debt' : null
}
