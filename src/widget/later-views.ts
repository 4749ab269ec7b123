/**
 * Views of the wallet page whose script and words load on demand, so that the first view, which everyone opens, stays small.
 * To add one:
 *
 * 1. add its name here, and its script `<name>.js` to `scripts` in `web/assets`; the script exports its component as `View`;
 * 2. add its words as `<name>.ts` to each folder in `src/languages`, and to `Words` there;
 *    the view reads them with `usePage<'<name>'>()`;
 * 3. add its component to `Views` in `client/load-view.tsx`, and `<LoadView name="<name>">` where it is shown.
 */
import type { Words } from '../languages/words.ts'

export const laterViews = ['account', 'activity', 'prove'] as const satisfies (keyof Words)[]

export type LaterView = (typeof laterViews)[number]

/** The addresses of a view's script and words. */
export type LaterFiles = { readonly script: string; readonly words: string }
