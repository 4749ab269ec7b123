/** The page's texts, app and settings, for every component. */
import { createContext, type ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import type { PageData } from '../page-data.ts'
import type { LaterView } from '../later-views.ts'
import { fill, type TopupKey, type WordKey, type Words } from '../../languages/words.ts'

export const PageContext = createContext<PageData | null>(null)

export type Say<Key extends string = WordKey> = (key: Key, values?: Readonly<Record<string, string>>) => string

type WordsOf<View extends keyof Words> = Words['wallet'] & ([View] extends [never] ? unknown : Words[View])

/** The top-up page, or a view that is loaded later, names itself to get its own texts too. */
export function usePage<View extends LaterView | 'topup' = never>() {
  const page = useContext(PageContext)!
  const { lang, appName, service } = page
  const words = page.words as WordsOf<View>
  const say: Say<keyof typeof words & string> = (key, values = {}) =>
    fill(words[key], { app: appName, service: service.name, ...values }, lang)
  return { ...page, words, say }
}

/** Drops the requested amount and reason for a second user in the same frame: the page was opened for the first one. */
export function pageFor(page: PageData, person: number): PageData {
  return person === 0 ? page : { ...page, topup: { ...page.topup, need: null, reason: null } }
}

type PhraseProps = { word: TopupKey; values?: Readonly<Record<string, string>> }

/** Like `say`, but marks the inserted values, so that a name chosen by a third party cannot pass for text of the service. */
export function Phrase({ word, values = {} }: PhraseProps): ComponentChildren {
  const { words, appName, service } = usePage<'topup'>()
  const named: Readonly<Record<string, string>> = { app: appName, service: service.name, ...values }
  // Every second part is the name of a placeholder.
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
