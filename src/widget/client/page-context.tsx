/** The page's words and app, for every part of the page. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { PageData } from '../page-data.ts'
import type { LaterView, LaterWords } from '../later-views.ts'
import { fill, isolate, type WordKey, type Words } from '../words.ts'

export const PageContext = createContext<PageData | null>(null)

export type Say<Key extends string = WordKey> = (key: Key, values?: Readonly<Record<string, string>>) => string

/** A view that is loaded later names itself, for it has words of its own. */
export function usePage<View extends LaterView = never>() {
  const page = useContext(PageContext)!
  const { lang, appName } = page
  const words = page.words as Words & LaterWords[View]
  const say: Say<keyof typeof words & string> = (key, values = {}) => {
    const named = Object.entries({ app: appName, ...values })
    return fill(words[key], Object.fromEntries(named.map(([name, value]) => [name, isolate(value, lang)])))
  }
  return { ...page, say }
}
