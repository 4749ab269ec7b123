/** The page's words and app, for every part of the page. */
import { createContext, type ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import type { PageData } from '../page-data.ts'
import type { LaterView, LaterWords } from '../later-views.ts'
import { fill, type WordKey, type Words } from '../../languages/words.ts'

export const PageContext = createContext<PageData | null>(null)

export type Say<Key extends string = WordKey> = (key: Key, values?: Readonly<Record<string, string>>) => string

/** A view that is loaded later names itself, for it has words of its own. */
export function usePage<View extends LaterView = never>() {
  const page = useContext(PageContext)!
  const { lang, appName, service } = page
  const words = page.words as Words['wallet'] & LaterWords[View]
  const say: Say<keyof typeof words & string> = (key, values = {}) =>
    fill(words[key], { app: appName, service: service.name, ...values }, lang)
  return { ...page, say }
}

/** What the page was opened for is the first person's business; another one, in the same frame, is not short of anything. */
export function pageFor(page: PageData, person: number): PageData {
  return person === 0 ? page : { ...page, topup: { ...page.topup, need: null, reason: null } }
}

type PhraseProps = { word: WordKey; values?: Readonly<Record<string, string>> }

/** The same, with what is filled in set off from the sentence: a name that somebody else chose is never read as our own words. */
export function Phrase({ word, values = {} }: PhraseProps): ComponentChildren {
  const { words, appName, service } = usePage()
  const named: Readonly<Record<string, string>> = { app: appName, service: service.name, ...values }
  // Every second part is a name that stood in braces.
  const parts = words[word].split(/\{(\w+)\}/)
  return parts.map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <strong key={at}>
        <bdi>{named[part]}</bdi>
      </strong>
    ),
  )
}
