/** The server-to-server wallet API, for the backends of client apps only. */
import { z } from 'zod'
import { postForApp } from '../actions/money/post.ts'
import { readWallet } from '../actions/money/read-wallet.ts'
import type { Service } from '../actions/service.ts'
import { formatMinor, majorNumber, parseAmount, parseDecimal } from '../ledger/money.ts'
import type { App } from '../store/apps.ts'
import { transactionIdOf } from '../store/outcomes.ts'
import type { PostingResult } from '../store/writer/posting.ts'
import { readClientCall } from './client-call.ts'
import { postingExample, walletExample } from './examples.ts'
import { toTransaction } from '../actions/money/transaction.ts'
import { answer, refuse, refuseUnknownUser, type Answer } from './reply.ts'
import type { Route } from './route.ts'
import * as shape from './shapes.ts'

export const callErrors = ['INVALID_CLIENT', 'INSUFFICIENT_SCOPE', 'INVALID_REQUEST', 'BROWSER_CALL_REFUSED'] as const
export const alwaysErrors = ['RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL'] as const

export function serverRoutes(service: Service): Route[] {
  return [
    walletRoute(service),
    checkBalanceRoute(service),
    postingRoute(service, 'debit'),
    postingRoute(service, 'credit'),
  ]
}

const walletAnswer = z
  .object({
    balance: shape.money,
    available: shape.available,
    held: shape.held,
    transactions: z.array(shape.transaction),
    isActive: z.boolean(),
    currency: shape.currencyCode,
    nextBefore: z
      .int()
      .nullable()
      .describe('Pass it as `before` to get the next page, also after a page that was not full; null on the last page'),
    hasArchived: shape.hasArchived,
  })
  .meta({ id: 'Wallet' })

const checkedBalance = z
  .object({
    balance: shape.money,
    available: shape.available,
    held: shape.held,
    requiredAmount: shape.money,
    hasSufficientBalance: z.boolean().describe('Whether `available` covers the amount'),
  })
  .meta({ id: 'CheckedBalance' })

export const postingAnswer = z
  .object({
    balance: shape.money.describe(
      'The balance after this debit or credit; a repeat returns the balance after the first use',
    ),
    available: shape.available,
    held: shape.held,
    message: z.string().describe('A message for people'),
    transactionId: shape.transactionId,
    replayed: z
      .literal(true)
      .optional()
      .describe('The reference was used before: this is its first outcome, and no money moved'),
    mismatch: z.array(shape.mismatch).optional().describe('The fields in which a repeat differs from the first use'),
  })
  .meta({ id: 'Posting' })

function walletRoute(service: Service): Route {
  const { currency } = service.config
  const schema = z.object({
    ...shape.credentialFields,
    serviceUserId: shape.serviceUserId,
    limit: shape.whole(1, 200).optional().describe('How many transactions, 1 to 200; 50 when absent'),
    before: shape.whole(1, Number.MAX_SAFE_INTEGER).optional().describe('Only transactions with a lower sequence'),
  })
  return {
    method: 'GET',
    path: '/api/server/wallet',
    tag: 'Server',
    proof: 'app',
    summary: 'Read a wallet',
    description: [
      'Returns the transactions of this app and of the service itself (TOPUP, BONUS, CORRECTION), newest first. A page scans at most 5,000 entries of',
      'the wallet, including those of other apps, so it may hold fewer than `limit` transactions or none; continue with `nextBefore` until it is null.',
    ].join(' '),
    input: schema,
    output: walletAnswer,
    errors: [...callErrors, 'USER_NOT_FOUND', ...alwaysErrors],
    example: walletExample,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const { app, input } = read
      const limit = Number(input.limit ?? 50)
      const before = input.before === undefined ? undefined : Number(input.before)
      const found = await readWallet(service, app, input.serviceUserId, { limit, before })
      if (!found) return refuseUnknownUser('GET')
      return answer({
        ...shape.walletFigures(found.wallet.balanceMinor, found.wallet.heldMinor, currency),
        transactions: found.transfers.map((transfer) => toTransaction(transfer, currency)),
        isActive: found.wallet.frozenFor === null,
        currency: currency.code,
        nextBefore: found.nextBefore,
        ...(found.hasArchived && { hasArchived: true }),
      })
    },
  }
}

function checkBalanceRoute(service: Service): Route {
  const { currency } = service.config
  const schema = z.object({
    ...shape.credentialFields,
    serviceUserId: shape.serviceUserId,
    requiredAmount: shape.requiredAmount(currency),
  })
  return {
    method: 'GET',
    path: '/api/server/wallet/check-balance',
    tag: 'Server',
    proof: 'app',
    summary: 'Check whether what is available would cover an amount',
    description: 'Nothing is reserved; only a debit or a hold decides.',
    input: schema,
    output: checkedBalance,
    errors: [...callErrors, 'INVALID_AMOUNT', 'USER_NOT_FOUND', ...alwaysErrors],
    example: {
      input: { serviceUserId: 'su_0123456789abcdef0123456789abcdef', requiredAmount: '19.99' },
      output: { balance: 80.01, available: 80.01, held: 0, requiredAmount: 19.99, hasSufficientBalance: true },
    },
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const { app, input } = read
      const wallet = await service.reader.find(app.clientId, input.serviceUserId)
      if (!wallet) return refuseUnknownUser('GET')
      const requiredMinor = parseDecimal(input.requiredAmount, currency)!
      return answer({
        ...shape.walletFigures(wallet.balanceMinor, wallet.heldMinor, currency),
        requiredAmount: majorNumber(requiredMinor, currency),
        hasSufficientBalance: wallet.balanceMinor - wallet.heldMinor >= requiredMinor,
      })
    },
  }
}

function postingRoute(service: Service, direction: 'debit' | 'credit'): Route {
  const { currency } = service.config
  const schema = z.object({ ...shape.credentialFields, ...shape.postingFields(currency) })
  return {
    method: 'POST',
    path: `/api/server/wallet/${direction}`,
    tag: 'Server',
    proof: 'app',
    summary: direction === 'debit' ? 'Take money from a wallet' : 'Put money into a wallet',
    description: 'Idempotent on (referenceType, referenceId): a repeat returns the first outcome and moves no money.',
    input: schema,
    output: postingAnswer,
    isIdempotent: true,
    errors: [
      ...callErrors,
      'INVALID_AMOUNT',
      'USER_NOT_FOUND',
      ...(direction === 'debit' ? (['WALLET_INACTIVE'] as const) : []),
      // A repeat returns the first outcome of its reference, which may have been a posting in the other direction.
      'INSUFFICIENT_BALANCE',
      'BALANCE_LIMIT',
      'REFERENCE_CONFLICT',
      'PAYLOAD_TOO_LARGE',
      'REQUEST_TIMEOUT',
      'UNSUPPORTED_MEDIA_TYPE',
      ...alwaysErrors,
    ],
    example: postingExample(direction),
    handle: async (call) => {
      const read = await readClientCall<shape.PostingInput>(service, call, {
        scope: 'wallet:write',
        schema,
        kind: 'operations',
        readUsual: (values) => shape.readPostingFields(values, currency),
      })
      if (read.refusal) return read.refusal
      const { app, input } = read
      const { arrivedAt } = call.context
      const { serviceUserId, referenceType, referenceId, description = null } = input
      const amountMinor = parseAmount(input.amount, currency)!
      const posting = { direction, serviceUserId, amountMinor, referenceType, referenceId, description, arrivedAt }
      return answerTo(service, app, await postForApp(service, app, posting))
    },
  }
}

export function answerTo(service: Service, app: App, result: PostingResult): Answer {
  if (result.kind === 'unknown-user') return refuseUnknownUser('POST')
  if (result.kind === 'inactive') return refuse('WALLET_INACTIVE')
  const { mismatch = [] } = result.replay ?? {}
  if (mismatch.length > 0 && app.strictReferences) return refuse('REFERENCE_CONFLICT', { mismatch })
  return toAnswer(service, result)
}

/** Depends on the recorded outcome alone, so the first use and every repeat get the same answer. */
function toAnswer(service: Service, { outcome, replay }: Extract<PostingResult, { kind: 'outcome' }>): Answer {
  const { currency } = service.config
  const { amountMinor, balanceMinor, heldMinor, refusal, isHold } = outcome
  const askedMinor = amountMinor < 0n ? -amountMinor : amountMinor
  const major = (minor: bigint) => majorNumber(minor, currency)
  const repeated = replay && {
    replayed: true,
    ...(replay.mismatch.length > 0 ? { mismatch: replay.mismatch } : {}),
  }
  const headers = replay ? { 'idempotent-replayed': 'true' } : undefined
  const figures = shape.walletFigures(balanceMinor, heldMinor, currency)
  if (refusal === 'INSUFFICIENT_BALANCE') {
    const shortfall = major(askedMinor - (balanceMinor - heldMinor))
    return refuse(refusal, { ...figures, requiredAmount: major(askedMinor), shortfall, ...repeated }, headers)
  }
  if (refusal) return refuse(refusal, { ...figures, ...repeated }, headers)
  const verb = isHold ? 'Held' : amountMinor < 0n ? 'Debited' : 'Credited'
  const message = `${verb} ${formatMinor(askedMinor, currency)} ${currency.code}.`
  const made = isHold ? {} : { transactionId: transactionIdOf(outcome.referenceKey) }
  const body = { ...figures, message, ...made, ...repeated }
  return headers ? { status: 200, body, headers } : { status: 200, body }
}
