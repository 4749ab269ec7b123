import type { Words } from '../words.ts'

export const words: Words['pending'] = {
  waitingEntry: 'Aufladung wird bearbeitet',
  failedEntry: 'Aufladung nicht abgeschlossen',
  failedDeclined: 'Die Karte wurde abgelehnt. Es floss kein Geld.',
  failedAuthentication: 'Die Bank konnte Sie nicht bestätigen. Es floss kein Geld.',
  failedUnconfirmed: 'Die Bestätigung bei Ihrer Bank fehlte. Es floss kein Geld.',
  failedCancelled: 'Sie wurde abgebrochen. Es floss kein Geld.',
  failedOther: 'Die Bank hat sie nicht ausgeführt. Es floss kein Geld.',

  holdEntry: 'Reservierte Zahlung',
  holdUntil: 'Bis {when}',
  holdsText:
    'Apps haben dieses Geld für Zahlungen reserviert. Was sie nicht rechtzeitig abbuchen, können Sie wieder ausgeben.',
  holdTaken: '{taken} von {amount} bereits bezahlt',
  holdsNone: 'Es ist nichts reserviert.',
  holdsAll: 'Alles Reservierte anzeigen',
  holdsMore: 'Ältere werden nicht angezeigt.',
  wholeBalance: 'Kontostand',
}
