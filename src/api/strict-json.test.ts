import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { parseElements, parseStrictJson, peekTexts } from './strict-json.ts'

const encoder = new TextEncoder()
const read = (text: string) => parseStrictJson(encoder.encode(text))

/** Finds the first spoiled field with a tokeniser: slow, and independent of the code under test. */
function spoiledIn(text: string) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\]:,]/gs)!
  const keys: string[] = []
  let depth = 0
  for (const [i, token] of tokens.entries()) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (depth === 1 && tokens[i + 1] === ':') keys.push(JSON.parse(token) as string)
    else if (depth === 1 && /^[-\d]/.test(token) && digitsOf(token) > 15)
      return { field: keys.at(-1)!, problem: 'has more digits than a number can hold' }
  }
  const twice = keys.find((key, i) => keys.indexOf(key) < i)
  return twice === undefined ? undefined : { field: twice, problem: 'is given twice' }
}

function digitsOf(number: string): number {
  let mantissa = BigInt(number.split(/[eE]/)[0]!.replace('.', ''))
  while (mantissa !== 0n && mantissa % 10n === 0n) mantissa /= 10n
  return mantissa === 0n ? 0 : String(mantissa).replace('-', '').length
}

const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n ')
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: 1, maxLength: 20 })
const number = fc
  .tuple(fc.constantFrom('', '-'), digits, fc.option(digits), fc.constantFrom('', 'e5', 'E-12', 'e+3'))
  .map(([sign, whole, part, power]) => `${sign}${BigInt(whole)}${part === null ? '' : `.${part}`}${power}`)
/** Written as JSON does, or with every character escaped. */
const string = fc
  .tuple(
    fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ':', ',', 'a', '1') })),
    fc.boolean(),
  )
  .map(([text, isEscaped]) => (isEscaped ? `"${Array.from(text, escaped).join('')}"` : JSON.stringify(text)))
const key = fc.oneof(fc.constantFrom('"amount"', '"\\u0061mount"', '"a"', '"__proto__"', '""'), string)

function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(
    '',
  )
}

const listed = (members: readonly string[], [open, close]: string) => `${open}${members.join(',')}${close}`
const { object } = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    number,
    string,
    fc.constantFrom('true', 'false', 'null'),
    tie('object'),
    tie('list'),
  ),
  object: fc
    .array(fc.tuple(space, key, space, space, tie('value'), space).map((parts) => parts.toSpliced(3, 0, ':').join('')))
    .map((members) => listed(members, '{}')),
  list: fc
    .array(fc.tuple(space, tie('value'), space).map((parts) => parts.join('')))
    .map((members) => listed(members, '[]')),
}))

test('any object is read as JSON.parse reads it, and its first spoiled field is the one that a tokeniser finds', () => {
  fc.assert(
    fc.property(object, space, space, (text, before, after) => {
      const parsed = read(before + text + after)
      expect(parsed.value).toEqual(JSON.parse(text))
      expect('spoiled' in parsed ? parsed.spoiled : 'no object').toEqual(spoiledIn(text))
    }),
    { numRuns: 2_000 },
  )
})

test('any text that is not a JSON object is refused, and nothing else is', () => {
  const damaged = fc
    .tuple(object, fc.nat(), fc.constantFrom('', '"', '\\', '{', ']', ',', '0', '\u0001'))
    .map(([text, at, char]) => text.slice(0, at % text.length) + char + text.slice((at % text.length) + 1))
  fc.assert(
    fc.property(fc.oneof(damaged, fc.json(), fc.string()), (text) => {
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch {
        value = undefined
      }
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      expect(read(text).value).toEqual(isObject ? (value as Record<string, unknown>) : undefined)
    }),
    { numRuns: 2_000 },
  )
})

describe('a number in a field of the object', () => {
  test.each([
    '123456789012345',
    '-123456789012345',
    '1234567890.12345',
    '0.000123456789012345',
    '1234567890123450',
    '123456789012345000000',
    '123456789012345e9',
  ])('the number %s has 15 digits that count, and is taken', (text) => {
    expect(read(`{"amount":${text}}`)).toEqual({ value: { amount: Number(text) }, spoiled: undefined })
  })

  test.each([
    '1234567890123456',
    '12345678901234567',
    '-1234567890123456',
    '12345678901.23456',
    '123456789012.34567',
    '0.1234567890123456',
    '1.234567890123456e3',
  ])('the number %s has more than 15 digits that count, and is not believed', (text) => {
    const problem = 'has more digits than a number can hold'
    expect(read(`{"a":1,"amount":${text}}`)).toMatchObject({ spoiled: { field: 'amount', problem } })
    expect(read(`{"amount":${text},"a":1}`)).toMatchObject({ spoiled: { field: 'amount', problem } })
  })
})

const peek = (text: string) => peekTexts(text, ['id', 'secret'])

test('fields are peeked without the rest of the text, and one that is given twice is not believed', () => {
  expect(peek('{"x":[{"id":"no"}],"id":"a","secret":"b","rest":[1,')).toEqual({ value: { id: 'a', secret: 'b' } })
  expect(peek('{"id":"a","id":"b","secret":"c"}')).toMatchObject({
    spoiled: { field: 'id', problem: 'is given twice' },
  })
  for (const text of [
    '',
    '{}',
    '{"id":"a"}',
    '{"id":5,"secret":"b"}',
    '[{"id":"a","secret":"b"}]',
    '{"id":"a","secret":',
  ])
    expect(peek(text)).toBeUndefined()
})

test('each object of a list is checked as strictly as one alone, whatever is nested in it', () => {
  const text = '{"list":[{"a":{"b":{"b":1}},"c":1},"x",{"c":1,"a":{},"c":2},{"a":[{"b":1,"b":2}]}]}'
  expect(parseElements(text, (JSON.parse(text) as { list: unknown[] }).list, 'list')).toEqual([
    { value: { a: { b: { b: 1 } }, c: 1 }, spoiled: undefined },
    { problem: 'must be a JSON object' },
    { value: { c: 2, a: {} }, spoiled: { field: 'c', problem: 'is given twice' } },
    { value: { a: [{ b: 2 }] }, spoiled: undefined },
  ])
})

test('bytes that are not UTF-8 are refused, also inside a string', () => {
  expect(parseStrictJson(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])).value).toBeUndefined()
})
