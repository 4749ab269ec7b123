/** The words in a page's data. A word that the page's script never shows would only make the page larger. */
import type { Language } from '../languages/languages.ts'
import type { WordKey } from '../languages/words.ts'
import type { PageData } from './page-data.ts'

/** Only the server shows them. */
export const serverWords = [
  'outsideTitle',
  'outsideText',
  'notAllowedText',
  'whichAppText',
  'scriptTitle',
  'scriptText',
] as const satisfies WordKey[]

/** No user signs in on the top-up page. */
export const signInWords = [
  'signInTitle',
  'signInIntro',
  'signUpTitle',
  'signUpIntro',
  'newHere',
  'haveAccount',
  'forgotTitle',
  'forgotText',
  'sendCode',
  'resetText',
  'saveAndSignIn',
  'confirmTitle',
  'confirmText',
  'resend',
  'resent',
  'connecting',
  'connectingSlow',
  'outsideNote',
  'signedInOutside',
  'credentialsWrong',
  'codeWrong',
] as const satisfies WordKey[]

export function pageWords(page: PageData['page'], { wallet, topup }: Language): PageData['words'] {
  const left = new Set<string>(page === 'topup' ? [...serverWords, ...signInWords] : serverWords)
  const kept = Object.entries(wallet).filter(([key]) => !left.has(key))
  return { ...Object.fromEntries(kept), ...(page === 'topup' && topup) } as PageData['words']
}
