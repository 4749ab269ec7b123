/** Origins as an app lists them: scheme, host and port, nothing else; normalised as a browser writes them. */

export type ParsedOrigin = { readonly origin: string; readonly problem?: never } | { readonly problem: string }

export function parseOrigin(text: string, { isProduction }: { isProduction: boolean }): ParsedOrigin {
  const shown = JSON.stringify(text.slice(0, 200))
  if (text.includes('*')) return { problem: `${shown}: a wildcard would let strangers in; list each origin` }
  // These could end a header's value or start another directive in it.
  if (/[\s;,'"\\<>]|\p{Cc}/u.test(text)) return { problem: `${shown}: write scheme, host and port only` }
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    return { problem: `${shown}: write an origin such as https://shop.example` }
  const url = new URL(text)
  if (url.username || url.password) return { problem: `${shown}: an origin has no user name or password` }
  if (url.pathname !== '/' || url.search || url.hash || text.endsWith('/') || /[?#]/.test(text))
    return { problem: `${shown}: an origin has no path; write ${url.origin}` }
  if (isProduction && url.protocol !== 'https:') return { problem: `${shown}: production needs https` }
  return { origin: url.origin }
}

/** All origins, normalised and once each, or every problem. */
export function parseOrigins(texts: readonly string[], where: { isProduction: boolean }) {
  const parsed = texts.map((text) => parseOrigin(text, where))
  const problems = parsed.flatMap((result) => (result.problem === undefined ? [] : [result.problem]))
  const origins = [...new Set(parsed.flatMap((result) => (result.problem === undefined ? [result.origin] : [])))]
  return { origins, problems }
}
