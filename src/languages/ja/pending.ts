import type { Words } from '../words.ts'

export const words: Words['pending'] = {
  waitingEntry: 'チャージ処理中',
  failedEntry: 'チャージは完了しませんでした',
  failedDeclined: 'カードが拒否されました。お金は動いていません。',
  failedAuthentication: '銀行で本人確認ができませんでした。お金は動いていません。',
  failedUnconfirmed: '銀行での承認がありませんでした。お金は動いていません。',
  failedCancelled: '取り消されました。お金は動いていません。',
  failedOther: '銀行で処理されませんでした。お金は動いていません。',

  holdEntry: '確保中の支払い',
  holdUntil: '{when} まで',
  holdsText: 'アプリが支払いのために確保しているお金です。期限までに支払われなかった分は、また使えるようになります。',
  holdTaken: '{amount} のうち {taken} は支払い済み',
  holdsNone: '確保中のお金はありません。',
  holdsAll: '確保中のものをすべて表示',
  holdsMore: '古いものは表示されません。',
  wholeBalance: '残高',
}
