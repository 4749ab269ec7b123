/** What can go wrong around a widget, as the page that embeds it sees it. */
import type { AnyErrorCode } from '../contract/errors.ts';
export type WalletErrorCode = 
/** The frame could not load: a content policy of this page, an extension, or the network. */
'BLOCKED'
/** The frame did not load in time. */
 | 'TIMED_OUT'
/** The service does not let this page embed the wallet: see allowedIframeParents of the client app. */
 | 'NOT_ALLOWED'
/** `fetchSession` failed, or did not give a session. */
 | 'SESSION_FAILED'
/** `onLinked` or `onUnlinked` failed. */
 | 'LINK_FAILED'
/** The widget reports an error of the service: see `serviceCode`. */
 | 'SERVICE_ERROR';
export declare class WalletError extends Error {
    readonly code: WalletErrorCode;
    readonly serviceCode: AnyErrorCode | undefined;
    constructor(code: WalletErrorCode, details?: {
        cause?: unknown;
        serviceCode?: AnyErrorCode;
    });
}
