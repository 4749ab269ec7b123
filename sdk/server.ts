/** `@billfold/sdk/server`: the wallet of your users, from your backend. */
import type {
  CheckBalanceRequest,
  CheckBalanceResponse,
  PostingRequest,
  PostingResponse,
  VerifyLinkRequest,
  VerifyLinkResponse,
  WalletRequest,
  WalletResponse,
  WidgetSessionRequest,
  WidgetSessionResponse,
} from './contract/wire.ts'
import { isSessionToken } from './contract/messages.ts'
import { BillfoldError, mismatchOf } from './server/error.ts'
import { sendAll } from './server/bulk.ts'
import { call } from './server/call.ts'
import type { Json, Route } from './server/call.ts'
import { parseSettings } from './server/settings.ts'
import type { BillfoldOptions, Settings } from './server/settings.ts'

export { BillfoldError } from './server/error.ts'
export type { FaultCode } from './server/error.ts'
export type { BillfoldOptions } from './server/settings.ts'

/** A user of yours may not be linked yet: hand over what you stored, even when that is nothing. */
export type OfUser<T> = Omit<T, 'serviceUserId'> & { serviceUserId: string | null | undefined }

/** `replayed` is true when the reference was used before: this is its first outcome, and nothing moved. */
export type PostingResult = Omit<PostingResponse, 'replayed'> & { replayed: boolean }

export type BulkOperation = OfUser<PostingRequest> & { direction: 'debit' | 'credit' }

/** What an operation came to, or why it did not: the error that it would have thrown alone. */
export type BulkOutcome = { result: PostingResult; error?: never } | { error: BillfoldError; result?: never }

export type CallOptions = { signal?: AbortSignal }

const walletRoute: Route = { method: 'GET', path: '/api/server/wallet' }
const checkBalanceRoute: Route = { method: 'GET', path: '/api/server/wallet/check-balance' }
const debitRoute: Route = { method: 'POST', path: '/api/server/wallet/debit' }
const creditRoute: Route = { method: 'POST', path: '/api/server/wallet/credit' }
const sessionRoute: Route = { method: 'POST', path: '/api/widget/session' }
const verifyLinkRoute: Route = { method: 'POST', path: '/api/server/link/verify' }

/** A class, because it is the thing people keep, pass around and log: private fields keep the secret out of that. */
export class Billfold {
  readonly #settings: Settings

  constructor(options: BillfoldOptions) {
    this.#settings = parseSettings(options)
  }

  /** The balance and the newest transactions. */
  async wallet(request: OfUser<WalletRequest>, options?: CallOptions): Promise<WalletResponse> {
    return await call(this.#settings, walletRoute, linked(request), isWallet, options)
  }

  async checkBalance(request: OfUser<CheckBalanceRequest>, options?: CallOptions): Promise<CheckBalanceResponse> {
    return await call(this.#settings, checkBalanceRoute, linked(request), isCheckedBalance, options)
  }

  /** Takes money. Repeating the same reference never takes it twice; a new attempt needs a new referenceId. */
  async debit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult> {
    return postingOf(await call(this.#settings, debitRoute, linked(request), isPosting, options))
  }

  /** Gives money. A refund uses a reference of its own, not the one of the debit. */
  async credit(request: OfUser<PostingRequest>, options?: CallOptions): Promise<PostingResult> {
    return postingOf(await call(this.#settings, creditRoute, linked(request), isPosting, options))
  }

  /**
   * Many debits and credits, each as if it were sent alone and those of one user in their order. Long lists are cut into requests of
   * a thousand. Calling it again with the same list is safe, and goes on where it ended.
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

  /** A session of five minutes for the widget in this user's browser. */
  async createSession(request: OfUser<WidgetSessionRequest>, options?: CallOptions): Promise<WidgetSessionResponse> {
    return await call(this.#settings, sessionRoute, linked(request), isSession, options)
  }

  /** Whose wallet it is, proved by the one-time code the widget gave to the browser. Store this id, not the browser's. */
  async verifyLink(request: VerifyLinkRequest, options?: CallOptions): Promise<VerifyLinkResponse> {
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

function postingOf(answer: Json & PostingResponse): PostingResult {
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

function isSession(answer: Json): answer is Json & WidgetSessionResponse {
  return isSessionToken(answer.sessionToken) && typeof answer.expiresAt === 'string'
}

function isVerifiedLink(answer: Json): answer is Json & VerifyLinkResponse {
  return typeof answer.serviceUserId === 'string' && answer.serviceUserId !== ''
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
