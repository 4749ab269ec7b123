/** The languages of the hosted pages and of mails. Each is a folder here; adding a folder adds a language. */
import { readdirSync } from 'node:fs'
import { languageName } from './language-name.ts'
import { directionOf, type Words } from './words.ts'

export type Language = Words & { readonly code: string; readonly dir: 'ltr' | 'rtl' }

const files = [
  'wallet',
  'topup',
  'pay',
  'account',
  'activity',
  'pending',
  'prove',
  'ended',
  'paper',
  'mail',
  'verify',
] as const satisfies (keyof Words)[]

async function readLanguage(code: string): Promise<Language> {
  const read = async (file: keyof Words) => {
    const { words } = (await import(`./${code}/${file}.ts`)) as { words: Words[keyof Words] }
    return [file, words] as const
  }
  const words = Object.fromEntries(await Promise.all(files.map(read))) as Words
  return { ...words, code, dir: directionOf(code) }
}

/** Sorted by the native name of each language; the account view lists them in this order. */
const codes = readdirSync(new URL('.', import.meta.url), { withFileTypes: true })
  .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  .sort((a, b) => languageName(a).localeCompare(languageName(b), 'en'))

const all = await Promise.all(codes.map(readLanguage))

export const languages: ReadonlyMap<string, Language> = new Map(all.map((language) => [language.code, language]))

type Tag = string | null | undefined

/** The first of these language tags that the service has, with or without a region. */
export function findLanguage(...tags: readonly Tag[]): Language | undefined {
  return tags.map((tag) => languages.get(tag?.toLowerCase().split('-')[0] ?? '')).find(Boolean)
}

/** The same, else English. */
export function chooseLanguage(...tags: readonly Tag[]): Language {
  return findLanguage(...tags) ?? languages.get('en')!
}
