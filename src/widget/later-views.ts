/**
 * Views whose script and words load on demand, so that the first view of each page, which everyone opens, stays small.
 * To add one:
 *
 * 1. add its name here, and its script `<name>.js` to `scripts` and `importPage` in `web/assets`; the script exports its component
 *    as `View`, and its rules are in later-views.css, or in its own stylesheet (`language-files`);
 * 2. add its words as `<name>.ts` to each folder in `src/languages`, and to `Words` there;
 *    the view reads them with `usePage<'<name>'>()`;
 * 3. add its component to `Views` in `client/load-view.tsx`, and `<LoadView name="<name>">` where it is shown.
 */
import type { Words } from '../languages/words.ts'

export const walletViews = ['account', 'activity', 'pending', 'prove', 'ended'] as const satisfies (keyof Words)[]
export const topupViews = ['pay', 'ended'] as const satisfies (keyof Words)[]

export type LaterView = (typeof walletViews | typeof topupViews)[number]

/** The addresses of a view's script, words and stylesheet. */
export type LaterFiles = { readonly script: string; readonly words: string; readonly style: string }
