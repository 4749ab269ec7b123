import { expect, test } from 'bun:test'
import { never, terms } from './glossary.ts'
import { languages, type Language } from './languages.ts'

/** Every text of a language by its file and key, without the names in braces. */
function textsOf({ code: _code, dir: _dir, ...files }: Language): Map<string, string> {
  const texts = Object.entries(files).flatMap(([file, words]) =>
    Object.entries(words).map(([key, text]) => [`${file}.${key}`, text] as const),
  )
  return new Map(texts)
}

const plain = (text: string) => text.replace(/\{\w+\}/g, '')
const english = textsOf(languages.get('en')!)

test('every term is used in English and has a word in every other language', () => {
  const others = [...languages.keys()].filter((code) => code !== 'en').sort()
  for (const [term, { english: pattern, words }] of Object.entries(terms)) {
    expect([term, [...english.values()].some((text) => pattern.test(plain(text)))]).toEqual([term, true])
    expect([term, Object.keys(words).sort()]).toEqual([term, others])
  }
  expect(Object.keys(terms).length).toBeGreaterThanOrEqual(25)
  expect(Object.keys(never).sort()).toEqual([...languages.keys()].sort())
})

for (const [code, language] of languages) {
  test(`${code} has one word for each term, in every text and mail`, () => {
    const texts = textsOf(language)
    const wrong = Object.entries(terms).flatMap(([term, { english: pattern, words }]) =>
      [...english]
        .filter(([key, text]) => code !== 'en' && pattern.test(plain(text)) && !words[code]!.test(texts.get(key)!))
        .map(([key]) => `${term}: ${key}: ${texts.get(key)}`),
    )
    expect(wrong).toEqual([])
  })

  test(`${code} uses no second word for a term`, () => {
    const wrong = [...textsOf(language)].filter(([, text]) =>
      never[code]!.some((pattern) => pattern.test(text.replace('{email}', ''))),
    )
    expect(wrong).toEqual([])
  })
}
