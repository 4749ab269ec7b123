/** `@billfold/sdk/contract`: the wire types, error codes and messages that the service and its clients share. It imports nothing else. */
export { ERROR_CODES, ERROR_MEANINGS, isErrorCode, SESSION_END_REASONS } from './contract/errors.ts';
export type { AnyErrorCode, ErrorBody, ErrorCode, SessionEndReason } from './contract/errors.ts';
export { EVENT_TYPES, HOLD_EVENT_TYPES, MOVEMENT_EVENT_TYPES, USER_EVENT_TYPES } from './contract/events.ts';
export type { BillfoldEvent, EventsRequest, EventsResponse, EventType, HoldEventType, MovementEventType, ReplayEventsRequest, ReplayEventsResponse, UserEventType, } from './contract/events.ts';
export { MESSAGE_VERSION, isServiceUserId, isSessionToken, parseHostMessage, parseWidgetMessage, } from './contract/messages.ts';
export type { HostMessage, WidgetMessage, WidgetMessageType } from './contract/messages.ts';
export type { CheckBalanceRequest, CheckBalanceResponse, ClientCredentials, ConfirmTopupRequest, ConfirmTopupResponse, CreateIntentRequest, CreateIntentResponse, Hold, HoldStatus, MismatchField, NextAction, PostingRequest, PostingResponse, Scope, TopupStatus, Transaction, VerifyLinkRequest, VerifyLinkResponse, WalletRequest, WalletResponse, WidgetSessionRequest, WidgetSessionResponse, WidgetWalletResponse, } from './contract/wire.ts';
