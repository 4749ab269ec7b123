/** The one error a call throws. It never holds an address, a request or a cause: the secret travels in those. */
import type { AnyErrorCode, ErrorBody } from '../contract/errors.ts';
import type { MismatchField } from '../contract/wire.ts';
import type { Redact } from './redact.ts';
/** What goes wrong on the way, as opposed to what the service refuses. */
export type FaultCode = 'NETWORK_ERROR' | 'TIMED_OUT' | 'BAD_RESPONSE' | 'ABORTED';
type Details = Partial<Omit<ErrorBody, 'error' | 'code' | 'requestId'>> & {
    status?: number;
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
};
export declare class BillfoldError extends Error {
    readonly code: FaultCode | AnyErrorCode;
    /** The HTTP status; 0 when there was no answer. */
    readonly status: number;
    /** Finds this very request in the log of the service. */
    readonly requestId: string | undefined;
    /** The user has to authenticate: show the widget without a session. */
    readonly requiresAuth: boolean;
    readonly fields: Record<string, string> | undefined;
    readonly balance: number | undefined;
    readonly requiredAmount: number | undefined;
    readonly shortfall: number | undefined;
    readonly declineCode: string | undefined;
    /** A refusal that was recorded earlier and is only repeated here, because its reference was. */
    readonly replayed: boolean;
    readonly mismatch: MismatchField[] | undefined;
    /** How long the service asked to be left alone. */
    readonly retryAfterMs: number | undefined;
    constructor(code: FaultCode | AnyErrorCode, message: string, details?: Details);
    /** Whether the same call may succeed later. Repeating it is safe: its reference keeps money from moving twice. */
    get isRetryable(): boolean;
}
/** The service could not answer, and nothing is decided by that. */
export declare function isRetryableStatus(status: number): boolean;
/** An error answer as an error. What stands between us and the service may echo a request, so every text is redacted. */
export declare function errorOfAnswer(body: Record<string, unknown>, answer: {
    call: string;
    status: number;
    requestId: string | undefined;
    retryAfterMs: number | undefined;
}, redact: Redact): BillfoldError;
export declare function mismatchOf(value: unknown): MismatchField[] | undefined;
export {};
