/** What the pages say, in one language. Safe for the browser: it imports types alone. */
import type { words as english } from './languages/en.ts'

export type WordKey = keyof typeof english
export type Words = Readonly<Record<WordKey, string>>

/** Puts values where the text has their names in braces; a name without a value stays, so that it is seen. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (braces, name: string) => values[name] ?? braces)
}

export function directionOf(lang: string): 'ltr' | 'rtl' {
  return /^(ar|fa|he|ur)\b/.test(lang) ? 'rtl' : 'ltr'
}

/** Keeps a piece of text from turning the line around it, where lines run from right to left or the piece does. */
export function isolate(text: string, lang: string): string {
  const canTurn = directionOf(lang) === 'rtl' || /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text)
  return canTurn ? `\u2068${text}\u2069` : text
}
