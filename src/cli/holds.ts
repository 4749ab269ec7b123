/** Commands to list and show holds, and to void one. */
import { toHold } from '../actions/money/hold-body.ts'
import { voidHoldByOperator } from '../actions/money/void-hold.ts'
import type { Service } from '../actions/service.ts'
import { newId } from '../actions/tokens.ts'
import { remainingOf, viewHold } from '../ledger/hold.ts'
import { formatMinor, majorNumber, type Currency } from '../ledger/money.ts'
import {
  listEndedHolds,
  listHoldSteps,
  listUnclosedHolds,
  listOpenHoldsByEnd,
  type HoldStep,
} from '../store/books/hold-lists.ts'
import { holdIdOf, parseHoldId } from '../store/outcomes.ts'
import { findHold, type SeenHold } from '../store/writer/stored-holds.ts'
import {
  CommandRefused,
  UsageMistake,
  actorOf,
  isSet,
  textOf,
  wholeNumber,
  type Command,
  type Invocation,
  type Reply,
} from './command.ts'
import { withService } from './data.ts'
import { formatFields, formatTime } from './table.ts'
import { findWalletId } from './wallet-show.ts'
import { reasonOf } from './wallet.ts'

const idExample = 'hold_0123456789abcdef0123456789abcdef'
const maxSteps = 1_000

export const holdCommands: readonly Command[] = [
  {
    name: 'hold list',
    database: 'reads',
    summary: 'list open holds, the first to expire first; with --wallet also the ended ones',
    flags: {
      wallet: { value: 'WALLET', about: 'of this wallet: its id, the email of its user, or a serviceUserId' },
      app: { value: 'CLIENT_ID', about: 'of this app' },
      late: { about: 'only those that expired five minutes ago and are not closed' },
      limit: { value: 'N', about: 'how many, 1 to 1000 (default: 50)' },
    },
    examples: ['hold list --limit 200 --json', 'hold list --wallet ann@example.com', 'hold list --late'],
    run: async (invocation) => await withService(invocation, (service) => listHolds(service, invocation)),
  },
  {
    name: 'hold show',
    database: 'reads',
    summary: 'show a hold and its steps',
    positionals: ['hold'],
    examples: [`hold show ${idExample}`, `hold show ${idExample} --json`],
    run: async (invocation) => await withService(invocation, (service) => showHold(service, invocation)),
  },
  {
    name: 'hold void',
    database: 'writes',
    summary: 'void a hold: the user can spend the rest again, and the app cannot capture it',
    positionals: ['hold'],
    flags: { reason: { value: 'TEXT', about: 'the reason, for the audit log', isRequired: true } },
    details: 'Running it again changes nothing. A hold that was captured or has expired is refused.',
    examples: [`hold void ${idExample} --reason "the shop has closed"`],
    run: async (invocation) => await withService(invocation, (service) => voidHold(service, invocation)),
  },
]

async function listHolds(service: Service, invocation: Invocation): Promise<Reply> {
  const { pool } = service.db
  const { currency } = service.config
  const limit = wholeNumber(textOf(invocation, 'limit') ?? '50') ?? 0
  if (limit < 1 || limit > 1_000) throw new UsageMistake('--limit: write a number from 1 to 1000.')
  const [wallet, clientId] = [textOf(invocation, 'wallet'), textOf(invocation, 'app')]
  const isLate = isSet(invocation, 'late')
  if (wallet !== undefined && (clientId !== undefined || isLate))
    throw new UsageMistake('Write either --wallet, or --app and --late.')
  if (clientId !== undefined && !(await service.apps.find(clientId)))
    throw new CommandRefused(`There is no app ${clientId}.`)
  const found =
    wallet === undefined
      ? await listOpenHoldsByEnd(pool, { clientId, isLate }, { after: undefined, limit })
      : await listOfWallet(service, await findWalletId(service, wallet), limit)
  const lines = found.map((seen) => lineOf(seen, currency))
  const json = { holds: found.map((seen) => holdToJson(seen, currency)) }
  return { json, text: lines.join('\n') || 'There are none.' }
}

async function listOfWallet({ db: { pool } }: Service, walletId: string, limit: number): Promise<SeenHold[]> {
  const [open, ended] = await Promise.all([
    listUnclosedHolds(pool, walletId, limit),
    listEndedHolds(pool, walletId, { before: undefined, limit }),
  ])
  return [...open, ...ended].slice(0, limit)
}

function lineOf({ hold: stored, at }: SeenHold, currency: Currency): string {
  const hold = viewHold(stored, at)
  return [
    holdIdOf(hold.id),
    hold.status.padEnd(8),
    formatMinor(hold.amountMinor, currency).padStart(14),
    `${formatMinor(remainingOf(hold), currency)} left`.padStart(19),
    `until ${formatTime(hold.closedAt ?? hold.expiresAt)}`,
    hold.clientId,
    `${hold.referenceType} ${hold.referenceId}`.replaceAll(/\p{C}/gu, '·'),
  ].join('  ')
}

async function getHold({ db }: Service, invocation: Invocation): Promise<SeenHold> {
  const text = invocation.positionals[0]!
  const id = parseHoldId(text.toLowerCase())
  if (!id) throw new UsageMistake(`"${text}" is not the id of a hold: write hold_ and 32 characters.`)
  const seen = await findHold(db.pool, id)
  if (!seen) throw new CommandRefused(`There is no hold ${holdIdOf(id)}.`)
  return seen
}

async function showHold(service: Service, invocation: Invocation): Promise<Reply> {
  const { currency } = service.config
  const seen = await getHold(service, invocation)
  const steps = await listHoldSteps(service.db.pool, seen.hold, maxSteps)
  const hold = viewHold(seen.hold, seen.at)
  const money = (minor: bigint) => `${formatMinor(minor, currency)} ${currency.code}`
  const text = formatFields([
    ['hold', holdIdOf(hold.id)],
    ['status', hold.status],
    ['wallet', hold.walletId],
    ['app', hold.clientId],
    ['reference', `${hold.referenceType} ${hold.referenceId}`.replaceAll(/\p{C}/gu, '·')],
    ['held', money(hold.amountMinor)],
    ['captured', money(hold.capturedMinor + hold.extraMinor)],
    ['remaining', money(remainingOf(hold))],
    ['made', formatTime(hold.createdAt)],
    ['expires', formatTime(hold.expiresAt)],
    ['ended', formatTime(hold.closedAt)],
    ...steps.map((step) => [`#${step.number}`, stepLine(step, money)] as const),
  ])
  const json = { ...holdToJson(seen, currency), steps: steps.map((step) => stepToJson(step, currency)) }
  return { json, text }
}

function stepLine(step: HoldStep, money: (minor: bigint) => string): string {
  const parts = [
    formatTime(step.at),
    step.kind.padEnd(7),
    step.kind === 'extend' || step.kind === 'expiring' ? '' : money(step.amountMinor),
    step.sequence === null ? '' : `entry ${step.sequence}`,
    `by ${step.actor}`,
    step.reason?.replaceAll(/\p{C}/gu, '·') ?? '',
  ]
  return parts.filter((part) => part !== '').join('  ')
}

function stepToJson({ number, kind, amountMinor, sequence, actor, reason, at }: HoldStep, currency: Currency) {
  return { number, kind, amount: majorNumber(amountMinor, currency), sequence, actor, reason, at }
}

function holdToJson({ hold: stored, at }: SeenHold, currency: Currency) {
  const hold = viewHold(stored, at)
  const { id, status, ...others } = toHold(hold, currency)
  return { id, status, walletId: hold.walletId, clientId: hold.clientId, ...others }
}

async function voidHold(service: Service, invocation: Invocation): Promise<Reply> {
  const reason = reasonOf(invocation)
  const actor = actorOf(invocation)
  const { hold } = await getHold(service, invocation)
  const result = await voidHoldByOperator(service, actor, { holdId: hold.id, reason, formId: newId() })
  if (result.kind !== 'voided')
    throw new CommandRefused('The hold has already ended: it was captured, or it has expired.')
  const { currency } = service.config
  const seen = { hold: result.hold, at: result.hold.closedAt ?? service.now() }
  return { json: holdToJson(seen, currency), text: 'Voided. The user has the rest of the hold available again.' }
}
