/** Throws the cause if the backend answered with an error: `fetch` also resolves then, and a failed link must not look stored. */
export declare function checkAnswer(result: unknown): Promise<void>;
/** Returns null for a user without a link: an empty answer, `null`, or an error with `requiresAuth`. */
export declare function readSessionToken(result: unknown): Promise<string | null>;
