import type { Words } from '../words.ts'
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words: Words['prove'] = {
  proveTitle: 'このデバイスでログイン',
  proveText: 'すべての支払いとアカウントを表示するには、このデバイスで一度パスワードを入力してください。',
  proveEnded: 'このデバイスはログアウトされました。続きから再開するには、パスワードを入力してください。',
  presenceTitle: 'ご本人の確認',
  presenceText: '続けるにはパスワードを入力してください。10 分後に再度おたずねします。',
  proveFor: '{name} さんのウォレット',
  proveBusy: '現在、多くの人がログインしています。数秒後にもう一度お試しください。',
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
