import type { Words } from '../words.ts'
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words: Words['prove'] = {
  proveTitle: 'Auf diesem Gerät anmelden',
  proveText: 'Geben Sie Ihr Passwort auf diesem Gerät einmal ein, um alle Zahlungen und Ihr Konto zu sehen.',
  proveEnded: 'Dieses Gerät wurde abgemeldet. Geben Sie Ihr Passwort ein, um dort weiterzumachen, wo Sie waren.',
  presenceTitle: 'Bestätigen Sie, dass Sie es sind',
  presenceText: 'Geben Sie Ihr Passwort ein, um fortzufahren. Nach 10 Minuten fragen wir erneut danach.',
  proveFor: 'Wallet von {name}',
  proveBusy: 'Gerade melden sich viele Menschen an. Bitte versuchen Sie es in einigen Sekunden erneut.',
  continue: topup.continue,
  passwordWrong: account.passwordWrong,
  cancel: account.cancel,
  signOut: account.signOut,
  logOutText: account.logOutText,
  disconnect: account.disconnect,
  disconnectApp: account.disconnectApp,
  disconnectAsk: account.disconnectAsk,
  disconnectText: account.disconnectText,
  disconnectHeld: account.disconnectHeld,
}
