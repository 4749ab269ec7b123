/** The rules of the ledger, one case a line, in the order of the checks. Run against `decide`, and against the database. */
import type { Wallet } from '../src/ledger/decide.ts'
import { maxBalanceMinor } from '../src/ledger/money.ts'

const max = maxBalanceMinor

/**
 * What is held: balance, held, frozen for, amount, change of what is held, kind → refusal, or balance, held and freeze after. A capture
 * is promised.
 */
export const heldCases: [
  bigint,
  bigint,
  Wallet['frozenFor'],
  bigint,
  bigint,
  'plain' | 'reversal' | 'capture',
  string,
][] = [
  // A debit and a new hold take from what is available.
  [100n, 60n, null, -40n, 0n, 'plain', '60 60 active'],
  [100n, 60n, null, -41n, 0n, 'plain', 'INSUFFICIENT_BALANCE'],
  [100n, 60n, null, 0n, 40n, 'plain', '100 100 active'],
  [100n, 60n, null, 0n, 41n, 'plain', 'INSUFFICIENT_BALANCE'],
  [0n, 0n, null, 0n, 1n, 'plain', 'INSUFFICIENT_BALANCE'],
  [100n, 60n, null, 5n, 0n, 'plain', '105 60 active'],
  [max, 60n, null, 1n, 0n, 'plain', 'BALANCE_LIMIT'],
  // A frozen wallet takes no new hold, and refuses before the money is checked.
  [100n, 0n, 'operator', 0n, 1n, 'plain', 'WALLET_INACTIVE'],
  [0n, 0n, 'operator', 0n, 1n, 'plain', 'WALLET_INACTIVE'],
  [50n, 60n, 'debt', 0n, 1n, 'plain', 'WALLET_INACTIVE'],
  // A capture takes what was promised, also from a frozen wallet.
  [100n, 60n, null, -60n, -60n, 'capture', '40 0 active'],
  [100n, 60n, null, -10n, -10n, 'capture', '90 50 active'],
  [100n, 60n, null, -10n, -60n, 'capture', '90 0 active'],
  [60n, 60n, null, -60n, -60n, 'capture', '0 0 active'],
  [100n, 60n, 'operator', -60n, -60n, 'capture', '40 0 operator'],
  // More than was held is taken from what is available.
  [100n, 60n, null, -100n, -60n, 'capture', '0 0 active'],
  [100n, 60n, null, -101n, -60n, 'capture', 'INSUFFICIENT_BALANCE'],
  [100n, 60n, 'operator', -61n, -60n, 'capture', 'WALLET_INACTIVE'],
  [50n, 60n, 'debt', -61n, -60n, 'capture', 'WALLET_INACTIVE'],
  // A charge-back under holds freezes for debt; captures post as far as the balance goes.
  [100n, 60n, null, -40n, 0n, 'reversal', '60 60 active'],
  [100n, 60n, null, -41n, 0n, 'reversal', '59 60 debt'],
  [59n, 60n, 'debt', -60n, -60n, 'capture', 'HOLD_UNCOVERED'],
  [59n, 60n, 'operator', -60n, -60n, 'capture', 'HOLD_UNCOVERED'],
  [59n, 60n, 'debt', -59n, -59n, 'capture', '0 1 debt'],
  [59n, 60n, 'debt', -59n, -60n, 'capture', '0 0 active'],
  // Money and the end of a hold end the debt, and no operator’s freeze.
  [59n, 60n, 'debt', 1n, 0n, 'plain', '60 60 active'],
  [59n, 60n, 'debt', 0n, -60n, 'plain', '59 0 active'],
  [40n, 60n, 'debt', 0n, -10n, 'plain', '40 50 debt'],
  [59n, 60n, 'operator', 0n, -60n, 'plain', '59 0 operator'],
]

/** balance, frozen for, amount, reversal → refusal, or balance and freeze after. */
export const decideCases: [bigint, Wallet['frozenFor'], bigint, boolean, string][] = [
  // A frozen wallet refuses a debit before its balance is checked.
  [100n, 'operator', -1n, false, 'WALLET_INACTIVE'],
  [0n, 'operator', -1n, false, 'WALLET_INACTIVE'],
  [-5n, 'debt', -1n, false, 'WALLET_INACTIVE'],
  [-max, 'debt', -1n, false, 'WALLET_INACTIVE'],
  // The wallet of a deleted user takes no money from any sender; debts of cards come and go, and it stays closed.
  [0n, 'closed', -1n, false, 'WALLET_INACTIVE'],
  [0n, 'closed', 1n, false, 'WALLET_CLOSED'],
  [-5n, 'closed', 6n, true, 'WALLET_CLOSED'],
  [0n, 'closed', -5n, true, '-5 closed'],
  [-5n, 'closed', 5n, false, '0 closed'],
  // Then the balance.
  [0n, null, -1n, false, 'INSUFFICIENT_BALANCE'],
  [99n, null, -100n, false, 'INSUFFICIENT_BALANCE'],
  [0n, null, -max - 1n, false, 'INSUFFICIENT_BALANCE'],
  // Then the limit.
  [max, null, 1n, false, 'BALANCE_LIMIT'],
  [1n, null, max, false, 'BALANCE_LIMIT'],
  [max, 'operator', 1n, false, 'BALANCE_LIMIT'],
  [-max, 'debt', -1n, true, 'BALANCE_LIMIT'],
  // Everything else posts.
  [100n, null, -100n, false, '0 active'],
  [100n, null, -1n, false, '99 active'],
  [0n, null, 1n, false, '1 active'],
  [max - 1n, null, 1n, false, `${max} active`],
  // Credits post on a frozen wallet, and do not end an operator's freeze.
  [5n, 'operator', 1n, false, '6 operator'],
  [-5n, 'operator', 10n, false, '5 operator'],
  // A reversal posts at any balance; a debt freezes the wallet until it is repaid.
  [5n, null, -5n, true, '0 active'],
  [5n, null, -6n, true, '-1 debt'],
  [5n, 'operator', -6n, true, '-1 operator'],
  [-5n, 'debt', -1n, true, '-6 debt'],
  [-5n, 'debt', 4n, false, '-1 debt'],
  [-5n, 'debt', 5n, false, '0 active'],
  [-5n, 'debt', 9n, true, '4 active'],
]
