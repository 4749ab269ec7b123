/** Finds out why a frame stays silent. The browser tells a page next to nothing about a frame of another site. */
export type LoadFailure = 'BLOCKED' | 'TIMED_OUT' | 'NOT_ALLOWED';
export declare function watchLoad(iframe: HTMLIFrameElement, baseUrl: string, timeoutMs: number, onFailure: (code: LoadFailure) => void): {
    stop(): void;
};
