/** What the pages say, in one language. Safe for the browser: it imports types alone. */
import type { words as english } from './languages/en.ts'

export type WordKey = keyof typeof english
export type Words = Readonly<Record<WordKey, string>>

/** Puts values where the text has their names in braces; a name without a value stays, so that it is seen. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (braces, name: string) => values[name] ?? braces)
}
