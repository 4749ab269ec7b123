import type { HostMessage, WidgetMessage } from '../contract/messages.ts';
import type { LoadFailure } from './load-watch.ts';
export type Frame = {
    readonly iframe: HTMLIFrameElement;
    post(message: HostMessage): void;
    resize(height: number): void;
    close(): void;
};
export type FrameOptions = {
    url: string;
    baseUrl: string;
    title: string;
    loadTimeoutMs: number;
    onMessage: (message: WidgetMessage) => void;
    onFailure: (code: LoadFailure) => void;
};
/** Replaces `old`, if there is one, and takes over its height, so that the page does not jump, and its focus. */
export declare function openFrame(parent: Element, old: Frame | null, options: FrameOptions): Frame;
