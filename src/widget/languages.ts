/** The languages there are: one file each in `languages/`, and in the folder of each later view. Adding one is adding a file. */
import { readdirSync } from 'node:fs'
import type { words as paperWords } from './languages/paper/en.ts'
import { provideAsset } from '../web/assets.ts'
import { laterViews, type LaterView, type LaterWords } from './later-views.ts'
import { parseAcceptLanguage } from '../web/accept-language.ts'
import { directionOf, type Words } from './words.ts'

export type Language = {
  readonly code: string
  readonly dir: 'ltr' | 'rtl'
  readonly words: Words
  readonly later: LaterWords
  /** The address of everything the page needs to change to this language. */
  readonly url: () => Promise<string>
  /** Of receipts and statements, which are made on the server. */
  readonly paper: Readonly<Record<keyof typeof paperWords, string>>
  /** The address of a later view's words: a file that the browser keeps. */
  readonly laterUrl: (view: LaterView) => Promise<string>
}

const codes = readdirSync(new URL('./languages/', import.meta.url))
  .filter((file) => /^[a-z]{2,3}\.ts$/.test(file))
  .map((file) => file.replace('.ts', ''))

const all = await Promise.all(
  codes.map(async (code) => {
    const { words } = (await import(`./languages/${code}.ts`)) as { words: Words }
    const later = await readLater(code)
    const { words: paper } = (await import(`./languages/paper/${code}.ts`)) as { words: Language['paper'] }
    const urls = new Map(
      laterViews.map((view) => [view, provideAsset(`${view}.${code}.json`, () => JSON.stringify(later[view]))]),
    )
    const laterUrl = (view: LaterView) => urls.get(view)!()
    const dir = directionOf(code)
    const url = provideAsset(`language.${code}.json`, () =>
      JSON.stringify({ lang: code, dir, words, laterWords: later }),
    )
    return { code, dir, words, later, paper, url, laterUrl } satisfies Language
  }),
)

async function readLater(code: string): Promise<LaterWords> {
  const read = async (view: LaterView) => {
    const { words } = (await import(`./languages/${view}/${code}.ts`)) as { words: LaterWords[LaterView] }
    return [view, words] as const
  }
  return Object.fromEntries(await Promise.all(laterViews.map(read))) as LaterWords
}

export const languages: ReadonlyMap<string, Language> = new Map(all.map((language) => [language.code, language]))

/** The language of the address's `lang`, else the one the browser prefers, else English. */
export function chooseLanguage(asked: string | undefined, acceptLanguage: string | undefined): Language {
  const wanted = [asked ?? '', ...parseAcceptLanguage(acceptLanguage ?? '')]
  const found = wanted.map((tag) => languages.get(tag.toLowerCase().split('-')[0]!)).find(Boolean)
  return found ?? languages.get('en')!
}
