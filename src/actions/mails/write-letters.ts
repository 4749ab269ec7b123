/** What the service writes to people. Who has not proved that a mailbox is theirs is told nothing that a stranger wrote. */
import type { Config } from '../../config.ts'
import type { Language } from '../../languages/languages.ts'
import { fill, isolate, type Words } from '../../languages/words.ts'
import { majorNumber } from '../../ledger/money.ts'
import type { Letter } from './letter.ts'

/* Codes, and what is written instead of one. They are asked for, and nobody keeps them. */

export type CodeMail =
  | { readonly kind: 'confirm' | 'reset'; readonly appName: string; readonly code: string }
  | { readonly kind: 'taken' | 'unconfirmed'; readonly appName: string }
  /** To the address that is to be left, and to the new one. */
  | { readonly kind: 'change-old'; readonly code: string; readonly newEmail: string }
  | { readonly kind: 'change-new'; readonly code: string }

export type Writer = {
  readonly language: Language
  readonly config: Pick<Config, 'about' | 'currency'>
}

export function writeCodeLetter({ language, config }: Writer, mail: CodeMail): Letter {
  const text = (key: keyof Words['mail'], values: Record<string, string> = {}) =>
    fill(language.mail[key], values, language.code)
  const service = { service: config.about.name }
  const app = 'appName' in mail ? { app: foreign(mail.appName) } : {}
  const why = text(mail.kind === 'change-old' ? 'why' : 'whyStranger', service)
  const code = 'code' in mail ? { code: mail.code } : {}
  const plain = (title: keyof Words['mail'], ...lines: string[]): Letter => ({
    subject: text(title),
    title: text(title),
    lines,
    why,
  })
  switch (mail.kind) {
    case 'confirm':
      return {
        ...plain('confirmTitle', `${text('confirmText', app)} ${text('codeLife')}`),
        ...code,
        subject: text('confirmSubject', code),
        after: [text('confirmElse')],
      }
    case 'reset':
      return {
        ...plain('resetTitle', `${text('resetText', app)} ${text('codeLife')}`),
        ...code,
        subject: text('resetSubject', code),
        after: [text('resetElse')],
      }
    case 'change-old':
      return {
        ...plain('changeTitle', `${text('changeOldText', { email: maskEmail(mail.newEmail) })} ${text('codeLife')}`),
        ...code,
        subject: text('changeSubject', code),
        after: [text('changeOldElse')],
      }
    case 'change-new':
      return {
        ...plain('changeTitle', `${text('changeNewText')} ${text('codeLife')}`),
        ...code,
        subject: text('changeSubject', code),
        after: [text('changeNewElse')],
      }
    case 'taken':
      return plain('takenTitle', text('takenText', app), text('takenNext'), text('takenElse'))
    case 'unconfirmed':
      break
  }
  return plain('unconfirmedTitle', text('unconfirmedText', app), text('unconfirmedNext'), text('confirmElse'))
}

/* What happened to somebody's wallet or account. */

type Moved = {
  readonly amountMinor: string
  readonly balanceMinor: string
  /** The code by which support finds the transaction. */
  readonly receipt: string
  readonly at: string
}

/** As it is kept until it is sent: ids, amounts in minor units and moments, and no name that may change until then. */
export type Notification =
  | { readonly kind: 'welcome'; readonly clientId: string }
  | { readonly kind: 'no-password' }
  | ({ readonly kind: 'topup' | 'refund' | 'dispute' | 'returned' } & Moved)
  | { readonly kind: 'declined'; readonly amountMinor: string }
  | ({
      readonly kind: 'first-payment'
      readonly clientId: string
      readonly description: string | null
      readonly connectedAt: string
    } & Omit<Moved, 'balanceMinor'>)
  | { readonly kind: 'password-changed'; readonly at: string; readonly browser: string | null }
  /** To the address that was left. */
  | { readonly kind: 'email-changed'; readonly at: string; readonly newEmail: string }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'sign-in'; readonly at: string; readonly browser: string | null }

export type Reader = { readonly firstName: string; readonly nameOf: (clientId: string) => string }

export function writeNotification({ language, config }: Writer, fact: Notification, reader: Reader): Letter {
  const { about, currency } = config
  const text = (key: keyof Words['mail'], values: Record<string, string> = {}) =>
    fill(language.mail[key], values, language.code)
  const service = { service: about.name }
  const money = (minor: string | bigint) => moneyText(BigInt(minor), currency, language.code)
  const when = (at: string) => [text('when'), timeText(at, language.code)] as const
  const by = (browser: string | null) => (browser ? [[text('browser'), browserText(browser)] as const] : [])
  const letter = (title: keyof Words['mail'], values: Record<string, string>, ...lines: string[]): Letter => ({
    subject: text(title, values),
    title: text(title, values),
    lines: [text('hello', { name: foreign(reader.firstName, 40) }), ...lines],
    why: text('why', service),
  })
  switch (fact.kind) {
    case 'welcome': {
      const app = { app: foreign(reader.nameOf(fact.clientId)) }
      return {
        ...letter('welcomeTitle', service, text('welcomeText', app)),
        after: [text('welcomeNext'), text('welcomeElse')],
      }
    }
    case 'no-password':
      // Without the name: of several who signed up, it may be the stranger's.
      return {
        ...letter('noPasswordTitle', {}),
        lines: [text('noPasswordText')],
        after: [text('noPasswordNext')],
      }
    case 'topup':
    case 'refund':
    case 'dispute':
    case 'returned': {
      const amount = { amount: money(fact.amountMinor) }
      const balanceMinor = BigInt(fact.balanceMinor)
      const isOwing = balanceMinor < 0n && (fact.kind === 'refund' || fact.kind === 'dispute')
      const disputed = fact.kind === 'dispute' ? [text('disputeNext')] : []
      return {
        ...letter(`${fact.kind}Title`, amount, text(`${fact.kind}Text`), ...(isOwing ? [text('debtText')] : [])),
        facts: [
          // What is owed comes first: it is what there is to do.
          ...(isOwing ? [[text('owed'), money(-balanceMinor)] as const] : []),
          [text('amount'), amount.amount],
          ...(isOwing ? [] : [[text('balance'), money(balanceMinor)] as const]),
          when(fact.at),
          [text('receipt'), fact.receipt],
        ],
        after: [...(isOwing ? [text('debtNext', { amount: money(-balanceMinor) })] : []), ...disputed],
        isUrgent: isOwing || fact.kind === 'dispute',
      }
    }
    case 'declined':
      return {
        ...letter('declinedTitle', {}, text('declinedText', { amount: money(fact.amountMinor) })),
        after: [text('declinedNext')],
      }
    case 'first-payment': {
      const app = { app: foreign(reader.nameOf(fact.clientId)) }
      const date = dateText(fact.connectedAt, language.code)
      return {
        ...letter('firstTitle', app, text('firstText', { ...app, date })),
        facts: [
          [text('amount'), money(fact.amountMinor)],
          [text('app'), app.app],
          ...(fact.description ? [[text('forWhat'), foreign(fact.description, 120)] as const] : []),
          when(fact.at),
          [text('receipt'), fact.receipt],
        ],
        after: [text('firstNext', app), text('firstElse')],
      }
    }
    case 'password-changed':
      return {
        ...letter('passwordTitle', {}, text('passwordText')),
        facts: [when(fact.at), ...by(fact.browser)],
        after: [text('passwordElse')],
      }
    case 'email-changed': {
      const support = [about.supportUrl, about.supportEmail].find(Boolean)
      return {
        ...letter('emailTitle', {}, text('emailText', { email: maskEmail(fact.newEmail) })),
        facts: [when(fact.at)],
        after: [`${text('emailElse')}${support ? ` ${support}` : ''}`],
      }
    }
    case 'deleted':
      return { ...letter('deletedTitle', {}, text('deletedText')), after: [text('deletedNext')] }
    case 'sign-in':
      break
  }
  return {
    ...letter('signInTitle', {}, text('signInText')),
    facts: [when(fact.at), ...by(fact.browser)],
    after: [text('signInElse')],
  }
}

/** Enough for its owner to know it again: whoever reads the old mailbox need not learn the new address. */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  const [first = ''] = email
  return foreign(`${first}•••${email.slice(at)}`, 80)
}

/**
 * A name or description that somebody else wrote, for the middle of a line of ours. It has no line ends, nothing that turns
 * the writing direction, and an end; and no mail program makes a link of a web address in it.
 */
export function foreign(text: string, maxLength = 60): string {
  const plain = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .trim()
  const letters = Array.from(plain)
  const short = letters.length > maxLength ? `${letters.slice(0, maxLength - 1).join('')}…` : plain
  return short.replace(/[.:@/](?=\S)/g, '$&\u200c')
}

/** `Firefox/Linux`, of which either may be unknown. */
function browserText(browser: string): string {
  return browser
    .split('/')
    .filter((part) => part !== '')
    .map((part) => foreign(part))
    .join(', ')
}

function moneyText(minor: bigint, currency: Config['currency'], lang: string): string {
  const { code, decimals } = currency
  const parts = new Intl.NumberFormat(lang, {
    style: 'currency',
    currency: code,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).formatToParts(majorNumber(minor, currency))
  // In a line from right to left, the letters and the sign of a symbol such as US$ would change places.
  const isolated = parts.map(({ type, value }) =>
    type === 'currency' ? isolate(value, lang) : value.replace('-', '\u2212'),
  )
  return isolated.join('')
}

const day = { year: 'numeric', month: 'long', day: 'numeric', timeZone: 'UTC' } as const

/** Nobody knows in which zone a mail is read, so the moment says its own. */
function timeText(at: string, lang: string): string {
  const minute = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const
  const parts = new Intl.DateTimeFormat(lang, { ...day, ...minute }).formatToParts(new Date(at))
  const hour = parts.findIndex(({ type }) => type === 'hour')
  // The time of day stays on one line.
  return parts.map(({ value }, i) => (i < hour ? value : value.replaceAll(' ', '\u00a0'))).join('')
}

function dateText(at: string, lang: string): string {
  return new Intl.DateTimeFormat(lang, day).format(new Date(at))
}
