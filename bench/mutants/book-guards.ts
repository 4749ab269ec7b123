/** The guards of the books: the rules and what operators may change. */
import type { Guarded } from './run.ts'

export const bookGuards: readonly Guarded[] = [
  {
    area: 'the servers',
    file: 'src/store/connection/choose-server.ts',
    tests: ['src/store/connection/choose-server.test.ts'],
    mutants: [
      [`state.timeline >= (seen.get(state.systemId) ?? 0)`, `state.timeline > 0`],
      [`Math.max(state.timeline, raised.get(state.systemId) ?? state.timeline)`, `state.timeline`],
      [`identityOf(states[index]!))).size > 1)`, `identityOf(states[index]!))).size > 2)`],
      [`if (index === undefined && primaries.length > 0)`, `if (index === undefined && primaries.length > 1)`],
    ],
  },
  {
    area: 'the ledger',
    file: 'src/ledger/decide.ts',
    tests: ['src/ledger/decide.test.ts'],
    mutants: [
      [`isTaking && !isReversal && isFrozen)`, `isTaking && !isReversal && isFrozen && wallet.sequence < 0)`],
      [`=== 'closed' && balanceMinor > 0n)`, `=== 'closed' && balanceMinor > 1n)`],
      [`isTaking && !isReversal && availableMinor < 0n)`, `isTaking && !isReversal && availableMinor < -1n)`],
      [`const availableMinor = balanceMinor - heldMinor`, `const availableMinor = balanceMinor`],
      [`const isTaking = amountMinor < reservedMinor`, `const isTaking = amountMinor < 0n`],
      [`isPromised && !isTaking && balanceMinor < 0n)`, `isPromised && !isTaking && balanceMinor < -1n)`],
      [`(amountMinor === 0n ? 0 : 1)`, `1`],
      [`balanceMinor > maxBalanceMinor ||`, `balanceMinor > maxBalanceMinor + 1n ||`],
      [` || balanceMinor < -maxBalanceMinor)`, `)`],
      [`!(isByOperator && wallet.frozenFor === 'operator')`, `!isByOperator`],
      [`availableMinor < 0n ? 'debt' : null`, `availableMinor <= 0n ? 'debt' : null`],
      [
        `wallet.frozenFor === 'operator' || wallet.frozenFor === 'closed') return`,
        `wallet.frozenFor === 'operator') return`,
      ],
    ],
  },
  {
    area: 'the ledger',
    file: 'src/ledger/plan.ts',
    tests: ['src/ledger/plan.test.ts'],
    mutants: [
      [`if (availableMinor < lowestMinor) lowestMinor = availableMinor`, `lowestMinor = availableMinor`],
      [`const availableMinor = netMinor - netHeldMinor`, `const availableMinor = netMinor`],
      [`      holds++\n`, ``],
      [`if (netMinor > highestMinor) highestMinor = netMinor`, `highestMinor = netMinor`],
      [`return frozenFor === null && availableMinor`, `return availableMinor`],
      [`const availableMinor = balanceMinor - heldMinor`, `const availableMinor = balanceMinor`],
      [`    wallet = decision.wallet\n`, ``],
    ],
  },
  {
    area: 'the ledger',
    file: 'src/ledger/hold.ts',
    tests: ['src/ledger/hold.test.ts'],
    mutants: [
      [`expiresAt.getTime() <= at.getTime()`, `expiresAt.getTime() < at.getTime()`],
      [
        `amountMinor > remainingMinor && !capture.allowsExtra`,
        `amountMinor > remainingMinor + 1n && !capture.allowsExtra`,
      ],
      [`if (ended) return { refusal: ended }`, ``],
      [`capture.isFinal ? remainingMinor - promisedMinor : 0n`, `remainingMinor - promisedMinor`],
      [`Math.min(latestMs, `, `Math.max(0, `],
      [`if (expiresMs <= hold.expiresAt.getTime()) return hold`, ``],
    ],
  },
  {
    area: 'the ledger',
    file: 'src/ledger/money.ts',
    tests: ['src/ledger/money.test.ts'],
    mutants: [
      [`minor / scale !== value || `, ``],
      [` || minor > maxOperationMinor(currency)) return`, `) return`],
      [`!(value > 0)`, `!(value >= 0)`],
      [`if (!/^0*$/.test(fraction.slice(decimals))) return undefined`, ``],
    ],
  },
  {
    area: 'the ledger',
    file: 'src/ledger/reference.ts',
    tests: ['src/ledger/reference.test.ts'],
    mutants: [
      [`text.isWellFormed() && !/\\p{Cc}/u.test(text))`, `text.isWellFormed())`],
      [`if (first.walletId !== later.walletId) mismatch.push('user')`, ``],
      [`if (first.amountMinor < 0n !== later.amountMinor < 0n) mismatch.push('direction')`, ``],
    ],
  },
  {
    area: 'the ledger',
    file: 'src/ledger/receipt-code.ts',
    tests: ['src/ledger/receipt-code.test.ts'],
    mutants: [[`if (checkOf(code) !== plain.at(-1)) return undefined`, ``]],
  },
  {
    area: 'wallets and corrections',
    file: 'src/actions/money/manage-wallets.ts',
    tests: ['src/actions/money/manage-wallets.test.ts'],
    mutants: [[`isInDebt ? 'debt' : null`, `null`]],
  },
  {
    area: 'wallets and corrections',
    file: 'src/actions/money/correct-wallet.ts',
    tests: ['src/actions/money/correct-wallet.test.ts'],
    mutants: [
      [
        `magnitude(order.amountMinor) > leftMinor`,
        `magnitude(order.amountMinor) > service.config.correctionApprovalAboveMinor`,
      ],
      [`if (isOwn !== (state === 'withdrawn'))`, `if (isOwn && state === 'declined')`],
      [`if (before.state !== 'waiting')`, `if (before.state === 'done')`],
      [`if (transfer?.walletId !== walletId)`, `if (!transfer)`],
      [`magnitude(before + amountMinor) >`, `magnitude(amountMinor) >`],
    ],
  },
  {
    area: 'wallets and corrections',
    file: 'src/actions/money/void-hold.ts',
    tests: ['src/actions/money/void-hold.test.ts'],
    mutants: [
      [`if (binding.kind === 'first') await recordAudit(tx, actor, 'hold.void-ordered', subject, detail)`, ``],
      [`if (bound.kind === 'other') return { kind: 'reused' }`, ``],
      [`if (isFirst && isRefused)`, `if (isFirst && !isRefused)`],
    ],
  },
  {
    area: 'wallets and corrections',
    file: 'src/store/corrections.ts',
    tests: ['src/actions/money/correct-wallet.test.ts'],
    mutants: [[`state in ('approved', 'refused')`, `state in ('approved')`]],
  },
]
