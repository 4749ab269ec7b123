/** `@billfold/sdk/server`: the client for your backend. */
import type {
  CaptureRequest,
  CaptureResponse,
  ChangedHoldResponse,
  CheckBalanceRequest,
  CheckBalanceResponse,
  Hold,
  HoldRequest,
  HoldResponse,
  HoldsRequest,
  HoldsResponse,
  MismatchField,
  PostingRequest,
  PostingResponse,
  VerifyLinkRequest,
  VerifyLinkResponse,
  WalletRequest,
  WalletResponse,
  WidgetSessionRequest,
  WidgetSessionResponse,
} from './contract/wire.ts'
import type { BillfoldEvent, EventsRequest, ReplayEventsRequest, ReplayEventsResponse } from './contract/events.ts'
import { isSessionToken } from './contract/messages.ts'
import { BillfoldError, mismatchOf } from './server/error.ts'
import { sendAll } from './server/bulk.ts'
import { call } from './server/call.ts'
import { followEvents, isReplay, replayRoute } from './server/events.ts'
import type { Json, Route } from './server/call.ts'
import { parseSettings } from './server/settings.ts'
import type { BillfoldOptions, Settings } from './server/settings.ts'

export { BillfoldError } from './server/error.ts'
export type { FaultCode } from './server/error.ts'
export type { BillfoldOptions } from './server/settings.ts'
export { verifyWebhook, WebhookError } from './server/verify-webhook.ts'
export type { WebhookFault, WebhookHeaders, WebhookOptions } from './server/verify-webhook.ts'

/** Pass the id as you stored it. If the user is not linked, the call fails with ACCOUNT_NOT_LINKED. */
export type OfUser<T> = Omit<T, 'serviceUserId'> & { serviceUserId: string | null | undefined }

/** `replayed` is true if the reference was used before: this is its first outcome, and no money moved. */
export type PostingResult = Omit<PostingResponse, 'replayed'> & { replayed: boolean }

export type HoldResult = Omit<HoldResponse, 'replayed'> & { replayed: boolean }
export type CaptureResult = Omit<CaptureResponse, 'replayed'> & { replayed: boolean }

export type BulkOperation = OfUser<PostingRequest> & { direction: 'debit' | 'credit' }

/** The result of an operation, or the error that it would have thrown alone. */
export type BulkOutcome = { result: PostingResult; error?: never } | { error: BillfoldError; result?: never }

export type CallOptions = { signal?: AbortSignal }

const walletRoute: Route = { method: 'GET', path: '/api/server/wallet' }
const checkBalanceRoute: Route = { method: 'GET', path: '/api/server/wallet/check-balance' }
const debitRoute: Route = { method: 'POST', path: '/api/server/wallet/debit', hasReference: true }
const creditRoute: Route = { method: 'POST', path: '/api/server/wallet/credit', hasReference: true }
const holdRoute: Route = { method: 'POST', path: '/api/server/wallet/hold', hasReference: true }
const captureRoute: Route = { method: 'POST', path: '/api/server/wallet/hold/capture', hasReference: true }
const voidHoldRoute: Route = { method: 'POST', path: '/api/server/wallet/hold/void' }
const extendHoldRoute: Route = { method: 'POST', path: '/api/server/wallet/hold/extend' }
const getHoldRoute: Route = { method: 'GET', path: '/api/server/wallet/hold' }
const holdsRoute: Route = { method: 'GET', path: '/api/server/wallet/holds' }
const sessionRoute: Route = { method: 'POST', path: '/api/widget/session' }
const verifyLinkRoute: Route = { method: 'POST', path: '/api/server/link/verify' }

/** The client. Create one and share it. The secret is in a private field, so logging the client does not reveal it. */
export class Billfold {
  readonly #settings: Settings

  constructor(options: BillfoldOptions) {
    this.#settings = parseSettings(options)
  }

  /** Reads the balance and one page of transactions, newest first. */
  async wallet(request: OfUser<WalletRequest>, options?: CallOptions): Promise<WalletResponse> {
    return await call(this.#settings, walletRoute, linked(request), isWallet, options)
  }

  /** Checks whether the balance covers an amount. Nothing is reserved: only `debit` decides. */
  async checkBalance(request: OfUser<CheckBalanceRequest>, options?: CallOptions): Promise<CheckBalanceResponse> {
    return await call(this.#settings, checkBalanceRoute, linked(request), isCheckedBalance, options)
  }

  /** Takes money from the wallet. Repeating a reference never takes it twice; a new attempt needs a new `referenceId`. */
  async debit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult> {
    return postingOf(await call(this.#settings, debitRoute, linked(request), isPosting, options))
  }

  /** Adds money to the wallet. A refund needs its own reference, not that of the debit. */
  async credit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult> {
    return postingOf(await call(this.#settings, creditRoute, linked(request), isPosting, options))
  }

  /** Reserves money of the wallet until it is captured, voided or expires. Repeating a reference never reserves twice. */
  async hold(request: OfUser<HoldRequest>, options?: CallOptions): Promise<HoldResult> {
    return postingOf(await call(this.#settings, holdRoute, linked(request), isHoldPosting, options))
  }

  /** Takes money that a hold reserved: all that remains, or `amount`. What remains after it is released, unless `final` is false. */
  async capture(request: CaptureRequest, options?: CallOptions): Promise<CaptureResult> {
    return postingOf(await call(this.#settings, captureRoute, request, isCapture, options))
  }

  /** Releases what remains of a hold. */
  async voidHold(request: { holdId: string }, options?: CallOptions): Promise<ChangedHoldResponse> {
    return await call(this.#settings, voidHoldRoute, request, isChangedHold, options)
  }

  /** Lets a hold expire that many seconds from now: never earlier than before, and at most 30 days after it was made. */
  async extendHold(
    request: { holdId: string; expiresIn: number },
    options?: CallOptions,
  ): Promise<ChangedHoldResponse> {
    return await call(this.#settings, extendHoldRoute, request, isChangedHold, options)
  }

  async getHold(request: { holdId: string }, options?: CallOptions): Promise<Hold> {
    return (await call(this.#settings, getHoldRoute, request, hasHold, options)).hold
  }

  /** Lists the holds of your app on a wallet, newest first. */
  async holds(request: OfUser<HoldsRequest>, options?: CallOptions): Promise<HoldsResponse> {
    return await call(this.#settings, holdsRoute, linked(request), isHoldList, options)
  }

  /**
   * Posts many debits and credits, each as if it were sent alone, and those of one user in the order of the list. Long lists are
   * split into requests of at most a thousand. Repeating the call with the same list is safe: it continues where it stopped.
   */
  async bulk(operations: readonly BulkOperation[], options: CallOptions = {}): Promise<BulkOutcome[]> {
    const linkedOnes = operations.filter(({ serviceUserId }) => serviceUserId).map(linked)
    const answers = await sendAll(this.#settings, linkedOnes, options)
    let next = 0
    return operations.map((operation) => {
      const answer = operation.serviceUserId ? answers[next++]! : notLinked()
      return answer instanceof BillfoldError
        ? { error: answer }
        : { result: postingOf(answer as Json & PostingResponse) }
    })
  }

  /**
   * Iterates over the events of your users, oldest first, and waits for the next one; through outages of the service too. It ends with
   * `break` or the signal; with `wait: 0` at the last event. Record `event.id` and `event.number` together with its effect, and
   * continue with that number as `after`.
   */
  events(request: EventsRequest = {}, options: CallOptions = {}): AsyncGenerator<BillfoldEvent, void, undefined> {
    return followEvents(this.#settings, request, options)
  }

  /**
   * Sends events of these numbers to one of your app's endpoints again, in no particular order; at most a thousand at once. Each keeps its
   * id, so a receiver that records ids ignores what it had. Repeating the call is safe.
   */
  async replayEvents(request: ReplayEventsRequest, options?: CallOptions): Promise<ReplayEventsResponse> {
    return await call(this.#settings, replayRoute, request, isReplay, options)
  }

  /** Creates a session for the widget in this user's browser. It is valid for five minutes. */
  async createSession(request: OfUser<WidgetSessionRequest>, options?: CallOptions): Promise<WidgetSessionResponse> {
    return await call(this.#settings, sessionRoute, linked(request), isSession, options)
  }

  /** Exchanges the one-time code of the widget for the user's id. Store this id, not the one that the browser sent. */
  async verifyLink(request: VerifyLinkRequest, options?: CallOptions): Promise<VerifyLinkResponse> {
    // Named here, because the cause is close: a framework gives an empty body to a handler that expects JSON.
    if (!request.linkCode) throw noLinkCode()
    return await call(this.#settings, verifyLinkRoute, request, isVerifiedLink, options)
  }
}

function linked<T extends { serviceUserId: string | null | undefined }>(request: T): T & { serviceUserId: string } {
  const { serviceUserId } = request
  if (serviceUserId) return { ...request, serviceUserId }
  throw notLinked()
}

function notLinked(): BillfoldError {
  return new BillfoldError('ACCOUNT_NOT_LINKED', 'This user has not linked a wallet yet.', { requiresAuth: true })
}

function noLinkCode(): BillfoldError {
  const message =
    'linkCode is missing. Most frameworks read a JSON body only if the request of the page has the header content-type: application/json.'
  return new BillfoldError('INVALID_REQUEST', message, { fields: { linkCode: 'is missing' } })
}

function postingOf<T extends Json & { replayed?: true; mismatch?: MismatchField[] }>(answer: T) {
  const mismatch = mismatchOf(answer.mismatch)
  return { ...answer, replayed: answer.replayed === true, ...(mismatch && { mismatch }) }
}

function isWallet(answer: Json): answer is Json & WalletResponse {
  return isNumber(answer.balance) && Array.isArray(answer.transactions) && typeof answer.isActive === 'boolean'
}

function isCheckedBalance(answer: Json): answer is Json & CheckBalanceResponse {
  return isNumber(answer.balance) && isNumber(answer.requiredAmount) && typeof answer.hasSufficientBalance === 'boolean'
}

function isPosting(answer: Json): answer is Json & PostingResponse {
  return isNumber(answer.balance) && typeof answer.message === 'string'
}

function hasHold(answer: Json): answer is Json & { hold: Hold } {
  const { hold } = answer
  return typeof hold === 'object' && hold !== null && 'id' in hold && 'status' in hold
}

function isHoldPosting(answer: Json): answer is Json & HoldResponse {
  return isPosting(answer) && hasHold(answer)
}

function isCapture(answer: Json): answer is Json & CaptureResponse {
  return isPosting(answer) && hasHold(answer)
}

function isChangedHold(answer: Json): answer is Json & ChangedHoldResponse {
  return isNumber(answer.balance) && hasHold(answer)
}

function isHoldList(answer: Json): answer is Json & HoldsResponse {
  return Array.isArray(answer.holds)
}

function isSession(answer: Json): answer is Json & WidgetSessionResponse {
  return isSessionToken(answer.sessionToken) && typeof answer.expiresAt === 'string'
}

function isVerifiedLink(answer: Json): answer is Json & VerifyLinkResponse {
  return typeof answer.serviceUserId === 'string' && answer.serviceUserId !== ''
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
