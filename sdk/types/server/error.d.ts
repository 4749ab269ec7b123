/** The one error that calls throw. It never holds a URL, a request or a cause, because these contain the secret. */
import type { AnyErrorCode, ErrorBody } from '../contract/errors.ts';
import type { MismatchField } from '../contract/wire.ts';
import type { Redact } from './redact.ts';
/** A failure of the connection or the answer, as opposed to a refusal of the service. */
export type FaultCode = 'NETWORK_ERROR' | 'TIMED_OUT' | 'BAD_RESPONSE' | 'ABORTED';
type Details = Partial<Omit<ErrorBody, 'error' | 'code' | 'requestId'>> & {
    status?: number;
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
};
export declare class BillfoldError extends Error {
    readonly code: FaultCode | AnyErrorCode;
    /** The HTTP status; 0 if there was no answer. */
    readonly status: number;
    /** Identifies this request in the log of the service. */
    readonly requestId: string | undefined;
    /** The user has to authenticate: show the widget without a session. */
    readonly requiresAuth: boolean;
    readonly fields: Record<string, string> | undefined;
    readonly balance: number | undefined;
    readonly requiredAmount: number | undefined;
    readonly shortfall: number | undefined;
    readonly declineCode: string | undefined;
    /** The refusal was recorded earlier and is replayed because its reference was used again. */
    readonly replayed: boolean;
    readonly mismatch: MismatchField[] | undefined;
    /** How long the service asked to wait (Retry-After). */
    readonly retryAfterMs: number | undefined;
    constructor(code: FaultCode | AnyErrorCode, message: string, details?: Details);
    /** Whether the same call may succeed later. Repeating it is safe: its reference keeps money from moving twice. */
    get isRetryable(): boolean;
}
/** The service could not process the request, so the same request may succeed later. */
export declare function isRetryableStatus(status: number): boolean;
/** Converts an error answer. A proxy in between may echo the request, so every text is redacted. */
export declare function errorOfAnswer(body: Record<string, unknown>, answer: {
    call: string;
    status: number;
    requestId: string | undefined;
    retryAfterMs: number | undefined;
}, redact: Redact): BillfoldError;
export declare function mismatchOf(value: unknown): MismatchField[] | undefined;
export {};
