/** Wallets on the command line: look into one, freeze and unfreeze it, grant a bonus. */
import { askBonus } from '../actions/money/grant-bonus.ts'
import { freezeWallet, unfreezeWallet, type FreezeResult } from '../actions/money/manage-wallets.ts'
import { newId } from '../actions/tokens.ts'
import { formatMinor, majorNumber, maxOperationMinor, parseDecimal, type Currency } from '../ledger/money.ts'
import { isDescription, isLabel, maxReferenceIdLength } from '../ledger/reference.ts'
import type { PostingResult } from '../store/writer/posting.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Invocation, type Command, type Reply } from './command.ts'
import { correctionReply } from './correction-reply.ts'
import { withService } from './data.ts'
import { findWalletId, showReceipt, showWallet } from './wallet-show.ts'

const details = 'Name a wallet by its id, the email of its user, or a serviceUserId.'
const reason = { value: 'TEXT', about: 'the reason, for the audit log', isRequired: true }

export const walletCommands: readonly Command[] = [
  {
    name: 'wallet show',
    database: 'reads',
    summary: 'show the balance, state, links and newest transactions',
    positionals: ['wallet'],
    flags: { limit: { value: 'N', about: 'how many transactions, 0 to 1000 (default: 10)' } },
    details,
    examples: ['wallet show ann@example.com', 'wallet show su_0123456789abcdef0123456789abcdef --limit 50 --json'],
    run: async (invocation) => await withService(invocation, (service) => showWallet(service, invocation)),
  },
  {
    name: 'wallet receipt',
    database: 'reads',
    summary: 'show the transaction of a receipt code',
    positionals: ['code'],
    flags: {},
    details:
      'The code is on the receipt and in the details of an entry in the wallet. Case, spaces and dashes do not matter.',
    examples: ['wallet receipt 7K2M-9QXR-4TBV', 'wallet receipt 7k2m9qxr4tbv --json'],
    run: async (invocation) => await withService(invocation, (service) => showReceipt(service, invocation)),
  },
  {
    name: 'wallet freeze',
    database: 'writes',
    summary: 'freeze a wallet: no debits, new holds or new top-ups; credits and captures of its holds still post',
    positionals: ['wallet'],
    flags: { reason },
    details,
    examples: ['wallet freeze ann@example.com --reason "card reported stolen"'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const text = reasonOf(invocation)
        const walletId = await findWalletId(service, invocation.positionals[0]!)
        return frozenReply(walletId, await freezeWallet(service, actorOf(invocation), walletId, text), false)
      }),
  },
  {
    name: 'wallet unfreeze',
    database: 'writes',
    summary: 'unfreeze a wallet; one with less than zero available unfreezes when that is back to zero',
    positionals: ['wallet'],
    flags: { reason },
    details,
    examples: ['wallet unfreeze ann@example.com --reason "new card, all is well"'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const text = reasonOf(invocation)
        const walletId = await findWalletId(service, invocation.positionals[0]!)
        return frozenReply(walletId, await unfreezeWallet(service, actorOf(invocation), walletId, text), true)
      }),
  },
  {
    name: 'wallet credit',
    database: 'writes',
    summary: 'grant a bonus: money from the service itself',
    positionals: ['wallet'],
    flags: {
      amount: { value: 'AMOUNT', about: 'in major units, such as 25.00', isRequired: true },
      reason: { ...reason, about: 'the reason; the user sees it too' },
      reference: { value: 'ID', about: 'makes repeats safe: one bonus per id, which binds wallet, amount and reason' },
    },
    details: `${details} A script that may run twice should pass a --reference; the second run then moves nothing.
If this bonus and everything else that the command line moved in the last 24 hours, in all wallets, exceed CORRECTION_APPROVAL_ABOVE together,
it waits as a correction until an operator approves it.`,
    examples: [
      'wallet credit ann@example.com --amount 25.00 --reason "Welcome"',
      'wallet credit ann@example.com --amount 5 --reason "Sorry for the wait" --reference ticket-4711 --json',
    ],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { currency } = service.config
        const amountMinor = amountOf(invocation, currency)
        const referenceId = textOf(invocation, 'reference') ?? newId()
        if (!isLabel(referenceId, maxReferenceIdLength))
          throw new UsageMistake(`--reference: write 1 to ${maxReferenceIdLength} characters.`)
        const grant = { amountMinor, referenceId, reason: reasonOf(invocation) }
        const walletId = await findWalletId(service, invocation.positionals[0]!)
        const result = await askBonus(service, actorOf(invocation), { walletId, ...grant })
        if (result.kind === 'reused') throw new CommandRefused(reusedText(referenceId, result.differs))
        if (result.kind === 'correction') return correctionReply(result.correction, currency)
        return creditReply(walletId, referenceId, result, currency)
      }),
  },
]

export function reasonOf(invocation: Invocation, flag = 'reason'): string {
  const text = textOf(invocation, flag)!.trim()
  if (text === '' || !isDescription(text)) throw new UsageMistake(`--${flag}: write 1 to 500 characters.`)
  return text
}

export function amountOf(invocation: Invocation, currency: Currency, flag = 'amount'): bigint {
  const minor = parseDecimal(textOf(invocation, flag)!, currency)
  if (minor === undefined || minor <= 0n || minor > maxOperationMinor(currency))
    throw new UsageMistake(`--${flag}: write an amount of ${currency.code} above zero, such as 25.`)
  return minor
}

function frozenReply(walletId: string, result: FreezeResult, isActive: boolean): Reply {
  if (result === 'unknown-wallet') throw new CommandRefused(`There is no wallet ${walletId}.`)
  if (result === 'closed') throw new CommandRefused(`Wallet ${walletId} is closed for good: the account was deleted.`)
  if (result === 'in-debt')
    throw new CommandRefused(`Wallet ${walletId} has less than zero available: it unfreezes when that is back to zero.`)
  const already = result === 'already' ? ' already' : ''
  return {
    json: { walletId, isActive, isChanged: result === 'done' },
    text: `Wallet ${walletId} is ${isActive ? 'active' : 'frozen'}${already}.`,
  }
}

const fieldNames: Readonly<Record<string, string>> = { subject: 'wallet', amountMinor: 'amount', user: 'wallet' }

function reusedText(referenceId: string, differs: readonly string[]): string {
  const names = differs.map((field) => fieldNames[field] ?? field)
  return `The reference ${referenceId} was used before, with another ${names.join(' and ') || 'content'}.`
}

function creditReply(walletId: string, referenceId: string, result: PostingResult, currency: Currency): Reply {
  if (result.kind !== 'outcome') throw new CommandRefused(`There is no wallet ${walletId}, or its account was deleted.`)
  const { outcome, replay } = result
  if (outcome.refusal) throw new CommandRefused(`The bonus was refused: ${outcome.refusal}.`)
  const balance = `${formatMinor(outcome.balanceMinor, currency)} ${currency.code}`
  return {
    json: {
      walletId,
      amount: majorNumber(outcome.amountMinor, currency),
      balance: majorNumber(outcome.balanceMinor, currency),
      referenceType: 'BONUS',
      referenceId,
      replayed: replay !== undefined,
    },
    text: replay
      ? `Nothing moved: ${referenceId} was granted before. The balance was then ${balance}.`
      : `Granted. The balance is ${balance}.`,
  }
}
