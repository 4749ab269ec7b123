/** The texts of one language, and how they are filled in. The pages' scripts bundle this file: it imports types alone. */
import type { words as account } from './en/account.ts'
import type { words as activity } from './en/activity.ts'
import type { words as ended } from './en/ended.ts'
import type { words as mail } from './en/mail.ts'
import type { words as paper } from './en/paper.ts'
import type { words as pay } from './en/pay.ts'
import type { words as pending } from './en/pending.ts'
import type { words as prove } from './en/prove.ts'
import type { words as topup } from './en/topup.ts'
import type { words as verify } from './en/verify.ts'
import type { words as wallet } from './en/wallet.ts'

type Translated<English> = Readonly<Record<keyof English, string>>

/** One property per file in a language's folder. */
export type Words = {
  readonly wallet: Translated<typeof wallet>
  readonly topup: Translated<typeof topup>
  readonly pay: Translated<typeof pay>
  readonly account: Translated<typeof account>
  readonly activity: Translated<typeof activity>
  readonly pending: Translated<typeof pending>
  readonly paper: Translated<typeof paper>
  readonly prove: Translated<typeof prove>
  readonly ended: Translated<typeof ended>
  readonly mail: Translated<typeof mail>
  readonly verify: Translated<typeof verify>
}

export type WordKey = keyof Words['wallet']
export type TopupKey = WordKey | keyof Words['topup']
export type PayKey = WordKey | keyof Words['pay']

/**
 * Replaces each name in braces with its value, isolated so that the value's writing direction does not reorder the sentence.
 * A name without a value stays in the text, so that the mistake is visible.
 */
export function fill(text: string, values: Readonly<Record<string, string>>, lang: string): string {
  return text.replace(/\{(\w+)\}/g, (braces, name: string) => {
    const value = values[name]
    return value === undefined ? braces : isolate(value, lang)
  })
}

/**
 * Fills in a count, in the plural form of the language: `one: {count} entry | other: {count} entries`. A language with one form has the
 * text alone.
 */
export function fillCount(text: string, count: number, lang: string): string {
  const category = new Intl.PluralRules(lang).select(count)
  const forms = text.split(' | ')
  const form = [category, 'other'].map((name) => forms.find((each) => each.startsWith(`${name}: `))).find(Boolean)
  return fill(form?.replace(/^\w+: /, '') ?? text, { count: new Intl.NumberFormat(lang).format(count) }, lang)
}

export function directionOf(lang: string): 'ltr' | 'rtl' {
  return /^(ar|ckb|fa|he|ks|ps|sd|ug|ur|yi)\b/.test(lang) ? 'rtl' : 'ltr'
}

/** Adds isolating marks around a name or amount whose writing direction could reorder the rest of the line. */
export function isolate(text: string, lang: string): string {
  const canReorder = directionOf(lang) === 'rtl' || /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text)
  return canReorder ? `\u2068${text}\u2069` : text
}
