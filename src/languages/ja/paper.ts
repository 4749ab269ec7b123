import type { Words } from '../words.ts'

export const words: Words['paper'] = {
  receipt: '領収書',
  statement: '取引明細',
  print: '印刷',
  csvFile: 'CSV ファイル',
  questions: 'お問い合わせ：',
  receiptCode: '領収書コード',
  holder: 'ウォレット名義',
  refunded: 'カードへの返金額',
  opening: '期首残高',
  closing: '期末残高',
  heldNow: '作成時に確保中の金額：{amount}。この履歴には含まれていません。',
  moneyIn: '入金',
  moneyOut: '出金',
  timeZone: 'タイムゾーン',
  noEntries: 'この月の履歴はありません。',
  tooLong:
    'この月の履歴は {count} 件です。このページには最初の {shown} 件を表示しています。CSV ファイルにはすべて含まれます。',
  selection: '選択した履歴',
  selectionText:
    'これは下の検索に一致する履歴だけを選んだものです。完全な取引明細ではなく、期首残高と期末残高はありません。',
  matches: '見つかった履歴',
  noMatches: 'この検索に一致する履歴はありません。',
  searchedPart: '履歴は {count} 件です。新しい {shown} 件だけを検索しました。それより古い履歴は含まれません。',
  tooMany:
    '見つかった履歴は {count} 件です。このページには新しい {shown} 件を表示しています。CSV ファイルにはすべて含まれます。',
  period: '期間',
  asOf: '作成日時',
  amount: '金額',
  balance: '残高',
  reference: '参照番号',
  currency: '通貨',
  usedTitle: 'このページは一度だけ開けます',
  usedText: 'データ保護のためリンクは無効になりました。ウォレットからもう一度開いてください。',
  data: '自分のデータ',
  dataText:
    'このサービスが持つお客様のすべてのデータを、1 つの JSON ファイルにまとめています。アカウント、接続したアプリ、チャージ、アカウントの履歴、ウォレットのすべての取引が含まれます。',
  dataFile: 'ダウンロード',
}
