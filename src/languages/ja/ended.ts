import type { Words } from '../words.ts'

export const words: Words['ended'] = {
  signedOutTitle: 'ログアウトしました',
  signedOutText:
    '別のウィンドウまたは別のデバイスで {app} からログアウトしました。接続は続くため、{app} は引き続き自動で支払いを受け取れます。',
  everywhereTitle: 'すべての場所からログアウトしました',
  everywhereText:
    '「すべての場所からログアウト」により、すべてのアプリとブラウザーでウォレットが閉じました。接続は続くため、アプリは引き続き自動で支払いを受け取れます。',
  passwordChangedTitle: 'パスワードが変更されました',
  passwordChangedText:
    'そのため、ここではログアウトされました。お心当たりがない場合は、今すぐ新しいパスワードを設定してください。',
  disconnectedTitle: '{app} の接続は解除されました',
  disconnectedText: '{app} はウォレットを確認も利用もできません。再び接続するには、ログインしてください。',
  appOffTitle: '{app} は一時停止中です',
  appOffText:
    '{service} がこのアプリを停止しました。ウォレットを開くことも、支払いを受け取ることもできません。お金は安全に保管されています。',
  deletedTitle: 'アカウントは削除されました',
  deletedText: 'このウォレットはもう存在せず、すべてのアプリの接続が解除されました。',
  noSessionTitle: 'ここではウォレットが開かれていません',
  noSessionText: '開くにはログインしてください。お金は安全に保管されています。',
  closeWindow: 'このウィンドウを閉じて {app} に戻ってください。',
}
