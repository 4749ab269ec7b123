/** Takes what must not be seen out of a text, however a URL, a form or JSON may have spelt it. */
export type Redact = (text: string) => string;
export declare function redactorOf(hidden: readonly string[]): Redact;
