import { expect, test } from 'bun:test'
import { chooseLanguage, languages, type Language } from './languages.ts'
import { laterViews } from './later-views.ts'
import { fill } from './words.ts'

const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort()

test('the seven languages are there', () => {
  expect([...languages.keys()].sort()).toEqual(['ar', 'de', 'en', 'es', 'fr', 'ja', 'pt'])
})

type Texts = Readonly<Record<string, string>>

/** The texts of the first view and of each later one. */
const groupsOf = ({ words, later, paper }: Pick<Language, 'words' | 'later' | 'paper'>): Record<string, Texts> => ({
  first: words,
  ...later,
  paper,
})
const english = groupsOf(languages.get('en')!)

for (const [code, language] of languages) {
  test(`${code} says everything that English says, with the same names in braces`, () => {
    for (const [group, texts] of Object.entries(groupsOf(language))) {
      expect(Object.keys(texts).sort()).toEqual(Object.keys(english[group]!).sort())
      for (const [key, text] of Object.entries(english[group]!)) {
        const translated = texts[key]!
        expect({ key, isSaid: translated.trim() !== '' }).toEqual({ key, isSaid: true })
        expect({ key, names: placeholders(translated) }).toEqual({ key, names: placeholders(text) })
      }
    }
  })
}

test('a later view says nothing by a word of the first', () => {
  const first = new Set(Object.keys(english['first']!))
  for (const view of laterViews) expect(Object.keys(english[view]!).filter((key) => first.has(key))).toEqual([])
})

test('most texts of a language are its own', () => {
  for (const [code, language] of languages) {
    const texts = Object.entries(groupsOf(language)).flatMap(([group, own]) =>
      Object.entries(own).filter(([key, text]) => english[group]![key] === text),
    )
    if (code !== 'en') expect(texts.length).toBeLessThan(5)
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
