/** Strict JSON for amounts: valid UTF-8, one object, no repeated key, no number that a double cannot represent exactly. */

export type Spoiled = { readonly field: string; readonly problem: string }

/** The object and the first of its fields that is not trustworthy, or why there is no object. */
export type Parsed =
  | { readonly value: Record<string, unknown>; readonly spoiled?: Spoiled | undefined }
  | { readonly value?: never; readonly problem: string }

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function parseStrictJson(bytes: ArrayBuffer | Uint8Array): Parsed {
  const text = decode(bytes)
  return text === undefined ? notJson : parseObject(text)
}

/** Undefined when it is not UTF-8. */
export function decode(bytes: ArrayBuffer | Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

export const notJson: Parsed = { problem: 'must be valid JSON in UTF-8' }
const notAnObject: Parsed = { problem: 'must be a JSON object' }

export function parseObject(text: string): Parsed {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return notJson
  }
  return isObject(value) ? { value, spoiled: findSpoiled(text, Object.keys(value).length) } : notAnObject
}

/**
 * The text of each of these top-level fields, without parsing the rest; undefined unless all of them are there. The text may not be
 * valid JSON, and a field may be given again behind the last of them, so `parseObject` still has to check the whole.
 */
export function peekTexts(text: string, names: readonly string[]): Extract<Parsed, { value: object }> | undefined {
  const found: Record<string, string> = {}
  let missing = names.length
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x22) {
      const end = closingQuote(text, i)
      const key = depth === 1 && isKey(text, end) ? textOf(text, i, end) : undefined
      i = end
      if (key === undefined || !names.includes(key)) continue
      if (key in found) return { value: found, spoiled: { problem: 'is given twice', field: key } }
      const start = firstAfter(text, text.indexOf(':', end))
      if (text.charCodeAt(start) !== 0x22) return undefined
      i = closingQuote(text, start)
      const value = textOf(text, start, i)
      if (value === undefined) return undefined
      found[key] = value
      if (--missing === 0) return { value: found }
    } else if (char === 0x7b || char === 0x5b) depth++
    else if ((char === 0x7d || char === 0x5d) && --depth <= 0) return undefined
  }
  return undefined
}

/** The end of the text when the string is not closed. */
function closingQuote(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1
  return at
}

function textOf(text: string, start: number, end: number): string | undefined {
  const inside = text.slice(start + 1, end)
  if (!inside.includes('\\')) return inside
  const parsed = parseObject(`{"text":"${inside}"}`)
  return typeof parsed.value?.['text'] === 'string' ? parsed.value['text'] : undefined
}

function firstAfter(text: string, at: number): number {
  let next = at + 1
  while (text.charCodeAt(next) <= 0x20) next++
  return next
}

/**
 * Checks each object in one list of a parsed object as strictly as a single object; other elements get a problem instead.
 * `text` is the text of the outer object. If it holds the list twice, the outer object itself is already spoiled.
 */
export function parseElements(text: string, list: readonly unknown[], name: string): Parsed[] {
  const texts = elementTexts(text, name)
  let next = 0
  return list.map((value) => {
    if (!isObject(value)) return notAnObject
    return { value, spoiled: findSpoiled(texts[next++]!, Object.keys(value).length) }
  })
}

/** The text of each object that is a direct element of the list with that name. */
function elementTexts(text: string, name: string): string[] {
  const found: string[] = []
  let depth = 0
  let start = 0
  let isIn = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x22) {
      const end = endOfString(text, i)
      if (depth === 1 && isKey(text, end)) isIn = unescaped(text.slice(i + 1, end)) === name
      i = end
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth === 3) start = i
    } else if (char === 0x7d || char === 0x5d) {
      if (depth-- === 3 && isIn && char === 0x7d) found.push(text.slice(start, i + 1))
    }
  }
  return found
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * JSON.parse silently keeps the last of two equal keys and rounds long numbers. This scan of text that is known to be valid
 * JSON detects both for the top-level fields. It only counts the keys; a second scan, which finds the repeated key, runs
 * only when the count is higher than that of the parsed object.
 */
function findSpoiled(text: string, fieldCount: number, seen?: Set<string>): Spoiled | undefined {
  let fields = 0
  let depth = 0
  let keyStart = 0
  let keyEnd = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x22) {
      const end = endOfString(text, i)
      if (depth === 1 && isKey(text, end)) {
        fields++
        keyStart = i + 1
        keyEnd = end
        const key = seen && unescaped(text.slice(keyStart, keyEnd))
        if (key !== undefined && seen!.has(key)) return { problem: 'is given twice', field: key }
        if (key !== undefined) seen!.add(key)
      }
      i = end
    } else if (char === 0x7b || char === 0x5b) depth++
    else if (char === 0x7d || char === 0x5d) depth--
    else if (depth === 1 && ((char >= 0x30 && char <= 0x39) || char === 0x2d)) {
      const end = endOfNumber(text, i)
      if (end - i > 15 && significantDigits(text.slice(i, end)) > 15)
        return { problem: 'has more digits than a number can hold', field: unescaped(text.slice(keyStart, keyEnd)) }
      i = end - 1
    }
  }
  // At most two scans: if the counts ever differ for another reason, no field is reported.
  return fields === fieldCount || seen ? undefined : findSpoiled(text, fieldCount, new Set())
}

function unescaped(key: string): string {
  return key.includes('\\') ? (JSON.parse(`"${key}"`) as string) : key
}

function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1)
  if (text.charCodeAt(end - 1) !== 0x5c) return end
  // After a backslash, only a scan from the start of the string shows whether this quote ends it.
  let at = start + 1
  while (text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1
  return at
}

function isKey(text: string, endOfString: number): boolean {
  let i = endOfString + 1
  while (text.charCodeAt(i) <= 0x20) i++
  return text.charCodeAt(i) === 0x3a
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1
  while (isInNumber(text.charCodeAt(end))) end++
  return end
}

function isInNumber(char: number): boolean {
  const isDigit = char >= 0x30 && char <= 0x39
  return isDigit || char === 0x2e || char === 0x2d || char === 0x2b || char === 0x45 || char === 0x65
}

function significantDigits(number: string): number {
  return number
    .replace(/[eE].*$/s, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|(?<!0)0+$/g, '').length
}
