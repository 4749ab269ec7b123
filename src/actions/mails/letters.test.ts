import { describe, expect, test } from 'bun:test'
import { words as english } from '../../languages/en/mail.ts'
import { languages } from '../../languages/languages.ts'
import { contrastOf } from '../apps/contrast.ts'
import {
  notifications,
  reader,
  sampleConfig,
  sampleLetters,
  sampleOperatorLetters,
  stopUrl,
} from '../../../test/mail-samples.ts'
import { colors, writeMail } from './letter.ts'
import { safeText, maskEmail, writeNotification } from './write-letters.ts'

const { about } = sampleConfig

/** What a reader of the HTML sees, without its tags. */
function seenIn(html: string): string {
  return html
    .replace(/<head>.*?<\/head>|<!--.*?-->|<div style="display:none.*?<\/div>/gs, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#(\d+);/g, (_, number: string) => String.fromCodePoint(Number(number)))
    .replace(/&nbsp;|\s+/g, ' ')
}

describe.each([...languages.keys()])('%s', (lang) => {
  const language = languages.get(lang)!
  const words = language.mail

  test.each(Object.entries(sampleLetters(lang)))(
    '%s has the same content in both parts, and no placeholder is left',
    (_, letter) => {
      const { subject, text, html } = writeMail(letter, { language, about, hasLogo: false })
      const seen = seenIn(html)
      const said = [letter.title, letter.code ?? '', letter.why].concat(
        letter.lines,
        letter.after ?? [],
        (letter.details ?? []).flat(),
      )
      for (const each of said) {
        expect(text).toContain(each)
        expect(seen).toContain(each.replace(/\s+/g, ' '))
      }
      for (const address of ['https://harbour.example/help', ...(letter.stopUrl ? [stopUrl] : [])]) {
        expect(text).toContain(address)
        expect(html).toContain(`href="${address}"`)
      }
      if (letter.link) {
        expect(text).toContain(`${letter.link.text}:\n${letter.link.url}`)
        expect(html).toContain(`href="${letter.link.url}"`)
      }
      expect(`${subject}${text}${seen}`).not.toMatch(/\{\w+\}|undefined|: null|NaN/)
      expect(subject).not.toMatch(/[\r\n]/)
      expect(html).toContain(`<html lang="${lang}" dir="${language.dir}">`)
      expect(html).toContain(`text-align:${language.dir === 'rtl' ? 'right' : 'left'}`)
      expect(html).not.toMatch(/<script|<link|<iframe|@import|@font-face|src="(?!cid:)|url\(/)
    },
  )

  test('a mail about a deleted account does not say that there is a wallet', () => {
    const { welcome, deleted, 'deleted-for': deletedFor } = sampleLetters(lang)
    for (const { why } of [deleted!, deletedFor!]) {
      expect(why).not.toBe(welcome!.why)
      expect(why).toContain('Harbour Pay')
    }
  })

  test('a button or page of the wallet is named by its label there', () => {
    const { wallet: shown, account } = language
    for (const key of ['welcomeNext', 'declinedNext'] as const) expect(words[key]).toContain(shown.addMoney)
    for (const key of ['takenNext', 'noPasswordNext', 'passwordElse', 'signInElse'] as const)
      expect(words[key]).toContain(shown.forgot)
    for (const key of ['firstElse', 'stopBack', 'stopBadText'] as const) expect(words[key]).toContain(shown.account)
    expect(words.firstElse).toContain(account.apps)
    expect(words.debtNext).toContain(shown.repay)
  })

  test('the mail about a card payment that repays a debt says so, and only the rest is in the wallet', () => {
    const letters = sampleLetters(lang)
    const { pay, mail } = languages.get(lang)!
    const titles = [pay.repaidTitle, pay.repaidPartTitle, pay.repaidMoreTitle]
    expect(['repaid', 'repaid-part', 'repaid-more'].map((name) => letters[name]!.title)).toEqual(titles)
    const plain = (name: string) => JSON.stringify(letters[name]).replace(/[\u2068\u2069]/g, '')
    const money = (amount: number) =>
      new Intl.NumberFormat(lang, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' }).format(
        amount,
      )
    const inWallet = mail.topupTitle.replace('{amount}', money(50))
    for (const name of ['repaid', 'repaid-part', 'repaid-more']) expect(plain(name)).not.toContain(inWallet)
    expect(plain('topup')).toContain(inWallet)
    // 50 into a wallet at −20.
    expect(plain('repaid-more')).toContain(JSON.stringify(money(20)).slice(1, -1))
    expect(plain('repaid-more')).toContain(JSON.stringify(money(30)).slice(1, -1))
  })

  test('a receipt has the amount, the balance and the receipt code in the number format of the language', () => {
    const values = sampleLetters(lang)['topup']!.details!.map(([, value]) => value.replace(/[\u2068\u2069]/g, ''))
    const money = (amount: number) =>
      new Intl.NumberFormat(lang, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' }).format(
        amount,
      )
    expect(values).toEqual(expect.arrayContaining([money(50), money(1234.56), 'K7Q2-9F4M-X0TB']))
  })
})

test('names of operators stay text in mails to operators, on one line, without direction marks', () => {
  const nasty = `<img src=x>\r\nBcc: all@evil.example\u202Egnp.exe www.evil.example ${'x'.repeat(5_000)}`
  for (const letter of Object.values(sampleOperatorLetters(nasty, nasty))) {
    const { subject, text, html } = writeMail(letter, { language: languages.get('en')!, about, hasLogo: false })
    expect(html).not.toContain('<img')
    expect(subject + text + html).not.toMatch(/[\r\u202e]|evil\.example/)
    expect(text.length).toBeLessThan(2_000)
  }
})

test('text of other people stays text in every part, on one line, without direction marks', () => {
  const nasty = `<img src=x onerror=alert(1)>"'\r\nBcc: all@evil.example\u202Egnp.exe\u2066 www.evil.example ${'x'.repeat(5_000)}`
  const who = { firstName: nasty, nameOf: () => nasty }
  const first = { ...notifications['first-payment']!, description: nasty }
  for (const language of languages.values()) {
    for (const notification of [notifications['welcome']!, first as typeof first & { kind: 'first-payment' }]) {
      const letter = writeNotification({ language, config: sampleConfig }, notification, who)
      const { subject, text, html } = writeMail(letter, { language, about, hasLogo: false })
      expect(html).not.toContain('<img')
      expect(subject + text + html).not.toMatch(/[\r\u202e\u2066]|evil\.example/)
      expect(subject).not.toContain('\n')
      expect(text).not.toMatch(/^Bcc/m)
      for (const line of [subject, letter.title]) expect(line.length).toBeLessThan(150)
    }
  }
  expect(safeText('\u{1f600}'.repeat(100))).toBe(`${'\u{1f600}'.repeat(59)}…`)
})

test('in Arabic every name and amount keeps its own direction', () => {
  const letter = sampleLetters('ar')['first-payment']!
  expect(letter.title).toContain('\u2068Small Hours\u2069')
  expect(sampleLetters('en', { ...reader, nameOf: () => 'متجر' })['first-payment']!.title).toContain('\u2068متجر\u2069')
  expect(sampleLetters('en')['first-payment']!.title).toBe('First payment to Small Hours')
})

test('a mail to the old address masks the new one', () => {
  expect(maskEmail('ada.lovelace@example.org').replaceAll('\u200c', '')).toBe('a•••@example.org')
})

test.each(['debt', 'debt-on-hold'])('a mail about a %s says how much is owed, and how to repay it', (name) => {
  const { lines, details, after } = sampleLetters('en')[name]!
  expect(lines).toContain(english.debtText)
  expect(details).toContainEqual(['You owe', '$20.00'])
  expect(after).toContain(english.debtNext.replace('{amount}', '$20.00'))
  expect(sampleLetters('en')['dispute']!.after).toEqual([english.disputeNext])
})

test('every text has enough contrast on every background, in both themes', () => {
  const grounds = {
    ground: ['ink', 'muted'],
    card: ['ink'],
    soft: ['ink', 'muted', 'accent'],
    alert: ['ink', 'muted', 'warn'],
  } as const
  for (const [ground, texts] of Object.entries(grounds))
    for (const text of texts)
      for (const theme of [1, 2] as const) {
        const contrast = contrastOf(colors[text][theme], colors[ground as keyof typeof grounds][theme])
        expect({ ground, text, theme, isLegible: contrast >= 4.5 }).toEqual({ ground, text, theme, isLegible: true })
      }
})
