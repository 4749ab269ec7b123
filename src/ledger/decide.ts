/** What becomes of one operation on one wallet: the rules of the money, in the order they are checked. */
import { maxBalanceMinor } from './money.ts'

export type Wallet = {
  readonly balanceMinor: bigint
  readonly sequence: number
  /**
   * What froze it; null when it is active. Debt is a reversal that found the money already spent. Closed is the wallet of a
   * deleted user: a debt may come and go, but no money comes into it.
   */
  readonly frozenFor: 'operator' | 'debt' | 'closed' | null
}

export type Operation = {
  /** Above zero a credit, below zero a debit. */
  readonly amountMinor: bigint
  /** A reversal takes back money that was never there (a charge-back): it always posts, and freezes a wallet in debt. */
  readonly isReversal: boolean
  /** An operator's own: a freeze by an operator stops others, and not what the operators put right. */
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

/** A wallet below zero is frozen for its debt until that is repaid; what an operator froze, an operator thaws; closed is for ever. */
function freezeAfter(wallet: Wallet, balanceMinor: bigint): Wallet['frozenFor'] {
  if (wallet.frozenFor === 'operator' || wallet.frozenFor === 'closed') return wallet.frozenFor
  return balanceMinor < 0n ? 'debt' : null
}
