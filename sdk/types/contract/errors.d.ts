/** Every error code of the service, and the body of an error. */
import type { Hold, MismatchField, Scope } from './wire.ts';
export declare const ERROR_CODES: readonly ['INVALID_CLIENT', 'INSUFFICIENT_SCOPE', 'INVALID_REQUEST', 'INVALID_AMOUNT', 'USER_NOT_FOUND', 'ACCOUNT_NOT_LINKED', 'INSUFFICIENT_BALANCE', 'BALANCE_LIMIT', 'WALLET_INACTIVE', 'REFERENCE_CONFLICT', 'HOLD_NOT_FOUND', 'HOLD_CLOSED', 'HOLD_EXPIRED', 'HOLD_EXCEEDED', 'HOLD_UNCOVERED', 'HOLD_LIMIT', 'EVENTS_OFF', 'EVENTS_GONE', 'ENDPOINT_NOT_FOUND', 'ORIGIN_NOT_ALLOWED', 'SESSION_EXPIRED', 'INVALID_SESSION', 'PERSON_REQUIRED', 'PRESENCE_REQUIRED', 'CARD_DECLINED', 'PAYMENT_INTENT_NOT_FOUND', 'BROWSER_CALL_REFUSED', 'CROSS_SITE_REFUSED', 'INVALID_LINK_CODE', 'INVALID_CREDENTIALS', 'INVALID_CODE', 'WEAK_PASSWORD', 'ACCOUNT_NOT_DELETABLE', 'RATE_LIMITED', 'PAYLOAD_TOO_LARGE', 'REQUEST_TIMEOUT', 'UNSUPPORTED_MEDIA_TYPE', 'METHOD_NOT_ALLOWED', 'NOT_FOUND', 'PROCESSOR_UNAVAILABLE', 'UNAVAILABLE', 'INTERNAL'];
export type ErrorCode = (typeof ERROR_CODES)[number];
export declare const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>>;
/** A newer service may send codes that this version does not know; they pass through as text. */
export type AnyErrorCode = ErrorCode | (string & {});
export declare function isErrorCode(value: unknown): value is ErrorCode;
/** Why a widget session ended before it expired. The app stays linked, except after `disconnected` and `deleted`. */
export declare const SESSION_END_REASONS: readonly ['signed-out', 'signed-out-everywhere', 'password-changed', 'disconnected', 'app-off', 'deleted'];
export type SessionEndReason = (typeof SESSION_END_REASONS)[number];
export type ErrorBody = {
    error: string;
    code: ErrorCode;
    /** Present when the user must authenticate: show the widget without a session. */
    requiresAuth?: boolean;
    requestId: string;
    /** INVALID_REQUEST, INVALID_AMOUNT: what is wrong, by field name. */
    fields?: Record<string, string>;
    /** INSUFFICIENT_SCOPE: the scope that the call needs. */
    requiredScope?: Scope;
    /** INSUFFICIENT_BALANCE: the balance, what of it is available and held, the amount of the debit or hold, and the missing amount. */
    balance?: number;
    available?: number;
    held?: number;
    requiredAmount?: number;
    shortfall?: number;
    /** HOLD_CLOSED, HOLD_EXPIRED, HOLD_EXCEEDED, HOLD_UNCOVERED: the hold as it is, and what remains of it. */
    hold?: Hold;
    remaining?: number;
    /** EVENTS_GONE: the lowest number that is kept. */
    oldest?: number;
    /** CARD_DECLINED: the processor's reason. */
    declineCode?: string;
    /**
     * ACCOUNT_NOT_DELETABLE: why the account cannot be deleted. RATE_LIMITED: `busy` when all sign-ins together are too many.
     * INVALID_SESSION: why the session ended, if the token was a session.
     */
    reason?: 'balance' | 'debt' | 'frozen' | 'hold' | 'topup' | 'dispute' | 'busy' | SessionEndReason;
    /** A recorded refusal, replayed because its reference was used again. */
    replayed?: true;
    mismatch?: MismatchField[];
};
