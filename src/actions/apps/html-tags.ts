/**
 * Finds tags in an untrusted page with an index that only moves forward, so the number of steps is bounded by the length of the
 * page. The page is never executed or shown.
 */

export type Tag = Readonly<Record<string, string>>

const maxTags = 50
const maxAttributes = 50
const maxNameLength = 100
const maxValueLength = 2_000

/** The attributes of the first tags of this name, except tags in comments and tags without an end. */
export function findTags(html: string, name: string): Tag[] {
  const tags: Tag[] = []
  let at = html.indexOf('<')
  while (at !== -1 && tags.length < maxTags) {
    if (html.startsWith('!--', at + 1)) at = html.indexOf('-->', at + 4)
    else if (isTag(html, at, name)) {
      const read = readAttributes(html, at + 1 + name.length)
      if (!read) return tags
      tags.push(read.tag)
      at = read.end
    } else at++
    // Each search continues where the last one ended, so no part of the page is searched twice.
    if (at !== -1) at = html.indexOf('<', at)
  }
  return tags
}

function isTag(html: string, at: number, name: string): boolean {
  const end = at + 1 + name.length
  return html.slice(at + 1, end).toLowerCase() === name && isOneOf(html, end, ' \t\r\n\f/>')
}

/** Reads from after the name to after the `>`; undefined when the page ends before. */
function readAttributes(html: string, from: number): { tag: Tag; end: number } | undefined {
  const attributes = new Map<string, string>()
  let at = from
  for (;;) {
    at = skip(html, at, ' \t\r\n\f/')
    if (at >= html.length) return undefined
    if (html[at] === '>') return { tag: Object.fromEntries(attributes), end: at + 1 }
    const keyEnd = find(html, at + 1, ' \t\r\n\f/>=')
    const key = html.slice(at, Math.min(keyEnd, at + maxNameLength)).toLowerCase()
    const value = readValue(html, keyEnd)
    if (!value) return undefined
    // The first of repeated attributes wins, as in a browser.
    if (attributes.size < maxAttributes && !attributes.has(key)) attributes.set(key, unescape(value.text))
    at = value.end
  }
}

function readValue(html: string, from: number): { text: string; end: number } | undefined {
  const equals = skip(html, from, ' \t\r\n\f')
  if (html[equals] !== '=') return { text: '', end: equals }
  const start = skip(html, equals + 1, ' \t\r\n\f')
  const quote = html[start]
  const isQuoted = quote === '"' || quote === "'"
  const first = isQuoted ? start + 1 : start
  const end = isQuoted ? html.indexOf(quote, first) : find(html, first, ' \t\r\n\f>')
  if (end === -1) return undefined
  return { text: html.slice(first, Math.min(end, first + maxValueLength)), end: isQuoted ? end + 1 : end }
}

function isOneOf(html: string, at: number, characters: string): boolean {
  return at < html.length && characters.includes(html[at]!)
}

function skip(html: string, from: number, characters: string): number {
  let at = from
  while (isOneOf(html, at, characters)) at++
  return at
}

/** The index of the next of the characters, or the end of the page. */
function find(html: string, from: number, characters: string): number {
  let at = from
  while (at < html.length && !characters.includes(html[at]!)) at++
  return at
}

function unescape(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}
