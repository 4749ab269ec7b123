/** The languages that a browser, or the script of a hosted page, asks for. */
import { chooseLanguage, type Language } from '../languages/languages.ts'

/** The language tags of an Accept-Language header, preferred first. `q=0` excludes a tag. */
export function parseAcceptLanguage(header: string | null | undefined): string[] {
  return (header ?? '')
    .slice(0, 500)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().split(';')
      const q = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean)
      return { tag, weight: q === undefined ? 1 : Number(q) || 0 }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)
}

/** The language of the address's `lang`, else the browser's preferred one, else English. */
export function negotiateLanguage(asked: string | undefined, acceptLanguage: string | undefined): Language {
  return chooseLanguage(asked, ...parseAcceptLanguage(acceptLanguage))
}
