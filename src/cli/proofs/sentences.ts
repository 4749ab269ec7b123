/** What a proof proves, in sentences and as JSON. */
import type { ProofVerdict, VerifiedEntry, VerifiedPosition } from '../../../sdk/verify.ts'
import { moneyText, parseCurrency } from '../../ledger/money.ts'

type Proven = Extract<ProofVerdict, { readonly ok: true }>

export function sentenceOf(proven: Proven): string {
  return proven.kind === 'entry' ? entryText(proven.entry) : positionText(proven.position)
}

/** Bigints and times as text. */
export function provenJson(proven: Proven): Record<string, unknown> {
  if (proven.kind === 'entry') {
    const { amountMinor, at, ...entry } = proven.entry
    return { kind: 'entry', ...entry, amountMinor: String(amountMinor), at: at.toISOString() }
  }
  const { debitedMinor, creditedMinor, balanceMinor, entries, ...position } = proven.position
  const sums = { debitedMinor, creditedMinor, balanceMinor, entries }
  return { kind: 'position', ...position, ...Object.fromEntries(Object.entries(sums).map(([k, v]) => [k, String(v)])) }
}

function money(minor: bigint, currency: string): string {
  const known = parseCurrency(currency)
  return known ? moneyText(minor, known) : `${minor} minor units of ${currency}`
}

function signedText({ origin, logSize, signedAt }: VerifiedEntry | VerifiedPosition): string {
  const when = signedAt ? ` on ${signedAt.toISOString()}` : ''
  return `The books that have it were signed by ${origin}${when}, at ${logSize} leaves.`
}

function entryText(entry: VerifiedEntry): string {
  const { amountMinor, currency, at, sequence, walletSize, texts } = entry
  const [kind, minor] = amountMinor < 0n ? ['A debit', -amountMinor] : ['A credit', amountMinor]
  const reference = texts ? ` (${texts.referenceType} ${texts.referenceId})` : ''
  const moved = `${kind} of ${money(minor, currency)} on ${at.toISOString()}${reference}`
  return `${moved} is entry ${sequence} of a wallet that had ${walletSize}.\n${signedText(entry)}`
}

function positionText(position: VerifiedPosition): string {
  const { day, account, currency, balanceMinor, debitedMinor, creditedMinor, entries } = position
  return [
    `At the end of ${day} (UTC), the account ${account} stood at ${money(balanceMinor, currency)}.`,
    `It had received ${money(debitedMinor, currency)} and paid ${money(creditedMinor, currency)}, in ${entries} ${entries === 1n ? 'entry' : 'entries'}.`,
    signedText(position),
  ].join('\n')
}
