/**
 * The requests and answers of each route. Amounts are JSON numbers in major units (19.99); times are ISO 8601 in UTC.
 * Answers may gain new fields; the ones here do not change.
 */

/** Sent only by a backend: in the query of a GET, in the JSON body of a POST. */
export type ClientCredentials = { clientId: string; clientSecret: string }

export type Scope = 'wallet:read' | 'wallet:write'

export type Transaction = {
  /** `txn_…` */
  id: string
  type: 'DEBIT' | 'CREDIT'
  /** Always positive; `type` is the direction. */
  amount: number
  balanceAfter: number
  currency: string
  referenceType: string
  referenceId: string
  description: string | null
  /** 1, 2, 3 … for each wallet, without gaps. */
  sequence: number
  createdAt: string
}

/** The fields of GET /api/server/wallet, without the credentials. */
export type WalletRequest = {
  serviceUserId: string
  /** How many transactions to return, 1 to 200. Default: 50. */
  limit?: number
  /** Returns only transactions with a lower sequence: pass the `nextBefore` of the previous page. */
  before?: number
}

export type WalletResponse = {
  balance: number
  /** The balance without what is held: what a debit or a new hold can take. Absent from services without holds. */
  available?: number
  held?: number
  /** Newest first. A page may hold fewer than `limit`, or none, although more follow: see `nextBefore`. */
  transactions: Transaction[]
  isActive: boolean
  /** ISO 4217. */
  currency: string
  /** Pass it as `before` to get the next page. Stop when it is absent or null, not when a page is short. */
  nextBefore?: number | null
  /** On the last page: older transactions are in the archive of the service. */
  hasArchived?: true
}

/** The fields of GET /api/server/wallet/check-balance, without the credentials. */
export type CheckBalanceRequest = { serviceUserId: string; requiredAmount: number }

export type CheckBalanceResponse = {
  balance: number
  available?: number
  held?: number
  requiredAmount: number
  /** Whether what is available covers the amount. */
  hasSufficientBalance: boolean
}

/** The fields of POST /api/server/wallet/debit and /credit, without the credentials. */
export type PostingRequest = {
  serviceUserId: string
  amount: number
  /** Together with `referenceId` the idempotency key: repeating the pair never moves money twice. */
  referenceType: string
  referenceId: string
  description?: string
}

/** A field in which a repeated reference differs from its first use. */
export type MismatchField = 'amount' | 'user' | 'direction'

export type PostingResponse = {
  balance: number
  available?: number
  held?: number
  message: string
  transactionId?: string
  /** The reference was used before: this is its first outcome, and no money moved. */
  replayed?: true
  mismatch?: MismatchField[]
}

/** EXPIRED from `expiresAt` on. Only an OPEN hold can be captured, voided and extended. */
export type HoldStatus = 'OPEN' | 'CAPTURED' | 'VOIDED' | 'EXPIRED'

/** Money of a wallet that is reserved for the app. */
export type Hold = {
  /** `hold_…` */
  id: string
  status: HoldStatus
  amount: number
  /** What captures took, including what they took beyond the amount. */
  captured: number
  /** What is still held. */
  remaining: number
  currency: string
  referenceType: string
  referenceId: string
  description: string | null
  createdAt: string
  expiresAt: string
  closedAt: string | null
}

/** The fields of POST /api/server/wallet/hold, without the credentials. */
export type HoldRequest = PostingRequest & {
  /** Seconds until it expires, 60 to 2592000 (30 days); 604800 (7 days) when absent. */
  expiresIn?: number
}

/** `hold` is the hold as it is now, also in the answer to a repeat. */
export type HoldResponse = Omit<PostingResponse, 'transactionId'> & { hold: Hold }

/** The fields of POST /api/server/wallet/hold/capture, without the credentials. */
export type CaptureRequest = {
  holdId: string
  /** All that remains when absent. */
  amount?: number
  /** Releases what remains; true when absent. With false every capture needs its own reference. */
  final?: boolean
  /** Takes more than remains, as far as what is available covers it. */
  allowExtra?: boolean
  /** The reference of the entry; that of the hold when absent. */
  referenceType?: string
  referenceId?: string
  description?: string
}

export type CaptureResponse = PostingResponse & { hold: Hold }

/** The answer to POST /api/server/wallet/hold/void and /extend. */
export type ChangedHoldResponse = { hold: Hold; balance: number; available: number; held: number; replayed?: true }

/** The fields of GET /api/server/wallet/holds, without the credentials. */
export type HoldsRequest = {
  serviceUserId: string
  status?: HoldStatus
  /** 1 to 200; 50 when absent. */
  limit?: number
  /** Only holds that were made before this one. */
  before?: string
}

/** Newest first. Pass `nextBefore` as `before` to get the next page; null on the last page. */
export type HoldsResponse = { holds: Hold[]; nextBefore: string | null }

/** The fields of POST /api/server/wallet/bulk, without the credentials: 1 to 1,000 operations, each posted as if sent alone. */
export type BulkRequest = { operations: (PostingRequest & { direction: 'debit' | 'credit' })[] }

/** One result per operation, in the same order, with the status and body that the operation would have had alone. */
export type BulkResponse = { results: ({ status: number } & Record<string, unknown>)[] }

/** The fields of POST /api/server/link/verify, without the credentials. */
export type VerifyLinkRequest = { linkCode: string }

export type VerifyLinkResponse = { serviceUserId: string }

/** The fields of POST /api/widget/session, without the credentials. */
export type WidgetSessionRequest = {
  serviceUserId: string
  /** The origin of the embedding page: the session then works in no other page. */
  parentOrigin?: string
}

export type WidgetSessionResponse = {
  /** `ws_` and a UUID. */
  sessionToken: string
  expiresAt: string
}

/** GET /api/widget/wallet?session= */
export type WidgetWalletResponse = {
  balance: number
  available?: number
  held?: number
  /** The last 10, newest first. */
  transactions: Transaction[]
  isActive: boolean
  currency: string
  user: { firstName: string; lastName: string }
}

/** POST /api/widget/topup/create-intent?session= */
export type CreateIntentRequest = {
  amount: number
  /**
   * The page's own open payment, or null: its amount changes, or it is cancelled before a new payment is made. Without this field
   * every call makes a payment.
   */
  replaces?: string | null
}

export type TopupStatus =
  | 'requires_payment_method'
  | 'requires_action'
  | 'processing'
  | 'succeeded'
  | 'failed'
  | 'cancelled'

export type CreateIntentResponse = {
  paymentIntentId: string
  /** The secret of this payment, for the card processor's script in the page. Not the secret of the client app. */
  clientSecret: string
  amount: number
  currency: string
  status: TopupStatus
  publishableKey: string
  expiresAt: string
}

/** POST /api/widget/topup/confirm?session= */
export type ConfirmTopupRequest = { paymentIntentId: string }

/** What the user still has to do: open `url`, or let the card processor's script in the page handle it. */
export type NextAction = { kind: 'redirect'; url: string } | { kind: 'script' }

export type ConfirmTopupResponse = {
  status: TopupStatus
  balance: number
  available?: number
  held?: number
  /** The credit, once it is in the ledger. */
  transaction?: Transaction
  message: string
  nextAction?: NextAction
  /** The payment while it can still be paid, for a page that was reloaded. */
  intent?: CreateIntentResponse
}
