/** The words of each language as files that the browser caches. */
import { languages, type Language } from '../languages/languages.ts'
import { provideAsset, scriptUrls } from '../web/assets.ts'
import { laterViews } from './later-views.ts'
import type { PageData } from './page-data.ts'

type Urls = { readonly all: () => Promise<string>; readonly later: ReadonlyMap<string, () => Promise<string>> }

const urlsByCode: ReadonlyMap<string, Urls> = new Map(
  [...languages].map(([code, language]) => [code, provide(language)]),
)

function provide({ code, dir, wallet, account, activity, prove }: Language): Urls {
  const laterWords = { account, activity, prove }
  return {
    all: provideAsset(`language.${code}.json`, () => JSON.stringify({ lang: code, dir, words: wallet, laterWords })),
    later: new Map(
      laterViews.map((view) => [view, provideAsset(`${view}.${code}.json`, () => JSON.stringify(laterWords[view]))]),
    ),
  }
}

/** Per language, the address of every word the wallet page needs to switch to it. */
export async function languageFiles(): Promise<Record<string, string>> {
  const files = [...urlsByCode].map(async ([code, { all }]) => [code, await all()] as const)
  return Object.fromEntries(await Promise.all(files))
}

export async function laterFiles({ code }: Language): Promise<PageData['later']> {
  const files = laterViews.map(async (view) => {
    const script = (await scriptUrls(`${view}.js`)).at(-1)!
    return [view, { script, words: await urlsByCode.get(code)!.later.get(view)!() }] as const
  })
  return Object.fromEntries(await Promise.all(files))
}
