import type { Words } from '../words.ts'
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words: Words['prove'] = {
  proveTitle: 'התחברות במכשיר הזה',
  proveText: 'יש להזין את הסיסמה פעם אחת במכשיר הזה כדי לראות את כל התשלומים ואת החשבון.',
  proveEnded: 'בוצעה התנתקות במכשיר הזה. יש להזין את הסיסמה כדי להמשיך מאותו מקום.',
  presenceTitle: 'אישור זהות',
  presenceText: 'יש להזין את הסיסמה כדי להמשיך. נבקש אותה שוב לאחר 10 דקות.',
  proveFor: 'הארנק של {name}',
  proveBusy: 'אנשים רבים מתחברים כעת. יש לנסות שוב בעוד כמה שניות.',
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
