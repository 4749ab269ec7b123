/** One of every mail there is, for tests and for pictures. */
import { chooseLanguage } from '../src/languages/languages.ts'
import type { Letter } from '../src/actions/mails/letter.ts'
import {
  writeCodeLetter,
  writeNotification,
  type CodeMail,
  type Notification,
  type Reader,
} from '../src/actions/mails/write-letters.ts'
import { writeOperatorLetter, type OperatorLetter } from '../src/actions/mails/operator-letters.ts'
import { parseConfig } from '../src/config.ts'

export const sampleConfig = parseConfig({
  SERVICE_NAME: 'Harbour Pay',
  SUPPORT_URL: 'https://harbour.example/help',
  TERMS_URL: 'https://harbour.example/terms',
  PRIVACY_URL: 'https://harbour.example/privacy',
})

const at = '2026-11-14T18:05:09.000Z'
const receipt = 'K7Q2-9F4M-X0TB'
const clientId = 'app_0123456789abcdef0123'
const code = '204863'

const codeMails: Record<string, CodeMail> = {
  confirm: { kind: 'confirm', appName: 'Small Hours', code },
  reset: { kind: 'reset', appName: 'Small Hours', code },
  taken: { kind: 'taken', appName: 'Small Hours' },
  unconfirmed: { kind: 'unconfirmed', appName: 'Small Hours' },
  'change-old': { kind: 'change-old', code, newEmail: 'ada.lovelace@example.org' },
  'change-new': { kind: 'change-new', code },
}

export const notifications: Record<string, Notification> = {
  welcome: { kind: 'welcome', clientId },
  'no-password': { kind: 'no-password' },
  topup: { kind: 'topup', amountMinor: '5000', balanceMinor: '123456', receipt, at },
  repaid: { kind: 'topup', amountMinor: '5000', balanceMinor: '0', receipt, at },
  'repaid-part': { kind: 'topup', amountMinor: '5000', balanceMinor: '-2000', receipt, at },
  'repaid-more': { kind: 'topup', amountMinor: '5000', balanceMinor: '3000', receipt, at },
  refund: { kind: 'refund', amountMinor: '5000', balanceMinor: '700', receipt, at },
  dispute: { kind: 'dispute', amountMinor: '5000', balanceMinor: '700', receipt, at },
  debt: { kind: 'dispute', amountMinor: '5000', balanceMinor: '-2000', receipt, at },
  'debt-on-hold': { kind: 'dispute', amountMinor: '5000', balanceMinor: '1000', heldMinor: '3000', receipt, at },
  'refund-debt': { kind: 'refund', amountMinor: '5000', balanceMinor: '-2000', receipt, at },
  returned: { kind: 'returned', amountMinor: '5000', balanceMinor: '3000', receipt, at },
  declined: { kind: 'declined', amountMinor: '5000' },
  'first-payment': {
    kind: 'first-payment',
    clientId,
    amountMinor: '1499',
    description: 'Order 1042: two candles and a very long night',
    connectedAt: '2026-11-13T09:00:00.000Z',
    receipt,
    at,
  },
  'password-changed': { kind: 'password-changed', at, browser: 'Firefox/Linux' },
  'email-changed': { kind: 'email-changed', at, newEmail: 'ada.lovelace@example.org' },
  'sign-in': { kind: 'sign-in', at, browser: 'Safari/iPhone' },
  deleted: { kind: 'deleted' },
  'deleted-for': { kind: 'deleted', at },
  'deletion-asked': { kind: 'deletion-asked', at, until: '2026-11-21T18:05:09.000Z' },
  'data-exported-for': { kind: 'data-exported-for', at },
  'data-exported': { kind: 'data-exported', at, browser: 'Firefox/Linux' },
  'app-disconnected': { kind: 'app-disconnected', clientId, at, browser: 'Firefox/Linux' },
  'mails-stopped': { kind: 'mails-stopped', choice: 'sign-ins', at, browser: 'Firefox/Linux' },
}

const stoppable = [
  'topup',
  'repaid',
  'repaid-part',
  'repaid-more',
  'refund',
  'returned',
  'declined',
  'first-payment',
  'sign-in',
]
export const stopUrl = 'https://wallet.example/mails/stop?token=abc'

export const reader: Reader = { firstName: 'Ada', nameOf: () => 'Small Hours' }

const url = 'https://wallet.example/admin/welcome?token=abc'
const roleName = 'an admin'
const operatorMails: Record<string, OperatorLetter> = {
  invitation: { kind: 'invitation', roleName, roleText: 'may do everything', url },
  'reset-link': { kind: 'reset-link', url },
  'change-waiting': { kind: 'change-waiting', change: 'make Grace Hopper (grace@example.com) an admin', url },
  ...Object.fromEntries(
    (['reset', 'renewed', 'role', 'removed', 'suspended', 'restored'] as const).map((kind) => [
      `operator-${kind}`,
      { kind, roleName },
    ]),
  ),
}

/** Operators read English. */
export function sampleOperatorLetters(name = 'Grace Hopper', by = 'Ada Lovelace'): Record<string, Letter> {
  const facts = { name, by, approvedBy: by, at: new Date(at) }
  return Object.fromEntries(
    Object.entries(operatorMails).map(([kind, mail]) => [kind, writeOperatorLetter(sampleConfig, mail, facts)]),
  )
}

/** By name, in a language. */
export function sampleLetters(lang: string, who = reader): Record<string, Letter> {
  const writer = { language: chooseLanguage(lang), config: sampleConfig }
  const codes = Object.entries(codeMails).map(([name, mail]) => [name, writeCodeLetter(writer, mail)] as const)
  const notified = Object.entries(notifications).map(([name, notification]) => {
    const letter = writeNotification(writer, notification, who)
    return [name, stoppable.includes(name) ? { ...letter, stopUrl } : letter] as const
  })
  return { ...Object.fromEntries([...codes, ...notified]), ...(lang === 'en' && sampleOperatorLetters()) }
}
