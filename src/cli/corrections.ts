/** Commands to ask for corrections of wallets, and to decide on waiting ones. */
import {
  approveCorrection,
  askCorrection,
  correctionProblems,
  declineCorrection,
  withdrawCorrection,
  type Decided,
} from '../actions/money/correct-wallet.ts'
import type { Service } from '../actions/service.ts'
import { isUuid, newId } from '../actions/tokens.ts'
import { formatMinor } from '../ledger/money.ts'
import { correctionStates, listCorrections } from '../store/corrections.ts'
import { parseTransactionId } from '../store/outcomes.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Command, type Invocation, type Reply } from './command.ts'
import { correctionReply, correctionToJson } from './correction-reply.ts'
import { withService } from './data.ts'
import { formatTime } from './table.ts'
import { amountOf, reasonOf } from './wallet.ts'
import { findWalletId } from './wallet-show.ts'

const idExample = '01900000-0000-7000-8000-000000000000'

export const correctionCommands: readonly Command[] = [
  {
    name: 'wallet correct',
    database: 'writes',
    summary: 'correct a wallet by hand: a debit or a credit against an account of your choice',
    positionals: ['wallet'],
    flags: {
      debit: { value: 'AMOUNT', about: 'take this much out of the wallet' },
      credit: { value: 'AMOUNT', about: 'put this much into the wallet' },
      reason: { value: 'TEXT', about: 'the reason; the user sees it in the wallet', isRequired: true },
      account: { value: 'ACCOUNT', about: 'adjustments, bonus or app:<clientId> (default: adjustments)' },
      transaction: { value: 'TXN', about: 'the transaction that it corrects, txn_…' },
      id: { value: 'UUID', about: 'makes repeats safe: one correction per id, which binds its content' },
    },
    details: `Name a wallet by its id, the email of its user, or a serviceUserId. A correction that takes the sum of the command line's corrections and
bonuses of the last 24 hours, in all wallets, above CORRECTION_APPROVAL_ABOVE waits until an operator approves it in the admin area: the command line can approve only what an operator asked for. A correction never takes a
balance below zero.`,
    examples: [
      'wallet correct ann@example.com --debit 25 --account bonus --transaction txn_0123456789abcdef0123456789abcdef --reason "Granted twice"',
      'wallet correct ann@example.com --credit 5 --reason "Charged twice at the till" --json',
    ],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const order = readOrder(service, invocation)
        const walletId = await findWalletId(service, invocation.positionals[0]!)
        const asked = await askCorrection(service, actorOf(invocation), { walletId, ...order })
        if ('problem' in asked) throw new CommandRefused(correctionProblems[asked.problem])
        return correctionReply(asked, service.config.currency)
      }),
  },
  {
    name: 'correction list',
    database: 'reads',
    summary: 'list corrections and their state, newest first',
    flags: {
      state: { value: 'STATE', about: `one of ${correctionStates.join(', ')}` },
      limit: { value: 'N', about: 'how many, 1 to 1000 (default: 50)' },
    },
    examples: ['correction list --state waiting', 'correction list --limit 1000 --json'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { currency } = service.config
        const state = stateOf(invocation)
        const found = await listCorrections(service.db.pool, { ...(state && { state }), limit: limitOf(invocation) })
        const lines = found.map((each) =>
          [
            each.id,
            each.state.padEnd(9),
            formatMinor(each.amountMinor, currency).padStart(14),
            formatTime(each.askedAt),
            `by ${each.askedBy}`,
            each.reason.replaceAll(/\p{C}/gu, '·'),
          ].join('  '),
        )
        const json = { corrections: found.map((each) => correctionToJson(each, currency)) }
        return { json, text: lines.join('\n') || 'There are none.' }
      }),
  },
  {
    name: 'correction approve',
    database: 'writes',
    summary: 'approve a correction that an operator asked for',
    positionals: ['id'],
    examples: [`correction approve ${idExample}`],
    run: (invocation) =>
      decideCorrection(invocation, (service, id) => approveCorrection(service, actorOf(invocation), id)),
  },
  {
    name: 'correction decline',
    database: 'writes',
    summary: 'decline a correction that an operator asked for',
    positionals: ['id'],
    flags: { reason: { value: 'TEXT', about: 'the reason, for the audit log', isRequired: true } },
    examples: [`correction decline ${idExample} --reason "the user was right"`],
    run: (invocation) => {
      const reason = reasonOf(invocation)
      return decideCorrection(invocation, (service, id) => declineCorrection(service, actorOf(invocation), id, reason))
    },
  },
  {
    name: 'correction withdraw',
    database: 'writes',
    summary: 'withdraw a correction that was asked for on the command line',
    positionals: ['id'],
    examples: [`correction withdraw ${idExample}`],
    run: (invocation) =>
      decideCorrection(invocation, (service, id) => withdrawCorrection(service, actorOf(invocation), id)),
  },
]

function readOrder({ config }: Service, invocation: Invocation) {
  const [debit, credit] = [textOf(invocation, 'debit'), textOf(invocation, 'credit')]
  if ((debit === undefined) === (credit === undefined))
    throw new UsageMistake('Write either --debit or --credit, with an amount.')
  const amountMinor = amountOf(invocation, config.currency, debit === undefined ? 'credit' : 'debit')
  const transaction = textOf(invocation, 'transaction')
  const corrects = transaction === undefined ? null : parseTransactionId(transaction)
  if (corrects === undefined) throw new UsageMistake('--transaction: write txn_ and 32 characters.')
  const id = textOf(invocation, 'id')?.toLowerCase() ?? newId()
  if (!isUuid(id)) throw new UsageMistake('--id: write a UUID.')
  return {
    id,
    amountMinor: debit === undefined ? amountMinor : -amountMinor,
    counterAccount: textOf(invocation, 'account') ?? 'adjustments',
    reason: reasonOf(invocation),
    corrects,
  }
}

function stateOf(invocation: Invocation) {
  const text = textOf(invocation, 'state')
  const state = correctionStates.find((known) => known === text)
  if (text !== undefined && !state) throw new UsageMistake(`--state: write one of ${correctionStates.join(', ')}.`)
  return state
}

function limitOf(invocation: Invocation): number {
  const text = textOf(invocation, 'limit') ?? '50'
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 1_000) throw new UsageMistake('--limit: write a number from 1 to 1000.')
  return limit
}

const problemTexts = {
  unknown: 'There is no such correction: see "correction list".',
  own: 'It was asked for on the command line: an operator must decide on it in the admin area.',
  'not-own': 'Only the person who asked for a correction can withdraw it. Decline it instead.',
  decided: 'It has already been decided: see "correction list".',
  dependent:
    'The operator who asked for it got access from the command line lately: another operator must decide on it.',
} as const

async function decideCorrection(
  invocation: Invocation,
  work: (service: Service, id: string) => Promise<Decided>,
): Promise<Reply> {
  return await withService(invocation, async (service) => {
    const id = invocation.positionals[0]!.toLowerCase()
    const decided: Decided = isUuid(id) ? await work(service, id) : { problem: 'unknown' }
    if ('problem' in decided) throw new CommandRefused(problemTexts[decided.problem])
    return correctionReply(decided.correction, service.config.currency)
  })
}
