/** The words of each language as files that the browser caches. */
import { languages, type Language } from '../languages/languages.ts'
import { provideAsset, scriptUrls, styleUrl, type StyleName } from '../web/assets.ts'
import { topupViews, walletViews, type LaterView } from './later-views.ts'
import type { PageData } from './page-data.ts'

type Urls = { readonly all: () => Promise<string>; readonly later: Readonly<Record<LaterView, () => Promise<string>>> }

const urlsByCode: ReadonlyMap<string, Urls> = new Map(
  [...languages].map(([code, language]) => [code, provide(language)]),
)

function provide({ code, dir, wallet, account, activity, pending, prove, ended, pay }: Language): Urls {
  const laterWords = { account, activity, pending, prove, ended }
  const file = (view: LaterView, words: object) => provideAsset(`${view}.${code}.json`, () => JSON.stringify(words))
  return {
    all: provideAsset(`language.${code}.json`, () => JSON.stringify({ lang: code, dir, words: wallet, laterWords })),
    later: {
      account: file('account', account),
      activity: file('activity', activity),
      pending: file('pending', pending),
      prove: file('prove', prove),
      ended: file('ended', ended),
      pay: file('pay', pay),
    },
  }
}

/** Per language, the address of every word the wallet page needs to switch to it. */
export async function languageFiles(): Promise<Record<string, string>> {
  const files = [...urlsByCode].map(async ([code, { all }]) => [code, await all()] as const)
  return Object.fromEntries(await Promise.all(files))
}

const viewsOf = { wallet: walletViews, topup: topupViews }
const ownStyles: Partial<Record<LaterView, StyleName>> = {
  activity: 'activity.css',
  pending: 'pending.css',
  pay: 'pay.css',
}

export async function laterFiles(page: PageData['page'], { code }: Language): Promise<PageData['later']> {
  const files = viewsOf[page].map(async (view) => {
    const script = (await scriptUrls(`${view}.js`)).at(-1)!
    const style = await styleUrl(ownStyles[view] ?? 'later-views.css')
    return [view, { script, style, words: await urlsByCode.get(code)!.later[view]() }] as const
  })
  return Object.fromEntries(await Promise.all(files))
}
