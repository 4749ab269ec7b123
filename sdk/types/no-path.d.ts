/** `@billfold/sdk` without a path: it has every name, so that an import gets as far as the error that names the right path. */
/** Import it from `@billfold/sdk/server`. */
export declare const Billfold: never;
/** Import it from `@billfold/sdk/server`. */
export declare const BillfoldError: never;
/** Import it from `@billfold/sdk/server`. */
export declare const verifyWebhook: never;
/** Import it from `@billfold/sdk/server`. */
export declare const WebhookError: never;
/** Import it from `@billfold/sdk/browser`. */
export declare const mountWallet: never;
/** Import it from `@billfold/sdk/browser`. */
export declare const defineWalletElement: never;
/** Import it from `@billfold/sdk/browser`. */
export declare const WalletError: never;
/** Import it from `@billfold/sdk/react`. */
export declare const Wallet: never;
/** Import it from `@billfold/sdk/react`. */
export declare const useWallet: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const ERROR_CODES: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const ERROR_MEANINGS: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const isErrorCode: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const SESSION_END_REASONS: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const EVENT_TYPES: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const HOLD_EVENT_TYPES: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const MOVEMENT_EVENT_TYPES: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const USER_EVENT_TYPES: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const MESSAGE_VERSION: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const isServiceUserId: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const isSessionToken: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const parseHostMessage: never;
/** Import it from `@billfold/sdk/contract`. */
export declare const parseWidgetMessage: never;
/** Import it from `@billfold/sdk/verify`. */
export declare const verifyProof: never;
/** Import it from `@billfold/sdk/verify`. */
export declare const compareProofs: never;
