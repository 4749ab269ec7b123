/** Holds of the server-to-server wallet API: reserve money now, capture it later. */
import { z } from 'zod'
import { toHold } from '../../actions/money/hold-body.ts'
import { captureHold, extendHold, placeHold, readHold, readHolds, voidHold } from '../../actions/money/manage-holds.ts'
import type { Service } from '../../actions/service.ts'
import { holdStatuses, maxHoldSeconds, minHoldSeconds, remainingOf, usualHoldSeconds } from '../../ledger/hold.ts'
import { majorNumber, parseAmount } from '../../ledger/money.ts'
import type { App } from '../../store/apps.ts'
import { holdIdOf, parseHoldId } from '../../store/outcomes.ts'
import type { HoldResult } from '../../store/writer/posting.ts'
import { readClientCall } from '../client-call.ts'
import { holdExample } from '../examples.ts'
import { answer, refuse, refuseUnknownUser, type Answer } from '../reply.ts'
import type { Route } from '../route.ts'
import { alwaysErrors, answerTo, callErrors, postingAnswer } from '../server.ts'
import * as shape from '../shapes.ts'

export function holdRoutes(service: Service): Route[] {
  return [
    readRoute(service),
    placeRoute(service),
    captureRoute(service),
    voidRoute(service),
    extendRoute(service),
    listRoute(service),
  ]
}

const placedAnswer = postingAnswer.omit({ transactionId: true }).extend({ hold: shape.hold }).meta({ id: 'PlacedHold' })

const capturedAnswer = postingAnswer.extend({ hold: shape.hold }).meta({ id: 'CapturedHold' })

const changedAnswer = z
  .object({
    hold: shape.hold,
    balance: shape.money,
    available: shape.available,
    held: shape.held,
    replayed: z.literal(true).optional().describe('It was voided before: nothing changed'),
  })
  .meta({ id: 'ChangedHold' })

const writeErrors = ['PAYLOAD_TOO_LARGE', 'REQUEST_TIMEOUT', 'UNSUPPORTED_MEDIA_TYPE', ...alwaysErrors] as const

const secondsProblem = `must be a whole number of seconds from ${minHoldSeconds} to ${maxHoldSeconds}`
const seconds = z
  .int(secondsProblem)
  .min(minHoldSeconds, secondsProblem)
  .max(maxHoldSeconds, secondsProblem)
  .describe('In seconds from now, 60 to 2592000 (30 days)')

const flag = (text: string) => z.boolean('must be true or false').optional().describe(text)

function placeRoute(service: Service): Route {
  const { currency } = service.config
  const schema = z.object({
    ...shape.credentialFields,
    ...shape.postingFields(currency),
    expiresIn: seconds
      .optional()
      .describe('When it expires, in seconds from now: 60 to 2592000; 604800 (7 days) when absent'),
  })
  return {
    method: 'POST',
    path: '/api/server/wallet/hold',
    tag: 'Server',
    proof: 'app',
    summary: 'Reserve money of a wallet',
    description: [
      'The balance stays, and `available` falls by the amount until the hold is captured, voided or expires. Idempotent on (referenceType, referenceId)',
      'among the holds of the app: the same pair serves for the capture. A repeat returns the first outcome, with the hold as it is now.',
    ].join(' '),
    input: schema,
    output: placedAnswer,
    isIdempotent: true,
    errors: [
      ...callErrors,
      'INVALID_AMOUNT',
      'USER_NOT_FOUND',
      'WALLET_INACTIVE',
      'INSUFFICIENT_BALANCE',
      'HOLD_LIMIT',
      'REFERENCE_CONFLICT',
      ...writeErrors,
    ],
    example: holdExample.place,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:write', schema, kind: 'operations' })
      if (read.refusal) return read.refusal
      const { serviceUserId, referenceType, referenceId, description = null, expiresIn } = read.input
      const amountMinor = parseAmount(read.input.amount, currency)!
      const result = await placeHold(service, read.app, {
        serviceUserId,
        amountMinor,
        referenceType,
        referenceId,
        description,
        seconds: expiresIn ?? usualHoldSeconds,
        arrivedAt: call.context.arrivedAt,
      })
      return answerHold(service, read.app, result)
    },
  }
}

/** Half a pair is a mistake; and several captures of one hold need a pair each. */
function checkPair(
  {
    referenceType,
    referenceId,
    final,
  }: Partial<Record<'referenceType' | 'referenceId', string | undefined>> & {
    final?: boolean | undefined
  },
  context: z.RefinementCtx,
): void {
  const problem = final === false ? 'is missing: with final false every capture has its own reference' : 'is missing'
  const isNeeded = final === false || referenceType !== undefined || referenceId !== undefined
  for (const [name, value] of Object.entries({ referenceType, referenceId }))
    if (isNeeded && value === undefined) context.addIssue({ code: 'custom', path: [name], message: problem })
}

function captureRoute(service: Service): Route {
  const { currency } = service.config
  const schema = z
    .object({
      ...shape.credentialFields,
      holdId: shape.holdId,
      amount: shape.amount(currency).optional().describe('All that remains when absent'),
      final: flag('Release what remains after it; true when absent. With false every capture names its own reference'),
      allowExtra: flag('Take more than remains, as far as `available` covers it; false when absent'),
      referenceType: shape.referenceType.optional(),
      referenceId: shape.referenceId
        .optional()
        .describe('With referenceType the reference of the entry; that of the hold when absent'),
      description: shape.description,
    })
    .superRefine(checkPair)
  return {
    method: 'POST',
    path: '/api/server/wallet/hold/capture',
    tag: 'Server',
    proof: 'app',
    summary: 'Take money that a hold reserved',
    description: [
      'An ordinary debit with a reference, by default the pair of the hold. A repeat of the reference returns the first outcome and moves no money,',
      'whether a capture or a debit used it first. It also works when the wallet is frozen or the user has disconnected the app.',
    ].join(' '),
    input: schema,
    output: capturedAnswer,
    isIdempotent: true,
    errors: [
      ...callErrors,
      'INVALID_AMOUNT',
      'HOLD_NOT_FOUND',
      'HOLD_CLOSED',
      'HOLD_EXPIRED',
      'HOLD_EXCEEDED',
      'HOLD_UNCOVERED',
      'WALLET_INACTIVE',
      'INSUFFICIENT_BALANCE',
      'BALANCE_LIMIT',
      'REFERENCE_CONFLICT',
      ...writeErrors,
    ],
    example: holdExample.capture,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:write', schema, kind: 'operations' })
      if (read.refusal) return read.refusal
      const { amount, final = true, allowExtra = false, referenceType, referenceId, description } = read.input
      const holdId = parseHoldId(read.input.holdId)
      if (holdId === undefined) return refuse('HOLD_NOT_FOUND')
      const result = await captureHold(service, read.app, {
        holdId,
        amountMinor: amount === undefined ? undefined : parseAmount(amount, currency)!,
        isFinal: final,
        allowsExtra: allowExtra,
        reference: referenceType === undefined ? undefined : { referenceType, referenceId: referenceId! },
        description,
        arrivedAt: call.context.arrivedAt,
      })
      return answerHold(service, read.app, result)
    },
  }
}

function voidRoute(service: Service): Route {
  const schema = z.object({ ...shape.credentialFields, holdId: shape.holdId })
  return {
    method: 'POST',
    path: '/api/server/wallet/hold/void',
    tag: 'Server',
    proof: 'app',
    summary: 'Release what a hold reserved',
    description: 'What remains is available at once. A repeat returns the hold and changes nothing.',
    input: schema,
    output: changedAnswer,
    isIdempotent: true,
    errors: [...callErrors, 'HOLD_NOT_FOUND', 'HOLD_CLOSED', 'HOLD_EXPIRED', ...writeErrors],
    example: holdExample.void,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:write', schema, kind: 'operations' })
      if (read.refusal) return read.refusal
      const holdId = parseHoldId(read.input.holdId)
      if (holdId === undefined) return refuse('HOLD_NOT_FOUND')
      return answerHold(service, read.app, await voidHold(service, read.app, holdId, call.context.arrivedAt))
    },
  }
}

function extendRoute(service: Service): Route {
  const schema = z.object({ ...shape.credentialFields, holdId: shape.holdId, expiresIn: seconds })
  return {
    method: 'POST',
    path: '/api/server/wallet/hold/extend',
    tag: 'Server',
    proof: 'app',
    summary: 'Let a hold expire later',
    description: 'Never earlier than before, and never later than 30 days after it was made. A repeat is safe.',
    input: schema,
    output: changedAnswer,
    errors: [...callErrors, 'HOLD_NOT_FOUND', 'HOLD_CLOSED', 'HOLD_EXPIRED', ...writeErrors],
    example: holdExample.extend,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:write', schema, kind: 'operations' })
      if (read.refusal) return read.refusal
      const holdId = parseHoldId(read.input.holdId)
      if (holdId === undefined) return refuse('HOLD_NOT_FOUND')
      const asked = { holdId, seconds: read.input.expiresIn }
      return answerHold(service, read.app, await extendHold(service, read.app, asked, call.context.arrivedAt))
    },
  }
}

function readRoute(service: Service): Route {
  const schema = z.object({ ...shape.credentialFields, holdId: shape.holdId })
  return {
    method: 'GET',
    path: '/api/server/wallet/hold',
    tag: 'Server',
    proof: 'app',
    summary: 'Read a hold',
    description: 'Also of a user who has disconnected the app.',
    input: schema,
    output: z.object({ hold: shape.hold }),
    errors: [...callErrors, 'HOLD_NOT_FOUND', ...alwaysErrors],
    example: holdExample.read,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const holdId = parseHoldId(read.input.holdId)
      const hold = holdId === undefined ? undefined : await readHold(service, read.app, holdId)
      return hold ? answer({ hold: toHold(hold, service.config.currency) }) : refuse('HOLD_NOT_FOUND')
    },
  }
}

function listRoute(service: Service): Route {
  const schema = z.object({
    ...shape.credentialFields,
    serviceUserId: shape.serviceUserId,
    status: z.enum(holdStatuses, `must be one of ${holdStatuses.join(', ')}`).optional(),
    limit: shape.whole(1, 200).optional().describe('How many holds, 1 to 200; 50 when absent'),
    before: shape.holdId
      .refine((text) => parseHoldId(text) !== undefined, 'must be the id of a hold')
      .optional()
      .describe('Only holds that were made before this one'),
  })
  return {
    method: 'GET',
    path: '/api/server/wallet/holds',
    tag: 'Server',
    proof: 'app',
    summary: 'List the holds of this app on a wallet',
    description:
      'Newest first. A page reads at most 1,000 holds, so one of a rare status may hold fewer than `limit` or none; continue with `nextBefore` until it is null.',
    input: schema,
    output: z.object({
      holds: z.array(shape.hold),
      nextBefore: z.string().nullable().describe('Pass it as `before` to get the next page; null on the last page'),
    }),
    errors: [...callErrors, 'USER_NOT_FOUND', ...alwaysErrors],
    example: holdExample.list,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const { serviceUserId, status, limit, before } = read.input
      const found = await readHolds(service, read.app, serviceUserId, {
        status,
        before: before === undefined ? undefined : parseHoldId(before),
        limit: Number(limit ?? 50),
      })
      if (!found) return refuseUnknownUser('GET')
      return answer({
        holds: found.holds.map((hold) => toHold(hold, service.config.currency)),
        nextBefore: found.nextBefore === undefined ? null : holdIdOf(found.nextBefore),
      })
    },
  }
}

function answerHold(service: Service, app: App, result: HoldResult): Answer {
  const { currency } = service.config
  if (result.kind === 'hold') {
    const { hold, balanceMinor, heldMinor, isRepeat } = result
    const body = { hold: toHold(hold, currency), ...shape.walletFigures(balanceMinor, heldMinor, currency) }
    if (!isRepeat) return answer(body)
    return { status: 200, body: { ...body, replayed: true }, headers: { 'idempotent-replayed': 'true' } }
  }
  if (result.kind === 'hold-refused') {
    const { refusal, hold } = result
    const remaining = hold && { remaining: majorNumber(remainingOf(hold), currency) }
    return refuse(refusal, hold ? { hold: toHold(hold, currency), ...remaining } : {})
  }
  if (result.kind === 'expired') throw new Error('only the queue asks to expire holds')
  const replied = answerTo(service, app, result)
  // A conflict with strict references is about the reference, not about this hold.
  const hold = result.kind === 'outcome' && replied.status !== 409 ? result.hold : undefined
  return hold ? { ...replied, body: { ...replied.body, hold: toHold(hold, currency) } } : replied
}
