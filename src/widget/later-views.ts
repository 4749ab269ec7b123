/**
 * Views of the wallet page that are not its first: their script and their words are loaded when they are asked for, so that the
 * wallet, which everyone opens, stays small. To add one:
 *
 * 1. its name here, and its script's in `scripts` of `web/assets`: `<name>.js`; the script exports its component as `View`;
 * 2. its words in `languages/<name>/`, a file for each language, and their English in `LaterWords`;
 *    the view reads them with `usePage<'<name>'>()`;
 * 3. its component in `Views` of `client/load-view.tsx`, and `<LoadView name="<name>">` where it is shown.
 */
import type { words as account } from './languages/account/en.ts'
import type { words as activity } from './languages/activity/en.ts'

export const laterViews = ['account', 'activity'] as const

export type LaterView = (typeof laterViews)[number]
export type LaterWords = { readonly account: typeof account; readonly activity: typeof activity }

/** Where the browser finds them. */
export type LaterFiles = { readonly script: string; readonly words: string }
