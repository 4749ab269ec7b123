/** The one error that calls throw. It holds no query, no request and no error of the runtime, because these contain the secret. */
import type { AnyErrorCode, ErrorBody } from '../contract/errors.ts';
import type { Hold, MismatchField } from '../contract/wire.ts';
import type { Redact } from './redact.ts';
/** A failure of the connection or the answer, as opposed to a refusal of the service. */
export type FaultCode = 'NETWORK_ERROR' | 'TIMED_OUT' | 'BAD_RESPONSE' | 'ABORTED';
type Details = Partial<Omit<ErrorBody, 'error' | 'code' | 'requestId'>> & {
    status?: number;
    url?: string;
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
    isRetryable?: boolean;
    cause?: Error | undefined;
};
export declare class BillfoldError extends Error {
    readonly code: FaultCode | AnyErrorCode;
    /** The HTTP status; 0 if there was no answer. */
    readonly status: number;
    /** The address that was called, without its query; empty if nothing was sent. */
    readonly url: string;
    /** Identifies this request in the log of the service. */
    readonly requestId: string | undefined;
    /** The user has to authenticate: show the widget without a session. */
    readonly requiresAuth: boolean;
    readonly fields: Record<string, string> | undefined;
    readonly balance: number | undefined;
    /** The balance without what is held. */
    readonly available: number | undefined;
    readonly held: number | undefined;
    readonly requiredAmount: number | undefined;
    readonly shortfall: number | undefined;
    /** The hold as it is, where it refused the call. */
    readonly hold: Hold | undefined;
    readonly declineCode: string | undefined;
    /** EVENTS_GONE: the lowest number that is kept. */
    readonly oldest: number | undefined;
    /** The refusal was recorded earlier and is replayed because its reference was used again. */
    readonly replayed: boolean;
    readonly mismatch: MismatchField[] | undefined;
    /** How long the service asked to wait (Retry-After). */
    readonly retryAfterMs: number | undefined;
    /**
     * The outcome is unknown, or the same call may succeed later: send it again. Its reference keeps money from moving twice.
     * False means that the service refused the call.
     */
    readonly isRetryable: boolean;
    constructor(code: FaultCode | AnyErrorCode, message: string, details?: Details);
}
/** With any 5xx the request may have been carried out: a proxy answers so when the answer of the service is late or lost. */
export declare function isRetryableStatus(status: number): boolean;
/** With 408 and 429 nothing was carried out. */
export declare function isOutcomeUnknown({ isRetryable, status }: BillfoldError): boolean;
/**
 * Adds the earlier attempt of the same call whose outcome is unknown. A refusal such as 401 says nothing about that attempt,
 * which may have moved the money.
 */
export declare function addEarlier(error: BillfoldError, earlier: BillfoldError, hasReference: boolean): BillfoldError;
/** Converts an error answer. A proxy in between may echo the request, so every text is redacted. */
export declare function errorOfAnswer(body: Record<string, unknown>, answer: {
    call: string;
    url: string;
    status: number;
    requestId: string | undefined;
    retryAfterMs: number | undefined;
}, redact: Redact): BillfoldError;
export declare function mismatchOf(value: unknown): MismatchField[] | undefined;
export {};
