/** Commands for settlements: what is owed to an app, and marking it as paid out. */
import { isDay, readOwed, reverseSettlement, settleApp, settleProblems } from '../actions/apps/settle-app.ts'
import { newId } from '../actions/tokens.ts'
import { formatMinor, majorNumber, type Currency } from '../ledger/money.ts'
import { findApp } from '../store/apps.ts'
import { findLastSettlement, listSettlements, type Settlement } from '../store/books/settlements.ts'
import { unknownApp } from './apps.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Command, type Invocation } from './command.ts'
import { withService } from './data.ts'
import { formatFields, formatTime } from './table.ts'
import { reasonOf } from './wallet.ts'

const clientIdExample = 'app_0123456789abcdef0123'
const shownSettlements = 100

export const settlementCommands: readonly Command[] = [
  {
    name: 'app settlements',
    database: 'reads',
    summary: 'show what is owed to an app, and its newest 100 settlements',
    positionals: ['clientId'],
    examples: [`app settlements ${clientIdExample}`],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const { currency } = service.config
        const db = service.db.pool
        const clientId = invocation.positionals[0]!
        if (!(await findApp(db, clientId))) throw unknownApp(invocation)
        const owed = await readOwed(db, clientId)
        const settlements = await listSettlements(db, clientId, { limit: shownSettlements })
        const shown = formatFields([
          ['owed now', `${formatMinor(owed.owedNowMinor, currency)} ${currency.code}`],
          [`owed up to ${owed.closedDay}`, `${formatMinor(owed.owedMinor, currency)} ${currency.code}`],
          ['paid out through', owed.last?.throughDay ?? 'nothing yet'],
        ])
        const json = {
          clientId,
          owed: majorNumber(owed.owedMinor, currency),
          owedThrough: owed.closedDay,
          owedNow: majorNumber(owed.owedNowMinor, currency),
          settlements: settlements.map((each) => settlementToJson(each, currency)),
        }
        return { json, text: [shown, ...settlements.map((each) => settlementLine(each, currency))].join('\n') }
      }),
  },
  {
    name: 'app settle',
    database: 'writes',
    summary: 'mark what is owed to an app, up to a closed day, as paid out',
    positionals: ['clientId'],
    flags: {
      through: { value: 'DAY', about: 'the last day of the period, in UTC, such as 2026-01-31', isRequired: true },
      reference: { value: 'TEXT', about: 'the reference of the payout at the bank', isRequired: true },
    },
    details: `The amount is the app's position up to that day, minus earlier payouts. A day is paid out once: a repeated command is refused.`,
    examples: [`app settle ${clientIdExample} --through 2026-01-31 --reference "SEPA 4711"`],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const clientId = invocation.positionals[0]!
        const throughDay = textOf(invocation, 'through')!
        if (!isDay(throughDay)) throw new UsageMistake('--through: write a day such as 2026-01-31.')
        const reference = reasonOf(invocation, 'reference')
        const order = { id: newId(), clientId, throughDay, reference }
        const settled = await settleApp(service, actorOf(invocation), order)
        return settlementReply(invocation, settled, service.config.currency)
      }),
  },
  {
    name: 'app unsettle',
    database: 'writes',
    summary: 'reverse the newest settlement with a separate entry',
    positionals: ['clientId'],
    flags: { reason: { value: 'TEXT', about: 'the reason', isRequired: true } },
    examples: [`app unsettle ${clientIdExample} --reason "the bank sent it back"`],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const clientId = invocation.positionals[0]!
        const reason = reasonOf(invocation)
        const last = await findLastSettlement(service.db.pool, clientId)
        if (!last) throw new CommandRefused(settleProblems.none)
        const order = { id: newId(), clientId, reverses: last.id, reason }
        const settled = await reverseSettlement(service, actorOf(invocation), order)
        return settlementReply(invocation, settled, service.config.currency)
      }),
  },
]

function settlementReply(invocation: Invocation, settled: Awaited<ReturnType<typeof settleApp>>, currency: Currency) {
  if (!('problem' in settled))
    return { json: settlementToJson(settled, currency), text: settlementLine(settled, currency) }
  throw settled.problem === 'unknown-app' ? unknownApp(invocation) : new CommandRefused(settleProblems[settled.problem])
}

function settlementLine(each: Settlement, currency: Currency): string {
  return [
    `#${each.number}`.padEnd(5),
    `${each.fromDay ?? 'the beginning'} – ${each.throughDay}`,
    formatMinor(each.amountMinor, currency).padStart(14),
    formatTime(each.madeAt),
    `by ${each.madeBy}`,
    `${each.reverses ? 'reversal: ' : ''}${each.reference.replaceAll(/\p{C}/gu, '·')}`,
  ].join('  ')
}

function settlementToJson({ id, amountMinor, ...rest }: Settlement, currency: Currency) {
  return { settlementId: id, amount: majorNumber(amountMinor, currency), currency: currency.code, ...rest }
}
