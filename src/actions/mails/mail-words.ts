/** The texts of mails, one file for each language in `languages/`: the same seven as those of the pages. */
import { words as ar } from './languages/ar.ts'
import { words as de } from './languages/de.ts'
import { words as en } from './languages/en.ts'
import { words as es } from './languages/es.ts'
import { words as fr } from './languages/fr.ts'
import { words as ja } from './languages/ja.ts'
import { words as pt } from './languages/pt.ts'

export type MailWords = Readonly<Record<keyof typeof en, string>>

export const mailWords: Readonly<Record<string, MailWords>> = { ar, de, en, es, fr, ja, pt }

export type MailLanguage = { readonly code: string; readonly dir: 'ltr' | 'rtl'; readonly words: MailWords }

/** The first of the given languages that there is, else English. */
export function mailLanguage(...wanted: readonly (string | null | undefined)[]): MailLanguage {
  const code = wanted.find((each) => each && Object.hasOwn(mailWords, each)) ?? 'en'
  return { code, dir: code === 'ar' ? 'rtl' : 'ltr', words: mailWords[code]! }
}

/** The first language tag, most wanted first, that there are mails in. */
export function findMailLanguage(tags: readonly string[]): string | undefined {
  const codes = tags.map((tag) => tag.toLowerCase().split('-')[0]!)
  return codes.find((code) => Object.hasOwn(mailWords, code))
}

/** Replaces each name in braces by its value. Isolating marks keep a value's writing direction from reordering the rest. */
export function say(
  { dir, words }: MailLanguage,
  key: keyof MailWords,
  values: Readonly<Record<string, string>> = {},
): string {
  return words[key].replace(/\{(\w+)\}/g, (braces, name: string) => {
    const value = values[name]
    if (value === undefined) return braces
    return dir === 'rtl' || rightToLeft.test(value) ? `\u2068${value}\u2069` : value
  })
}

const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}]/u

/**
 * A name or description that somebody else wrote, for the middle of a line of ours. It has no line ends, nothing that turns
 * the writing direction, and an end; and no mail program makes a link of a web address in it.
 */
export function foreign(text: string, maxLength = 60): string {
  const plain = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .trim()
  const letters = Array.from(plain)
  const short = letters.length > maxLength ? `${letters.slice(0, maxLength - 1).join('')}…` : plain
  return short.replace(/[.:@/](?=\S)/g, '$&\u200c')
}
