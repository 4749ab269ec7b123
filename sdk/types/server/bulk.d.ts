/** Many debits and credits: cut into requests, sent one after the other, and asked again where an answer is missing. */
import type { BulkRequest } from '../contract/wire.ts';
import type { Json } from './call.ts';
import { BillfoldError } from './error.ts';
import type { Settings } from './settings.ts';
type Operation = BulkRequest['operations'][number];
type Options = {
    signal?: AbortSignal;
};
/** One answer for each operation, in their order. Throws when the service refuses the first request as a whole: then nothing has moved. */
export declare function sendAll(settings: Settings, operations: readonly Operation[], options: Options): Promise<(Json | BillfoldError)[]>;
export {};
