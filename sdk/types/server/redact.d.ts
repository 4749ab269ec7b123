/** Removes secrets from a text, in any encoding that a URL, a form or JSON may use. */
export type Redact = (text: string) => string;
export declare function redactorOf(hidden: readonly string[]): Redact;
