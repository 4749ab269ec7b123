/** Removes secrets from a text, in any encoding that a URL, a form or JSON may use. */
export type Redact = (text: string) => string

export function redactorOf(hidden: readonly string[]): Redact {
  const patterns = hidden.filter((value) => value !== '').map((value) => new RegExp(patternOf(value), 'giu'))
  return (text) => patterns.reduce((rest, pattern) => rest.replace(pattern, '[redacted]'), text)
}

/** Matches character by character, because an echo may encode some characters and leave others. */
function patternOf(value: string): string {
  return Array.from(value, (character) => `(?:${spellingsOf(character).join('|')})`).join('')
}

function spellingsOf(character: string): string[] {
  const bytes = [...new TextEncoder().encode(character)]
  // %25 is an encoded percent sign: each proxy on the way may have encoded the text once more.
  const percent = bytes.map((byte) => `%(?:25)*${hex(byte, 2)}`).join('')
  const json = Array.from({ length: character.length }, (_, at) => `\\\\u${hex(character.charCodeAt(at), 4)}`).join('')
  const literal = `\\\\?\\u{${hex(character.codePointAt(0) ?? 0, 1)}}`
  return character === ' ' ? [literal, percent, json, '\\+', '%(?:25)*2b'] : [literal, percent, json]
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
