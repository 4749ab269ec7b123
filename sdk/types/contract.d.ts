/** `@billfold/sdk/contract`: what the service and everyone who talks to it agree on. Imports nothing else. */
export { ERROR_CODES, ERROR_MEANINGS, isErrorCode } from './contract/errors.ts';
export type { AnyErrorCode, ErrorBody, ErrorCode } from './contract/errors.ts';
export { MESSAGE_VERSION, isServiceUserId, isSessionToken, parseHostMessage, parseWidgetMessage, } from './contract/messages.ts';
export type { HostMessage, WidgetMessage, WidgetMessageType } from './contract/messages.ts';
export type { CheckBalanceRequest, CheckBalanceResponse, ClientCredentials, ConfirmTopupRequest, ConfirmTopupResponse, CreateIntentRequest, CreateIntentResponse, MismatchField, NextAction, PostingRequest, PostingResponse, Scope, TopupStatus, Transaction, VerifyLinkRequest, VerifyLinkResponse, WalletRequest, WalletResponse, WidgetSessionRequest, WidgetSessionResponse, WidgetWalletResponse, } from './contract/wire.ts';
