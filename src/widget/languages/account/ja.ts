import type { words as english } from './en.ts'

export const words: Readonly<Record<keyof typeof english, string>> = {
  apps: 'ウォレットを利用中のアプリ',
  appsText: 'これらのアプリは残高を確認し、支払いに使うことができます。',
  thisApp: 'このアプリ',
  connected: '{date}に接続',
  disconnect: '接続を解除',
  disconnectApp: '{app} の接続を解除',
  disconnectAsk: '{app} の接続を解除しますか？',
  disconnectText: '{app} はウォレットを確認も利用もできなくなります。お金はそのまま残ります。',
  disconnected: '{app} の接続を解除しました。',
  cancel: 'キャンセル',
  switchAccount: 'アカウントを切り替える',
  logOut: 'ログアウト',
}
