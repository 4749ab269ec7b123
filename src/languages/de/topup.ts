import type { Words } from '../words.ts'

export const words: Words['topup'] = {
  amount: 'Betrag',
  otherAmount: 'Anderer Betrag',
  continue: 'Weiter',
  amountWrong: 'Geben Sie einen Betrag von {min} bis {max} ein.',
  amountUnclear: 'Das lässt sich auf zwei Arten lesen. Für {amount} geben Sie {example} ein.',
  amountForeign: 'Diese Wallet wird in {currency} geführt. Geben Sie den Betrag in {currency} ein.',
  amountMalformed: 'Diesen Betrag können wir nicht lesen. Schreiben Sie ihn so: {example}.',
  topupAtLeast: 'Die Mindestaufladung beträgt {min}. Was übrig ist, bleibt in Ihrer Wallet.',
  topupAtMost: 'Eine Aufladung beträgt höchstens {max}. Den Rest können Sie mit einer weiteren aufladen.',
  topupNoneTitle: 'Aufladen ist nicht verfügbar',
  topupNoneText: 'Diese Wallet nimmt zurzeit keine Kartenzahlungen an. Ihr Kontostand ist davon nicht betroffen.',
  topupFrozenText: 'Die Wallet ist gesperrt und kann deshalb nicht per Karte aufgeladen werden.',
  topupExpiredText: 'Schließen Sie dieses Fenster und wählen Sie in {app} erneut „Aufladen“.',
  topupInto: 'In die Wallet von {name}',
  topupPreparing: 'Zahlung wird vorbereitet…',
  topupChecking: 'Zahlung wird geprüft…',
  onItsWay: '{amount} sind schon unterwegs. Ihre Bank bearbeitet die Zahlung noch.',
  topupLands: 'Falls Sie bezahlt haben, kommt das Geld trotzdem in Ihrer Wallet an.',
  backToWallet: 'Zurück zur Wallet',
}
