import type { Words } from '../words.ts'

export const words: Words['topup'] = {
  amount: '金額',
  otherAmount: 'その他の金額',
  continue: '続ける',
  amountWrong: '{min} から {max} までの金額を入力してください。',
  amountUnclear: 'この金額は二通りに読めます。{amount} の場合は {example} と入力してください。',
  amountForeign: 'このウォレットの通貨は{currency}です。{currency}での金額を入力してください。',
  amountMalformed: 'この金額は読み取れません。次のように入力してください：{example}',
  topupAtLeast: 'チャージは {min} からです。余った分はウォレットに残ります。',
  topupAtMost: '一度にチャージできるのは {max} までです。残りは次のチャージで追加できます。',
  topupNoneTitle: 'チャージは利用できません',
  topupNoneText: '現在、このウォレットではカードでの支払いを受け付けていません。残高に影響はありません。',
  topupFrozenText: 'ウォレットが停止中のため、カードでチャージできません。',
  topupExpiredText: 'このウィンドウを閉じて、{app} でもう一度「チャージする」を選んでください。',
  topupInto: '{name} さんのウォレットへ',
  topupPreparing: '支払いを準備しています…',
  topupChecking: '支払いを確認しています…',
  onItsWay: '{amount} はすでに手続き中です。銀行で処理しています。',
  topupLands: '支払い済みの場合、金額は必ずウォレットに反映されます。',
  backToWallet: 'ウォレットに戻る',
}
