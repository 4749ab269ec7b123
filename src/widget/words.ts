/** The texts of the hosted pages, in one language. The pages' scripts bundle this file: it imports types alone. */
import type { words as english } from './languages/en.ts'

export type WordKey = keyof typeof english
export type Words = Readonly<Record<WordKey, string>>

/** Replaces each name in braces by its value; a name without a value stays in the text, so that the mistake is seen. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (braces, name: string) => values[name] ?? braces)
}

/** The same, with marks around each value that keep its writing direction from reordering the sentence. */
export function fillIsolated(text: string, values: Readonly<Record<string, string>>, lang: string): string {
  const isolated = Object.entries(values).map(([name, value]) => [name, isolate(value, lang)])
  return fill(text, Object.fromEntries(isolated) as Record<string, string>)
}

export function directionOf(lang: string): 'ltr' | 'rtl' {
  return /^(ar|fa|he|ur)\b/.test(lang) ? 'rtl' : 'ltr'
}

/** Puts isolating marks around a name or amount whose writing direction could reorder the rest of the line. */
export function isolate(text: string, lang: string): string {
  const canTurn = directionOf(lang) === 'rtl' || /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text)
  return canTurn ? `\u2068${text}\u2069` : text
}
