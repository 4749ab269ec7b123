import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { negotiateLanguage } from '../web/accept-language.ts'
import { endings } from '../widget/client/endings.ts'
import { outcomes } from '../widget/client/topup/topup-outcomes.ts'
import { topupViews, walletViews } from '../widget/later-views.ts'
import { languageName } from './language-name.ts'
import { languages } from './languages.ts'
import { directionOf, fill, fillCount, type Words } from './words.ts'

const english = languages.get('en')!
const files = [
  'account',
  'activity',
  'ended',
  'mail',
  'paper',
  'pay',
  'pending',
  'prove',
  'topup',
  'verify',
  'wallet',
] as const satisfies (keyof Words)[]
const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort()

test('the list of languages is the list of folders', () => {
  const folders = readdirSync(import.meta.dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.length).toBeGreaterThanOrEqual(7)
  expect([...languages.keys()].sort()).toEqual(folders.map(({ name }) => name).sort())
})

for (const [code, language] of languages) {
  test(`${code} has the same files as English, the same texts, and the same names in braces`, () => {
    expect(readdirSync(`${import.meta.dir}/${code}`).sort()).toEqual(files.map((file) => `${file}.ts`))
    for (const file of files) {
      const texts: Readonly<Record<string, string>> = language[file]
      expect(Object.keys(texts)).toEqual(Object.keys(english[file]))
      for (const [key, text] of Object.entries(english[file])) {
        const translated = texts[key]!
        expect({ key, isEmpty: translated.trim() === '' }).toEqual({ key, isEmpty: false })
        expect({ key, names: placeholders(translated) }).toEqual({ key, names: placeholders(text) })
      }
    }
  })

  test(`${code} runs in the direction that the runtime's data gives for it`, () => {
    const locale = new Intl.Locale(code) as Intl.Locale & { getTextInfo(): { direction: 'ltr' | 'rtl' } }
    expect(directionOf(code)).toBe(locale.getTextInfo().direction)
  })

  test(`${code} has every plural form of a text with a count, and no other`, () => {
    const rules = new Intl.PluralRules(code)
    const needed = [...new Set(Array.from({ length: 200 }, (_, count) => rules.select(count)))].sort()
    const counted = files.flatMap((file) =>
      Object.entries(english[file]).flatMap(([key, text]) =>
        text.startsWith('one: ') ? [(language[file] as Readonly<Record<string, string>>)[key]!] : [],
      ),
    )
    expect(counted.length).toBeGreaterThanOrEqual(1)
    for (const text of counted) {
      const forms = text.split(' | ').map((form) => /^(\w+): /.exec(form)?.[1] ?? 'other')
      expect(forms.sort()).toEqual(needed)
      for (let count = 0; count < 200; count++) expect(fillCount(text, count, code)).not.toMatch(/[|{}]|^\w+: /)
    }
  })

  test(`${code} puts no count before a noun without plural forms`, () => {
    for (const file of files)
      for (const [key, text] of Object.entries(language[file]))
        expect([key, /\{count\} \p{L}/u.test(text) && !/^\w+: /.test(text) && code !== 'ja']).toEqual([key, false])
  })

  test(`${code} names a button as the button is labelled`, () => {
    const { wallet, account, topup, ended } = language
    expect(topup.topupExpiredText).toContain(wallet.addMoney)
    expect(account.passwordForgotten).toContain(wallet.forgot)
    expect(ended.everywhereText).toContain(account.signOutAll)
  })

  test(`${code} has a separate title and sentence for each reason why the wallet is closed`, () => {
    const { wallet, ended, topup } = language
    const closed = [
      ...Object.values(endings).map(({ title, text }) => [ended[title], ended[text]]),
      [wallet.expiredTitle, wallet.expiredText],
      [wallet.noNetworkTitle, wallet.noNetworkText],
      [wallet.failedTitle, wallet.failedText],
      [wallet.frozenTitle, wallet.frozenText],
      [wallet.debtTitle, wallet.debtText],
      [topup.topupNoneTitle, topup.topupNoneText],
    ].flat()
    expect(closed.length - new Set(closed).size).toBe(0)
  })

  test(`${code} has a separate title and sentence for each outcome of a top-up`, () => {
    const words: Readonly<Record<string, string>> = { ...language.wallet, ...language.pay }
    const texts = Object.values(outcomes).flatMap(({ title, text }) => [words[title]!, words[text]!])
    expect(texts.length - new Set(texts).size).toBe(0)
    const failed = Object.entries(language.pending).filter(([key]) => /^failed(?!Entry)/.test(key))
    expect(new Set(failed.map(([, text]) => text)).size).toBe(5)
  })

  if (code === 'en') continue
  test(`${code} is translated: hardly a text is the English one`, () => {
    const same = files.map((file) => {
      const own: Readonly<Record<string, string>> = language[file]
      return Object.entries(english[file]).filter(([key, text]) => own[key] === text).length
    })
    expect(Math.max(...same)).toBeLessThan(5)
  })
}

test('languages are listed by their own names, Latin script first', () => {
  const names = [...languages.keys()].map(languageName)
  expect(names.slice(0, 5)).toEqual(['Deutsch', 'English', 'Español', 'Français', 'Português'])
  expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b, 'en')))
})

test('no view that loads on demand has a key of the first view, nor has the top-up page', () => {
  const first = new Set(Object.keys(english.wallet))
  for (const view of [...walletViews, ...topupViews, 'topup'] as const)
    expect(Object.keys(english[view]).filter((key) => first.has(key))).toEqual([])
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
  expect(negotiateLanguage(asked, accepted).code).toBe(code)
})

test('a value is filled in as text, whatever it contains', () => {
  const filled = fill('{app} and {app}: {amount}', { app: '$& {amount}' }, 'en')
  expect(filled).toBe('$& {amount} and $& {amount}: {amount}')
})

test('a value that could reorder its sentence is isolated', () => {
  expect(fill('{app}!', { app: 'Shop' }, 'ar')).toBe('\u2068Shop\u2069!')
  expect(fill('{app}!', { app: 'متجر' }, 'en')).toBe('\u2068متجر\u2069!')
  expect(fill('{app}!', { app: 'Shop' }, 'en')).toBe('Shop!')
})

test.each([
  ['en', 0, 'Showing 0 entries.'],
  ['en', 1, 'Showing 1 entry.'],
  ['en', 1234, 'Showing 1,234 entries.'],
  ['de', 1, '1 Eintrag wird angezeigt.'],
  ['fr', 0, '0 opération affichée.'],
  ['fr', 1_000_000, '1\u202f000\u202f000 opérations affichées.'],
  ['he', 2, 'מוצגים שני רישומים.'],
  ['ar', 2, 'حركتان معروضتان.'],
  ['ja', 1, '1 件の履歴を表示しています。'],
])('in %s a count of %p reads %p', (code, count, text) => {
  expect(fillCount(languages.get(code)!.activity.shown, count, code)).toBe(text)
})
