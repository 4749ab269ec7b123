/** Finds out why a frame sends no message. A page learns almost nothing from the browser about a frame of another site. */
export type LoadFailure = 'BLOCKED' | 'TIMED_OUT' | 'NOT_ALLOWED';
export declare function watchLoad(iframe: HTMLIFrameElement, baseUrl: string, timeoutMs: number, onFailure: (code: LoadFailure) => void): {
    stop(): void;
};
