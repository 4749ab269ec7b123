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
  proof: '証明をダウンロード',
  qrText: 'このコードを読み取ると、この領収書が本物かどうかを確認できます。表示されるのは金額、日付、店舗だけです。',
  qrLink: 'ページを開く',
  qrLabel: 'QR コード：この領収書を確認するアドレス',
  proofLater: 'この履歴の証明はまだ準備できていません。10 分ほどしてから、このページをもう一度開いてください。',
  proofText:
    '証明は、この履歴が署名済みの帳簿に含まれることを、このサービスなしで示すファイルです。{address} で確認できます。',
  statementProof:
    '証明は、この月の最後の履歴が署名済みの帳簿に含まれることを、このサービスなしで示すファイルです。以前の証明があれば、それより前の履歴が変更されていないかどうかも示します。{address} で確認できます。',
  earlierProof: 'このウォレットの以前の証明を持っています',
  earlierText: '以前のファイルを選んでください。新しい証明は、履歴が変わっていないかどうかも示します。',
  notProof: 'このファイルは証明ではありません。',
  sinceEntry: '証明は、履歴 {size} 以降の記録を含みます。',
}
