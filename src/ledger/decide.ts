/** The rules of the money, in the order they are checked: one operation on one wallet. */
import { maxBalanceMinor } from './money.ts'

export type Wallet = {
  readonly balanceMinor: bigint
  /** What open holds promise to apps. The balance without it is available. */
  readonly heldMinor: bigint
  readonly sequence: number
  /**
   * The cause of the freeze; null when the wallet is active. Debt: a reversal found the money already spent or held. Closed: the user was
   * deleted; a debt may still come and be repaid, but the balance never rises above zero.
   */
  readonly frozenFor: 'operator' | 'debt' | 'closed' | null
}

export type Operation = {
  /** Above zero a credit, below zero a debit; zero for an operation that only changes what is held. */
  readonly amountMinor: bigint
  /** Above zero it reserves for a hold, below zero it releases; absent for a plain debit or credit. */
  readonly heldMinor?: bigint
  /** A capture: it takes what a hold promised, also from a frozen wallet, as far as the balance goes. */
  readonly isPromised?: boolean
  /** A reversal takes back money (a charge-back): it posts at any balance, and a debt freezes the wallet. */
  readonly isReversal: boolean
  /** A correction by an operator. An operator's freeze does not stop it. */
  readonly isByOperator?: boolean
}

export type Refusal = 'WALLET_INACTIVE' | 'WALLET_CLOSED' | 'HOLD_UNCOVERED' | 'INSUFFICIENT_BALANCE' | 'BALANCE_LIMIT'

export type Decision = { readonly wallet: Wallet; readonly refusal?: never } | { readonly refusal: Refusal }

export function decide(wallet: Wallet, operation: Operation): Decision {
  const { amountMinor, heldMinor: reservedMinor = 0n, isReversal, isByOperator, isPromised } = operation
  const balanceMinor = wallet.balanceMinor + amountMinor
  const heldMinor = wallet.heldMinor + reservedMinor
  const availableMinor = balanceMinor - heldMinor
  // A debit, a new hold, or a capture of more than was held. A capture within its hold takes nothing from what is available.
  const isTaking = amountMinor < reservedMinor
  const isFrozen = wallet.frozenFor !== null && !(isByOperator && wallet.frozenFor === 'operator')

  if (isTaking && !isReversal && isFrozen) return { refusal: 'WALLET_INACTIVE' }
  if (wallet.frozenFor === 'closed' && balanceMinor > 0n) return { refusal: 'WALLET_CLOSED' }
  if (isPromised && !isTaking && balanceMinor < 0n) return { refusal: 'HOLD_UNCOVERED' }
  if (isTaking && !isReversal && availableMinor < 0n) return { refusal: 'INSUFFICIENT_BALANCE' }
  if (balanceMinor > maxBalanceMinor || balanceMinor < -maxBalanceMinor) return { refusal: 'BALANCE_LIMIT' }

  // From here on it posts. Only money that moves makes an entry.
  const sequence = wallet.sequence + (amountMinor === 0n ? 0 : 1)
  return { wallet: { balanceMinor, heldMinor, sequence, frozenFor: freezeAfter(wallet, availableMinor) } }
}

/**
 * A wallet with less than zero available is frozen for debt until the debt is repaid or holds end. Only an operator ends an operator's
 * freeze; closed is for ever.
 */
function freezeAfter(wallet: Wallet, availableMinor: bigint): Wallet['frozenFor'] {
  if (wallet.frozenFor === 'operator' || wallet.frozenFor === 'closed') return wallet.frozenFor
  return availableMinor < 0n ? 'debt' : null
}
