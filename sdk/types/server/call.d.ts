import type { Settings } from './settings.ts';
export type Json = Record<string, unknown>;
type Fields = Readonly<Record<string, unknown>>;
export type Route = {
    method: 'GET' | 'POST';
    path: string;
    hasReference?: true;
};
export declare function call<T extends Json>(settings: Settings, route: Route, request: Fields, isAnswer: (answer: Json) => answer is T, options?: {
    signal?: AbortSignal;
}): Promise<T>;
export {};
