/** Sends many debits and credits: split into requests, sent one after the other, and retried where the outcome is unknown. */
import type { BulkRequest } from '../contract/wire.ts';
import type { Json } from './call.ts';
import { BillfoldError } from './error.ts';
import type { Settings } from './settings.ts';
type Operation = BulkRequest['operations'][number];
type Options = {
    signal?: AbortSignal;
};
/** Returns one answer per operation, in the same order. Throws if the first request fails as a whole. */
export declare function sendAll(settings: Settings, operations: readonly Operation[], options: Options): Promise<(Json | BillfoldError)[]>;
export {};
