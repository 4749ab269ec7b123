/**
 * The language of the page: the server's choice until the user's own choice is known. The server knows the user only from a
 * session in the address, which is missing after a reload and when the session is posted later.
 */
import { useRef, useState } from 'preact/hooks'
import type { PageData } from '../page-data.ts'

/** A language in the address is the app's choice and overrides the user's. */
export function isLanguageGiven(): boolean {
  return new URLSearchParams(location.search).has('lang')
}

type Choose = (lang: string | null) => Promise<void>

export function useLanguage(first: PageData): { page: PageData; choose: Choose } {
  const [page, setPage] = useState(first)
  const wanted = useRef(first.lang)

  /**
   * Null means the browser's language, so that one user's choice does not apply to the next. If the texts cannot be loaded, the page
   * keeps its language, and the next visit tries again.
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
