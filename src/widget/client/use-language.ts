/**
 * The language of the page: the one the server chose, until the user is known to have chosen another. The server knows the user only
 * from a session in the address, which a page that was reloaded, or was given its session later, does not have.
 */
import { useRef, useState } from 'preact/hooks'
import type { PageData } from '../page-data.ts'

/** An app that names a language in the address has chosen for its users. */
export function isLanguageGiven(): boolean {
  return new URLSearchParams(location.search).has('lang')
}

type Choose = (lang: string | null) => Promise<void>

export function useLanguage(first: PageData): { page: PageData; choose: Choose } {
  const [page, setPage] = useState(first)
  const wanted = useRef(first.lang)

  /**
   * Null is that of the browser: what one person has chosen is nothing to the next. The page stays as it is when the words cannot
   * be loaded: what is there can be read, and the next visit tries again.
   */
  async function choose(chosen: string | null): Promise<void> {
    const lang = chosen ?? first.browserLang
    if (lang === wanted.current || isLanguageGiven()) return
    wanted.current = lang
    const texts = await load(lang)
    if (!texts || wanted.current !== lang) return
    document.documentElement.lang = texts.lang
    document.documentElement.dir = texts.dir
    setPage((before) => ({ ...before, ...texts }))
  }

  async function load(lang: string): Promise<Texts | undefined> {
    const url = first.languages?.[lang]
    const response = url ? await fetch(url, { credentials: 'omit' }).catch(() => undefined) : undefined
    return response?.ok ? ((await response.json()) as Texts) : undefined
  }
  return { page, choose }
}

type Texts = Pick<PageData, 'lang' | 'dir' | 'words' | 'laterWords'>
