/** Events: what happened to the wallets and links of an app's users, in an order that never changes. */
import type { Hold, Transaction } from './wire.ts';
/** Types whose data is the transaction that moved the money. */
export declare const MOVEMENT_EVENT_TYPES: readonly ['wallet.debited', 'wallet.credited', 'wallet.topped_up', 'wallet.refunded', 'wallet.disputed', 'wallet.corrected'];
/** Types whose data is the hold as it was then. */
export declare const HOLD_EVENT_TYPES: readonly ['hold.created', 'hold.captured', 'hold.voided', 'hold.expiring', 'hold.expired', 'hold.extended'];
/** Types whose data names the user alone. */
export declare const USER_EVENT_TYPES: readonly ['wallet.frozen', 'wallet.unfrozen', 'link.created', 'link.disconnected', 'user.deleted'];
export declare const EVENT_TYPES: readonly ["wallet.debited", "wallet.credited", "wallet.topped_up", "wallet.refunded", "wallet.disputed", "wallet.corrected", "hold.created", "hold.captured", "hold.voided", "hold.expiring", "hold.expired", "hold.extended", "wallet.frozen", "wallet.unfrozen", "link.created", "link.disconnected", "user.deleted", "test.ping"];
export type EventType = (typeof EVENT_TYPES)[number];
export type MovementEventType = (typeof MOVEMENT_EVENT_TYPES)[number];
export type HoldEventType = (typeof HOLD_EVENT_TYPES)[number];
export type UserEventType = (typeof USER_EVENT_TYPES)[number];
type Numbered = {
    /** `evt_…`, the same at every read: record it together with the effect of the event. */
    id: string;
    /** 1, 2, 3 … for each app, without gaps. */
    number: number;
    timestamp: string;
};
export type BillfoldEvent = Numbered & ({
    type: MovementEventType;
    data: Transaction & {
        serviceUserId: string;
    };
} | {
    type: HoldEventType;
    data: Hold & {
        serviceUserId: string;
    };
} | {
    type: UserEventType;
    data: {
        serviceUserId: string;
    };
} | {
    type: 'test.ping';
    data: Record<string, never>;
});
export type EventsRequest = {
    /** Only events with a higher number. Without it, from the oldest that is kept. */
    after?: number;
    /** How many events a request reads, 1 to 1,000. */
    limit?: number;
    types?: readonly EventType[];
    /** How many seconds a request waits for an event if there is none: up to 20. */
    wait?: number;
};
export type ReplayEventsRequest = {
    /** One of your app's endpoints, which operators register: `we_…`. */
    endpointId: string;
    /** The number of the first event. */
    from: number;
    /** The number of the last event, at most 999 above `from`. */
    to: number;
};
export type ReplayEventsResponse = {
    endpointId: string;
    /** How many events are sent again, those of other types than the endpoint's included. Events that the endpoint has not had yet come by themselves. */
    count: number;
    /** The endpoint is disabled: the events wait until an operator enables it. */
    disabled?: true;
};
export type EventsResponse = {
    /** Oldest first. */
    events: BillfoldEvent[];
    /** Up to which number this answer has all events of the types that were asked for: pass it as `after`. */
    last: number;
    /** The lowest number that is kept; one above the app's last number when none is. */
    oldest: number;
};
export {};
