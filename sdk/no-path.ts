/** `@billfold/sdk` without a path: it has every name, so that an import gets as far as the error that names the right path. */

/** Import it from `@billfold/sdk/server`. */
export const Billfold = undefined as never
/** Import it from `@billfold/sdk/server`. */
export const BillfoldError = undefined as never
/** Import it from `@billfold/sdk/server`. */
export const verifyWebhook = undefined as never
/** Import it from `@billfold/sdk/server`. */
export const WebhookError = undefined as never
/** Import it from `@billfold/sdk/browser`. */
export const mountWallet = undefined as never
/** Import it from `@billfold/sdk/browser`. */
export const defineWalletElement = undefined as never
/** Import it from `@billfold/sdk/browser`. */
export const WalletError = undefined as never
/** Import it from `@billfold/sdk/react`. */
export const Wallet = undefined as never
/** Import it from `@billfold/sdk/react`. */
export const useWallet = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const ERROR_CODES = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const ERROR_MEANINGS = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const isErrorCode = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const SESSION_END_REASONS = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const EVENT_TYPES = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const HOLD_EVENT_TYPES = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const MOVEMENT_EVENT_TYPES = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const USER_EVENT_TYPES = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const MESSAGE_VERSION = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const isServiceUserId = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const isSessionToken = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const parseHostMessage = undefined as never
/** Import it from `@billfold/sdk/contract`. */
export const parseWidgetMessage = undefined as never

/** Import it from `@billfold/sdk/verify`. */
export const verifyProof = undefined as never
/** Import it from `@billfold/sdk/verify`. */
export const compareProofs = undefined as never

throw new Error(
  '@billfold/sdk has no import without a path, so that the secret never ends up in a page. Import @billfold/sdk/server ' +
    '(your backend), @billfold/sdk/browser or @billfold/sdk/react (your page), ' +
    '@billfold/sdk/verify (proofs), or @billfold/sdk/contract (types and codes).',
)
