/** Checks that a webhook came from the service, as Standard Webhooks defines it (v1: HMAC-SHA256 over `id.timestamp.body`). */
import type { BillfoldEvent } from '../contract/events.ts';
/** Node's request headers, a `Headers`, or a plain object. */
export type WebhookHeaders = Headers | {
    readonly [name: string]: string | readonly string[] | undefined;
};
export type WebhookOptions = {
    /** How far the sender's clock may be off. Default: 300. */
    toleranceSeconds?: number;
};
/**
 * `secret`: what you passed is no `whsec_…`. `body`: what you passed is not the raw body, or no event. The others say what is wrong
 * with the request: answer it with 400.
 */
export type WebhookFault = 'secret' | 'body' | 'headers' | 'timestamp' | 'signature';
export declare class WebhookError extends Error {
    readonly fault: WebhookFault;
    constructor(fault: WebhookFault, message: string);
}
/**
 * Returns the event if one of the secrets signed it. Pass the body as it came, as text or bytes: a body that was parsed and written
 * again has other bytes. Pass both secrets while a rotation lasts.
 */
export declare function verifyWebhook(rawBody: string | Uint8Array, headers: WebhookHeaders, secret: string | readonly string[], { toleranceSeconds }?: WebhookOptions): Promise<BillfoldEvent>;
