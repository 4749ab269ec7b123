/** The rules of the ledger, one case a line, in the order of the checks. Run against `decide`, and against the database. */
import type { Wallet } from '../src/ledger/decide.ts'
import { maxBalanceMinor } from '../src/ledger/money.ts'

const max = maxBalanceMinor

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
