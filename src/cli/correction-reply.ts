/** The command line's output for a correction. */
import { correctionRefusals } from '../actions/money/correct-wallet.ts'
import { formatMinor, majorNumber, type Currency } from '../ledger/money.ts'
import type { Correction } from '../store/corrections.ts'
import { transactionIdOf } from '../store/outcomes.ts'
import { CommandRefused, type Reply } from './command.ts'
import { formatFields } from './table.ts'

export function correctionReply(correction: Correction, currency: Currency): Reply {
  const { id, state, refusal, amountMinor } = correction
  if (refusal) throw new CommandRefused(`Nothing moved. ${correctionRefusals[refusal] ?? refusal}`)
  const text = formatFields([
    ['correction', id],
    ['amount', `${formatMinor(amountMinor, currency)} ${currency.code}`],
    ['state', state === 'waiting' ? 'waits for a second person; nothing has moved yet' : state],
  ])
  return { json: correctionToJson(correction, currency), text }
}

export function correctionToJson({ id, amountMinor, corrects, ...rest }: Correction, currency: Currency) {
  return {
    correctionId: id,
    amount: majorNumber(amountMinor, currency),
    corrects: corrects && transactionIdOf(corrects),
    ...rest,
  }
}
