/** The messages between the widget and the embedding page: one union and one parser for each direction. */
import type { AnyErrorCode } from './errors.ts';
export declare const MESSAGE_VERSION = 1;
/** From the widget to the page that embeds it. */
export type WidgetMessage = 
/** The widget is ready and shows the wallet, or the top-up page if `page` is `topup`. */
{
    type: 'SERVICE_WALLET_LOADED';
    version: 1;
    page?: 'topup';
}
/** The balance or the state of the wallet changed. `paid` is the amount just added by card; the page where it was paid sends it. */
 | {
    type: 'SERVICE_WALLET_UPDATED';
    version: 1;
    paid?: number;
}
/** The user wants to add money: open `url` in a window. The widget does not open it. */
 | {
    type: 'SERVICE_OPEN_TOPUP';
    version: 1;
    url: string;
}
/** The widget is ready and shows its sign-in form. */
 | {
    type: 'SERVICE_AUTH_REQUIRED';
    version: 1;
}
/** The user signed in. Your backend verifies the one-time `linkCode` to prove that the user owns `serviceUserId`. */
 | {
    type: 'SERVICE_AUTH_SUCCESS';
    version: 1;
    serviceUserId: string;
    linkCode: string;
}
/** The user wants to sign out or to use another account. */
 | {
    type: 'SERVICE_LOGOUT_REQUEST';
    version: 1;
}
/** The height of the content in CSS pixels. */
 | {
    type: 'SERVICE_RESIZE';
    version: 1;
    height: number;
}
/** The session expires soon: answer with SERVICE_SESSION. */
 | {
    type: 'SERVICE_SESSION_EXPIRING';
    version: 1;
    expiresAt: string;
} | {
    type: 'SERVICE_SESSION_EXPIRED';
    version: 1;
} | {
    type: 'SERVICE_ERROR';
    version: 1;
    code: AnyErrorCode;
};
/** From the page to the widget: renews the session in place. The widget accepts no other message. */
export type HostMessage = {
    type: 'SERVICE_SESSION';
    version: 1;
    sessionToken: string;
};
export type WidgetMessageType = WidgetMessage['type'];
/** Returns a message with only its known fields, or null if `data` is not a valid message. */
export declare function parseWidgetMessage(data: unknown): WidgetMessage | null;
export declare function parseHostMessage(data: unknown): HostMessage | null;
export declare function isSessionToken(value: unknown): value is string;
export declare function isServiceUserId(value: unknown): value is string;
