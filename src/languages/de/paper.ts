import type { Words } from '../words.ts'

export const words: Words['paper'] = {
  receipt: 'Beleg',
  statement: 'Kontoauszug',
  print: 'Drucken',
  csvFile: 'CSV-Datei',
  questions: 'Fragen?',
  receiptCode: 'Belegcode',
  holder: 'Inhaber der Wallet',
  refunded: 'Auf die Karte erstattet',
  opening: 'Anfänglicher Kontostand',
  closing: 'Abschließender Kontostand',
  heldNow: 'Bei der Erstellung reserviert: {amount}. Das ist in diesen Einträgen nicht enthalten.',
  moneyIn: 'Eingänge',
  moneyOut: 'Ausgänge',
  timeZone: 'Zeitzone',
  noEntries: 'Keine Umsätze in diesem Monat.',
  tooLong: 'Einträge in diesem Monat: {count}. Diese Seite zeigt die ersten {shown}. Die CSV-Datei enthält alle.',
  selection: 'Ausgewählte Einträge',
  selectionText:
    'Dies ist eine Auswahl: nur die Einträge, auf die die Suche unten zutrifft. Sie ist kein vollständiger Kontoauszug und enthält keinen anfänglichen oder abschließenden Kontostand.',
  matches: 'Gefundene Einträge',
  noMatches: 'Kein Eintrag passt zu dieser Suche.',
  searchedPart: 'Einträge: {count}. Nur die neuesten {shown} wurden durchsucht. Ältere sind nicht in dieser Auswahl.',
  tooMany: 'Gefundene Einträge: {count}. Diese Seite zeigt die neuesten {shown}. Die CSV-Datei enthält alle.',
  period: 'Zeitraum',
  asOf: 'Stand',
  amount: 'Betrag',
  balance: 'Kontostand',
  reference: 'Referenz',
  currency: 'Währung',
  usedTitle: 'Diese Seite lässt sich nur einmal öffnen',
  usedText: 'Zum Schutz Ihrer Daten ist der Link abgelaufen. Öffnen Sie die Seite erneut aus Ihrer Wallet.',
  data: 'Meine Daten',
  dataText:
    'Alle Daten, die dieser Dienst über Sie gespeichert hat, in einer JSON-Datei: Ihr Konto, die verbundenen Apps, Ihre Aufladungen, der Verlauf Ihres Kontos und jeder Eintrag in Ihrer Wallet.',
  dataFile: 'Herunterladen',
  proof: 'Nachweis herunterladen',
  qrText:
    'Scannen Sie diesen Code, um zu prüfen, ob dieser Beleg echt ist. Die Seite zeigt den Betrag, den Tag und den Shop, sonst nichts.',
  qrLink: 'Seite öffnen',
  qrLabel: 'QR-Code: Adresse, die diesen Beleg bestätigt',
  proofLater:
    'Der Nachweis für diesen Eintrag ist noch nicht fertig. Öffnen Sie diese Seite in etwa zehn Minuten erneut.',
  proofText:
    'Der Nachweis ist eine Datei, die ohne diesen Dienst zeigt, dass dieser Eintrag in seinen unterschriebenen Büchern steht. Prüfen Sie ihn unter {address}.',
  statementProof:
    'Der Nachweis ist eine Datei, die ohne diesen Dienst zeigt, dass der letzte Eintrag dieses Monats in seinen unterschriebenen Büchern steht. Mit einem früheren Nachweis zeigt er auch, ob ein Eintrag davor geändert wurde. Prüfen Sie ihn unter {address}.',
  earlierProof: 'Ich habe einen früheren Nachweis dieser Wallet',
  earlierText: 'Wählen Sie die frühere Datei. Der neue Nachweis zeigt dann auch, ob Ihr Verlauf noch derselbe ist.',
  notProof: 'Diese Datei ist kein Nachweis.',
  sinceEntry: 'Der Nachweis umfasst Ihren Verlauf seit Eintrag {size}.',
}
