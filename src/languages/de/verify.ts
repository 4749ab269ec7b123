import type { Words } from '../words.ts'

export const words: Words['verify'] = {
  genuineTitle: 'Dieser Beleg ist echt',
  genuineText: 'Die unterschriebenen Bücher von {service} enthalten ihn.',
  compareText: 'Vergleichen Sie das mit dem Papier. Weicht etwas ab, wurde das Papier verändert.',
  day: 'Tag',
  dayUtc: '{day} (UTC)',
  archivedTitle: 'Dieser Beleg ist im Archiv',
  archivedText:
    '{service} hat diesen Beleg erstellt. Sein Eintrag ist im Archiv, deshalb kann diese Seite ihn nicht zeigen.',
  unsealedTitle: 'Dieser Beleg ist noch nicht in den unterschriebenen Büchern',
  unsealedText: 'Die Bücher werden etwa alle zehn Minuten unterschrieben. Versuchen Sie es später noch einmal.',
  unknownTitle: 'Kein Beleg hat diese Adresse',
  unknownText:
    'Prüfen Sie, ob die ganze Adresse gescannt oder eingegeben wurde. Wenn ja, hat {service} den Beleg nicht ausgestellt.',
  differsTitle: 'Dieser Beleg stimmt nicht mit den unterschriebenen Büchern überein',
  differsText:
    'Der Eintrag wurde geändert, nachdem die Bücher unterschrieben waren. Bewahren Sie den Beleg auf und wenden Sie sich an den Support.',
  limitedTitle: 'Zu viele Prüfungen',
  limitedText: 'Aus Ihrem Netz wurden zu viele Belege geprüft. Versuchen Sie es in einigen Minuten noch einmal.',
  title: 'Nachweis prüfen',
  intro:
    'Wählen Sie eine oder zwei Nachweisdateien. Nichts verlässt dieses Gerät, und die Seite funktioniert ohne Internet.',
  choose: 'Dateien wählen',
  drop: 'Oder legen Sie sie hier ab.',
  save: 'Diese Seite speichern',
  saveText: 'Eine gespeicherte Kopie funktioniert ohne diesen Dienst.',
  keys: 'Schlüssel, denen Sie vertrauen',
  keysText:
    'Ein Schlüssel pro Zeile. Dies sind die Schlüssel von {service}. Am meisten wert ist ein Nachweis, wenn Sie den Schlüssel anderswoher haben, etwa aus einer Zeitung, von einem Prüfer oder aus einer früheren Kopie dieser Seite.',
  results: 'Ergebnisse',
  clear: 'Leeren',
  payment: 'Diese Zahlung von {amount} am {time} ist Eintrag {sequence} von {size} in ihrer Wallet.',
  credit: 'Diese Gutschrift von {amount} am {time} ist Eintrag {sequence} von {size} in ihrer Wallet.',
  signed: 'Die zugehörigen Bücher wurden unterschrieben von {signer}.',
  signedAt: 'Die zugehörigen Bücher wurden am {time} unterschrieben von {signer}.',
  position: 'Am Ende des {day} (UTC) betrug der Stand des Kontos {account}: {amount}.',
  positionSums: 'Erhalten: {received}. Gezahlt: {paid}. Einträge: {count}.',
  reference: 'Referenz: {text}',
  erased: 'Die Texte dieses Eintrags wurden gelöscht. Der Nachweis bleibt gültig.',
  file: 'Datei {name}',
  empty: 'Diese Datei ist leer.',
  tooLarge: 'Diese Datei ist zu groß für einen Nachweis.',
  notText: 'Diese Datei ist kein Text und daher kein Nachweis.',
  notProof: 'Diese Datei ist kein Nachweis, oder sie ist beschädigt.',
  unknownSigner: 'Keiner der Schlüssel, denen Sie vertrauen, hat diesen Nachweis unterschrieben.',
  notInBooks: 'Die unterschriebenen Bücher enthalten nicht, was in dieser Datei steht. Die Datei wurde verändert.',
  otherBooks:
    'Es gibt zwei Fassungen der Bücher: Dieser Prüfpunkt und der Nachweis widersprechen sich. Bewahren Sie beide Dateien auf.',
  checkpointFits: 'Dieser Prüfpunkt ist von {signer} unterschrieben, und der Nachweis passt dazu.',
  checkpointOther:
    'Dieser Prüfpunkt ist von {signer} unterschrieben. Er gehört zu anderen Büchern oder zu einer anderen Zeit als die Nachweise hier. Daher bestätigt er sie nicht und widerspricht ihnen nicht.',
  checkpointUnsigned: 'Keiner der Schlüssel, denen Sie vertrauen, hat diesen Prüfpunkt unterschrieben.',
  sameHistory:
    'Beide Nachweise gehören zur selben Wallet, und ihr Verlauf ist in beiden gleich: Die ersten {size} Einträge haben sich nicht geändert.',
  rewritten:
    'Der Verlauf dieser Wallet wurde zwischen diesen beiden Nachweisen umgeschrieben. Bewahren Sie beide Dateien auf: Zusammen beweisen sie es.',
  restored:
    'Beide Nachweise gehören zur selben Wallet, aber ihr Verlauf ist verschieden. Dazwischen wurde der Dienst aus einer Sicherung wiederhergestellt. Das kann der Grund sein. Fragen Sie beim Dienst nach.',
  noLink:
    'Beide Nachweise gehören zur selben Wallet und widersprechen sich nicht. Sie zeigen nicht, ob jeder frühere Eintrag gleich ist. Laden Sie dafür den neueren Nachweis noch einmal herunter und wählen Sie neben der Schaltfläche die ältere Datei.',
  otherWallets: 'Diese Nachweise gehören zu verschiedenen Wallets und lassen sich nicht vergleichen.',
  noWallet: 'Vergleichen lassen sich nur zwei Nachweise von Einträgen einer Wallet.',
  tooMany: 'Wählen Sie höchstens zwei Nachweise und einen Prüfpunkt.',
  noCrypto:
    'Dieser Browser prüft auf dieser Seite keine Unterschriften. Speichern Sie die Seite und öffnen Sie sie von Ihrem Gerät, oder verwenden Sie einen anderen Browser.',
  noScript: 'Diese Seite braucht JavaScript, um Dateien zu prüfen.',
}
