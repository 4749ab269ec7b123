/** Follows the feed of events: page by page, waiting for the next event at its end, through outages of the service. */
import type { BillfoldEvent, EventsRequest, ReplayEventsResponse } from '../contract/events.ts';
import type { Json, Route } from './call.ts';
import type { Settings } from './settings.ts';
export declare const replayRoute: Route;
export declare function followEvents(settings: Settings, { after, limit, types, wait }: EventsRequest, options: {
    signal?: AbortSignal;
}): AsyncGenerator<BillfoldEvent, void, undefined>;
export declare function isReplay(answer: Json): answer is Json & ReplayEventsResponse;
