/** The words of the prompt for the password, in English: the keys of every language are these. */
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words = {
  proveTitle: 'Sign in on this device',
  proveText: 'Enter your password once on this device to see all your payments and your account.',
  proveEnded: 'This device was signed out. Enter your password to continue where you were.',
  presenceTitle: 'Confirm that it is you',
  presenceText: 'Enter your password to continue. We ask for it again after 10 minutes.',
  proveFor: 'Wallet of {name}',
  proveBusy: 'Many people are signing in right now. Please try again in a few seconds.',
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
