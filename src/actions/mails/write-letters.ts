/** The content of every mail. A mail to an unconfirmed address contains no text that another person could have written. */
import type { Config } from '../../config.ts'
import type { Language } from '../../languages/languages.ts'
import { fill, isolate, type Words } from '../../languages/words.ts'
import { majorNumber } from '../../ledger/money.ts'
import type { MailChoice } from '../../store/mails.ts'
import type { Letter } from './letter.ts'

/* Mails with a code, and the mails sent instead of one. A user requests them; they are not stored. */

export type CodeMail =
  | { readonly kind: 'confirm' | 'reset'; readonly appName: string; readonly code: string }
  | { readonly kind: 'taken' | 'unconfirmed'; readonly appName: string }
  /** `change-old` is sent to the current address, `change-new` to the new one. */
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
  const app = 'appName' in mail ? { app: safeText(mail.appName) } : {}
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

/* Notifications about a wallet or an account. */

type Moved = {
  readonly amountMinor: string
  readonly balanceMinor: string
  /** What open holds reserved then; absent when nothing was held. */
  readonly heldMinor?: string
  /** Support finds the transaction by this code. */
  readonly receipt: string
  readonly at: string
}

/** The stored form. It holds ids instead of names, because a name may change before the mail is sent. */
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
    } & Omit<Moved, 'balanceMinor' | 'heldMinor'>)
  | { readonly kind: 'password-changed'; readonly at: string; readonly browser: string | null }
  /** To the old address. */
  | { readonly kind: 'email-changed'; readonly at: string; readonly newEmail: string }
  /** `at` when operators deleted the account for the user. */
  | { readonly kind: 'deleted'; readonly at?: string }
  | { readonly kind: 'deletion-asked'; readonly at: string; readonly until: string }
  | { readonly kind: 'data-exported-for'; readonly at: string }
  | { readonly kind: 'data-exported'; readonly at: string; readonly browser: string | null }
  | {
      readonly kind: 'app-disconnected'
      readonly clientId: string
      readonly at: string
      readonly browser: string | null
    }
  | {
      readonly kind: 'mails-stopped'
      readonly choice: MailChoice
      readonly at: string
      readonly browser: string | null
    }
  | { readonly kind: 'sign-in'; readonly at: string; readonly browser: string | null }

type Repaid = {
  readonly words: 'repaid' | 'repaidPart' | 'repaidMore'
  readonly repaidMinor: bigint
  readonly restMinor: bigint
}

/** A debt is less than zero available: what is on hold cannot pay it. */
export function availableAfter({ balanceMinor, heldMinor = '0' }: Moved): bigint {
  return BigInt(balanceMinor) - BigInt(heldMinor)
}

/** A card payment into a wallet with a debt repays the debt first; undefined if there was none. */
function repaidOf(moved: Moved): Repaid | undefined {
  const [amount, available] = [BigInt(moved.amountMinor), availableAfter(moved)]
  const debtMinor = amount - available
  if (debtMinor <= 0n) return undefined
  if (available < 0n) return { words: 'repaidPart', repaidMinor: amount, restMinor: -available }
  return { words: available === 0n ? 'repaid' : 'repaidMore', repaidMinor: debtMinor, restMinor: available }
}

/** The texts of the top-up page, so that mail and page say the same. */
function repaidLetter(
  { pay, code }: Language,
  letter: Letter,
  { words, repaidMinor, restMinor }: Repaid,
  money: (minor: bigint) => string,
): Letter {
  const title = fill(pay[`${words}Title`], {}, code)
  const values = { repaid: money(repaidMinor), rest: money(restMinor) }
  return { ...letter, subject: title, title, lines: [...letter.lines, fill(pay[`${words}Text`], values, code)] }
}

const kindWords = { receipts: 'receiptsKind', payments: 'paymentsKind', 'sign-ins': 'signInsKind' } as const

export type Reader = { readonly firstName: string; readonly nameOf: (clientId: string) => string }

export function writeNotification({ language, config }: Writer, notification: Notification, reader: Reader): Letter {
  const { about, currency } = config
  const text = (key: keyof Words['mail'], values: Record<string, string> = {}) =>
    fill(language.mail[key], values, language.code)
  const service = { service: about.name }
  const money = (minor: string | bigint) => moneyText(BigInt(minor), currency, language.code)
  const when = (at: string) => [text('when'), timeText(at, language.code)] as const
  const by = (browser: string | null) => (browser ? [[text('browser'), browserText(browser)] as const] : [])
  const support = [about.supportUrl, about.supportEmail].find(Boolean)
  const withSupport = (key: keyof Words['mail']) => `${text(key)}${support ? ` ${support}` : ''}`
  const letter = (title: keyof Words['mail'], values: Record<string, string>, ...lines: string[]): Letter => ({
    subject: text(title, values),
    title: text(title, values),
    lines: [text('hello', { name: safeText(reader.firstName, 40) }), ...lines],
    why: text('why', service),
  })
  switch (notification.kind) {
    case 'welcome': {
      const app = { app: safeText(reader.nameOf(notification.clientId)) }
      return {
        ...letter('welcomeTitle', service, text('welcomeText', app)),
        after: [text('welcomeNext'), text('welcomeElse')],
      }
    }
    case 'no-password':
      // Without a name: several people may have signed up with this address.
      return {
        ...letter('noPasswordTitle', {}),
        lines: [text('noPasswordText')],
        after: [text('noPasswordNext')],
      }
    case 'topup':
    case 'refund':
    case 'dispute':
    case 'returned': {
      const amount = { amount: money(notification.amountMinor) }
      const availableMinor = availableAfter(notification)
      const repaid = notification.kind === 'topup' ? repaidOf(notification) : undefined
      const isOwing = availableMinor < 0n && notification.kind !== 'returned'
      const disputed = notification.kind === 'dispute' ? [text('disputeNext')] : []
      const written = letter(
        `${notification.kind}Title`,
        amount,
        text(`${notification.kind}Text`),
        ...(isOwing && !repaid ? [text('debtText')] : []),
      )
      return {
        ...(repaid ? repaidLetter(language, written, repaid, money) : written),
        details: [
          // The debt comes first, because it is what the user has to act on.
          ...(isOwing ? [[text('owed'), money(-availableMinor)] as const] : []),
          [text('amount'), amount.amount],
          ...(isOwing ? [] : [[text('balance'), money(notification.balanceMinor)] as const]),
          when(notification.at),
          [text('receipt'), notification.receipt],
        ],
        after: [...(isOwing ? [text('debtNext', { amount: money(-availableMinor) })] : []), ...disputed],
        isUrgent: isOwing || notification.kind === 'dispute',
      }
    }
    case 'declined':
      return {
        ...letter('declinedTitle', {}, text('declinedText', { amount: money(notification.amountMinor) })),
        after: [text('declinedNext')],
      }
    case 'first-payment': {
      const app = { app: safeText(reader.nameOf(notification.clientId)) }
      const date = dateText(notification.connectedAt, language.code)
      return {
        ...letter('firstTitle', app, text('firstText', { ...app, date })),
        details: [
          [text('amount'), money(notification.amountMinor)],
          [text('app'), app.app],
          ...(notification.description ? [[text('forWhat'), safeText(notification.description, 120)] as const] : []),
          when(notification.at),
          [text('receipt'), notification.receipt],
        ],
        after: [text('firstNext', app), text('firstElse')],
      }
    }
    case 'password-changed':
      return {
        ...letter('passwordTitle', {}, text('passwordText')),
        details: [when(notification.at), ...by(notification.browser)],
        after: [text('passwordElse')],
      }
    case 'email-changed':
      return {
        ...letter('emailTitle', {}, text('emailText', { email: maskEmail(notification.newEmail) })),
        details: [when(notification.at)],
        after: [withSupport('emailElse')],
      }
    case 'deleted': {
      const written = { ...letter('deletedTitle', {}, text('deletedText')), why: text('whyDeleted', service) }
      if (notification.at === undefined) return { ...written, after: [text('deletedNext')] }
      return {
        ...written,
        lines: [...written.lines, text('deletedForText', service)],
        details: [when(notification.at)],
        after: [withSupport('requestElse'), text('deletedNext')],
      }
    }
    case 'deletion-asked':
      return {
        ...letter('deletionTitle', {}, text('deletionText', service)),
        details: [when(notification.at)],
        after: [
          withSupport('requestElse'),
          text('deletionNext', { date: dateText(notification.until, language.code) }),
        ],
        isUrgent: true,
      }
    case 'data-exported-for':
      return {
        ...letter('exportedForTitle', {}, text('exportedForText', service)),
        details: [when(notification.at)],
        after: [withSupport('requestElse')],
      }
    case 'data-exported':
      return {
        ...letter('exportedTitle', {}, text('exportedText')),
        details: [when(notification.at), ...by(notification.browser)],
        after: [text('actElse')],
      }
    case 'app-disconnected': {
      const app = { app: safeText(reader.nameOf(notification.clientId)) }
      return {
        ...letter('disconnectedTitle', app, text('disconnectedText', app)),
        details: [[text('app'), app.app], when(notification.at), ...by(notification.browser)],
        after: [text('actElse')],
      }
    }
    case 'mails-stopped':
      return {
        ...letter('stoppedTitle', {}, text('stoppedText')),
        details: [
          [text('stoppedKind'), text(kindWords[notification.choice])],
          when(notification.at),
          ...by(notification.browser),
        ],
        after: [text('actElse'), text('stopBack')],
      }
    case 'sign-in':
      break
  }
  return {
    ...letter('signInTitle', {}, text('signInText')),
    details: [when(notification.at), ...by(notification.browser)],
    after: [text('signInElse')],
  }
}

/** The owner recognises the masked address. Other readers of the old mailbox do not learn the new one. */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  const [first = ''] = email
  return safeText(`${first}•••${email.slice(at)}`, 80)
}

/**
 * Makes text that another person wrote safe inside our own line: no line breaks, no direction marks, a limited length, and
 * no web address that a mail program would turn into a link.
 */
export function safeText(text: string, maxLength = 60): string {
  const plain = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .trim()
  const letters = Array.from(plain)
  const short = letters.length > maxLength ? `${letters.slice(0, maxLength - 1).join('')}…` : plain
  return short.replace(/[.:@/](?=\S)/g, '$&\u200c')
}

/** `browser` has the form `Firefox/Linux`; either part may be empty. */
function browserText(browser: string): string {
  return browser
    .split('/')
    .filter((part) => part !== '')
    .map((part) => safeText(part))
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
  // In a right-to-left line, the letters and the sign of a symbol such as US$ would swap.
  const isolated = parts.map(({ type, value }) =>
    type === 'currency' ? isolate(value, lang) : value.replace('-', '\u2212'),
  )
  return isolated.join('')
}

const day = { year: 'numeric', month: 'long', day: 'numeric', timeZone: 'UTC' } as const

/** Includes the time zone, because the reader's is unknown. */
export function timeText(at: string, lang: string): string {
  const minute = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const
  const parts = new Intl.DateTimeFormat(lang, { ...day, ...minute }).formatToParts(new Date(at))
  const hour = parts.findIndex(({ type }) => type === 'hour')
  // Keep the time of day on one line.
  return parts.map(({ value }, i) => (i < hour ? value : value.replaceAll(' ', '\u00a0'))).join('')
}

function dateText(at: string, lang: string): string {
  return new Intl.DateTimeFormat(lang, day).format(new Date(at))
}
