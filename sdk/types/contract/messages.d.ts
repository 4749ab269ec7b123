/** The messages between the widget in its frame and the page around it: one union, and one parser each way. */
import type { AnyErrorCode } from './errors.ts';
export declare const MESSAGE_VERSION = 1;
/** From the widget to the page that embeds it. */
export type WidgetMessage = 
/** The widget is ready and shows the wallet; or, where `page` says so, the top-up in its place. */
{
    type: 'SERVICE_WALLET_LOADED';
    version: 1;
    page?: 'topup';
}
/** The balance or the state of the wallet changed. `paid` is what was just added by card, told by the page it was paid on. */
 | {
    type: 'SERVICE_WALLET_UPDATED';
    version: 1;
    paid?: number;
}
/** The user wants to top up: open `url`. The widget opens no window by itself. */
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
/** The user signed in. The one-time code lets the backend prove that this user owns the id. */
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
/** The session ends soon: answer with SERVICE_SESSION. */
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
/** From the page to the widget: the only message the widget listens to. It renews the session in place. */
export type HostMessage = {
    type: 'SERVICE_SESSION';
    version: 1;
    sessionToken: string;
};
export type WidgetMessageType = WidgetMessage['type'];
/** The message in `data`, made of its known fields alone; null for anything that is not exactly one of ours. */
export declare function parseWidgetMessage(data: unknown): WidgetMessage | null;
export declare function parseHostMessage(data: unknown): HostMessage | null;
export declare function isSessionToken(value: unknown): value is string;
export declare function isServiceUserId(value: unknown): value is string;
