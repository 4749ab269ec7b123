/** Finds a wallet, and shows it or one of its receipts. */
import { findArchived } from '../store/closing/archived-entries.ts'
import { normaliseEmail } from '../actions/people/create-user.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import { formatMinor, majorNumber, type Currency } from '../ledger/money.ts'
import { parseReceiptCode, receiptCodeOf } from '../ledger/receipt-code.ts'
import { listLinksOfUser } from '../store/links.ts'
import { transactionIdOf } from '../store/outcomes.ts'
import { findUser, findUserByEmail } from '../store/people/users.ts'
import { listTransfersByKeys } from '../store/transfers.ts'
import {
  findLinkedWallets,
  findWallet,
  findWalletWithTransfers,
  type Transfer,
  type WalletRow,
} from '../store/wallets.ts'
import { CommandRefused, UsageMistake, textOf, wholeNumber, type Invocation, type Reply } from './command.ts'
import { formatFields, formatTime } from './table.ts'

export async function showWallet(service: Service, invocation: Invocation): Promise<Reply> {
  const limit = wholeNumber(textOf(invocation, 'limit') ?? '10')
  if (limit === undefined || limit > 1_000) throw new UsageMistake('--limit: write a number from 0 to 1000.')
  const { pool } = service.db
  const { currency } = service.config
  const walletId = await findWalletId(service, invocation.positionals[0]!)
  const { wallet, transfers, hasArchived } = (await findWalletWithTransfers(pool, walletId, { limit }))!
  const user = await findUser(pool, walletId)
  const links = await listLinksOfUser(pool, walletId)
  const money = (minor: bigint) => formatMinor(minor, currency)
  const text = formatFields([
    ['wallet', walletId],
    ['user', user?.email ? `${user.firstName} ${user.lastName} <${user.email}>` : user ? 'deleted' : null],
    ['balance', `${money(wallet.balanceMinor)} ${currency.code}`],
    ['held', `${money(wallet.heldMinor)} ${currency.code}`],
    ['available', `${money(wallet.balanceMinor - wallet.heldMinor)} ${currency.code}`],
    ['state', stateText(wallet)],
    ...links.map((link) => ['link', `${link.id} (${link.clientId})`] as const),
    ...transfers.map((t) => [`#${t.sequence}`, transferLine(t, money)] as const),
    ...(hasArchived && transfers.length < limit ? [['older', 'in the archive'] as const] : []),
  ])
  const json = {
    walletId,
    balance: majorNumber(wallet.balanceMinor, currency),
    held: majorNumber(wallet.heldMinor, currency),
    available: majorNumber(wallet.balanceMinor - wallet.heldMinor, currency),
    currency: currency.code,
    isActive: wallet.frozenFor === null,
    frozenFor: wallet.frozenFor,
    frozenReason: wallet.frozenReason,
    user: user && { email: user.email, firstName: user.firstName, lastName: user.lastName, createdAt: user.createdAt },
    links: links.map((link) => ({ serviceUserId: link.id, clientId: link.clientId, createdAt: link.createdAt })),
    transactions: transfers.map((t) => transactionOf(t, currency)),
  }
  return { json, text }
}

/** Finds a receipt by its code. */
export async function showReceipt(service: Service, invocation: Invocation): Promise<Reply> {
  const code = invocation.positionals[0]!
  const keys = parseReceiptCode(code)
  if (!keys)
    throw new UsageMistake(
      `"${code}" is not a receipt code: it has twelve characters, and the last one checks the others.`,
    )
  const { pool } = service.db
  const { currency } = service.config
  const found = await listTransfersByKeys(pool, keys)
  const archived = found.length === 0 ? await findArchived(pool, keys) : undefined
  if (archived)
    throw new CommandRefused(
      `The transaction with the receipt code ${code}, of wallet ${archived.walletId}, is in the archive.`,
    )
  if (found.length === 0) throw new CommandRefused(`No transaction has the receipt code ${code}.`)
  const users = await Promise.all(found.map(({ walletId }) => findUser(pool, walletId)))
  const text = found.map((t, i) =>
    formatFields([
      ['receipt', receiptCodeOf(t.referenceKey)],
      ['transaction', transactionIdOf(t.referenceKey)],
      ['wallet', t.walletId],
      ['user', users[i] ? `${users[i].firstName} ${users[i].lastName} <${users[i].email}>` : null],
      [`#${t.sequence}`, transferLine(t, (minor) => formatMinor(minor, currency))],
    ]),
  )
  const json = {
    receipts: found.map((t, i) => ({
      receiptCode: receiptCodeOf(t.referenceKey),
      walletId: t.walletId,
      email: users[i]?.email ?? null,
      ...transactionOf(t, currency),
    })),
  }
  return { json, text: text.join('\n\n') }
}

function transactionOf(t: Transfer, currency: Currency) {
  return {
    id: transactionIdOf(t.referenceKey),
    sequence: t.sequence,
    amount: majorNumber(t.amountMinor, currency),
    balanceAfter: majorNumber(t.balanceAfterMinor, currency),
    counterAccount: t.counterAccount,
    referenceType: t.referenceType,
    referenceId: t.referenceId,
    description: t.description,
    createdAt: t.createdAt,
  }
}

function stateText({ frozenFor, frozenReason }: WalletRow): string {
  if (frozenFor === null) return 'active'
  if (frozenFor === 'closed') return 'closed: the account was deleted'
  return frozenFor === 'debt'
    ? 'frozen until its available balance is back to zero'
    : `frozen by an operator: ${frozenReason}`
}

function transferLine(t: Transfer, money: (minor: bigint) => string): string {
  const amount = `${t.amountMinor > 0n ? '+' : ''}${money(t.amountMinor)}`.padStart(14)
  // A reference is untrusted text: it must not control the terminal.
  const reference = `${t.referenceType} ${t.referenceId}`.replaceAll(/\p{C}/gu, '·')
  return `${formatTime(t.createdAt)} ${amount} → ${money(t.balanceAfterMinor).padStart(12)}  ${t.counterAccount}  ${reference}`
}

/** Accepts the wallet's id, the email of its user, or a serviceUserId. */
export async function findWalletId(service: Service, text: string): Promise<string> {
  const { pool } = service.db
  let id: string | undefined
  if (text.includes('@')) id = (await findUserByEmail(pool, normaliseEmail(text)))?.id
  else if (text.startsWith('su_')) id = (await findLinkedWallets(pool, [text])).get(text)?.walletId
  else if (isUuid(text.toLowerCase())) id = (await findWallet(pool, text))?.id
  if (id === undefined)
    throw new CommandRefused(`There is no wallet "${text}". Write its id, an email or a serviceUserId.`)
  return id
}
