import { expect, test } from 'bun:test'
import { chooseLanguage, languages } from './languages.ts'
import { words as english } from './languages/en.ts'
import { fill } from './words.ts'

const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort()

test('the seven languages are there', () => {
  expect([...languages.keys()].sort()).toEqual(['ar', 'de', 'en', 'es', 'fr', 'ja', 'pt'])
})

for (const [code, { words }] of languages) {
  test(`${code} says everything that English says, with the same names in braces`, () => {
    expect(Object.keys(words).sort()).toEqual(Object.keys(english).sort())
    for (const [key, text] of Object.entries(english)) {
      const translated = words[key as keyof typeof english]
      expect({ key, isSaid: translated.trim() !== '' }).toEqual({ key, isSaid: true })
      expect({ key, names: placeholders(translated) }).toEqual({ key, names: placeholders(text) })
    }
  })
}

test('most texts of a language are its own', () => {
  for (const [code, { words }] of languages) {
    const same = Object.entries(english).filter(([key, text]) => words[key as keyof typeof english] === text)
    if (code !== 'en') expect(same.length).toBeLessThan(5)
  }
})

test.each([
  ['de', 'fr', 'de'],
  ['pt-BR', undefined, 'pt'],
  [undefined, 'fr-CA,fr;q=0.9,en;q=0.8', 'fr'],
  [undefined, 'en;q=0.2, ja;q=0.9', 'ja'],
  [undefined, 'de;q=0, es;q=0.1', 'es'],
  ['xx', 'ar', 'ar'],
  ['__proto__', 'constructor', 'en'],
  [undefined, undefined, 'en'],
])('lang %p and Accept-Language %p give %p', (asked, accepted, code) => {
  expect(chooseLanguage(asked, accepted).code).toBe(code)
})

test('Arabic runs from right to left', () => {
  expect([...languages.values()].filter(({ dir }) => dir === 'rtl').map(({ code }) => code)).toEqual(['ar'])
})

test('a filled-in value is text, whatever it holds', () => {
  expect(fill('{app} and {app}: {amount}', { app: '$& {amount}' })).toBe('$& {amount} and $& {amount}: {amount}')
})
