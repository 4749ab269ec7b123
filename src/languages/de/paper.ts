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
  moneyIn: 'Eingänge',
  moneyOut: 'Ausgänge',
  timeZone: 'Zeitzone',
  noEntries: 'Keine Umsätze in diesem Monat.',
  tooLong: 'Einträge in diesem Monat: {count}. Diese Seite zeigt die ersten {shown}. Die CSV-Datei enthält alle.',
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
}
