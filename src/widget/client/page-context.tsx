/** The page's words and app, for every part of the page. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { PageData } from '../page-data.ts'
import { fill, isolate, type WordKey } from '../words.ts'

export const PageContext = createContext<PageData | null>(null)

export type Say = (key: WordKey, values?: Readonly<Record<string, string>>) => string

export function usePage(): PageData & { say: Say } {
  const page = useContext(PageContext)!
  const { words, lang, appName } = page
  const say: Say = (key, values = {}) => {
    const named = Object.entries({ app: appName, ...values })
    return fill(words[key], Object.fromEntries(named.map(([name, value]) => [name, isolate(value, lang)])))
  }
  return { ...page, say }
}
