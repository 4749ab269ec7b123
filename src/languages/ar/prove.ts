import type { Words } from '../words.ts'
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words: Words['prove'] = {
  proveTitle: 'تسجيل الدخول على هذا الجهاز',
  proveText: 'أدخل كلمة مرورك مرة واحدة على هذا الجهاز لرؤية كل مدفوعاتك وحسابك.',
  proveEnded: 'تم تسجيل الخروج على هذا الجهاز. أدخل كلمة مرورك للمتابعة من حيث كنت.',
  presenceTitle: 'أكّد أنك أنت',
  presenceText: 'أدخل كلمة مرورك للمتابعة. سنطلبها مجددًا بعد 10 دقائق.',
  proveFor: 'محفظة {name}',
  proveBusy: 'يسجّل كثيرون الدخول الآن. يُرجى المحاولة مجددًا بعد ثوانٍ قليلة.',
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
