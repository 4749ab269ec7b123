import type { Words } from '../words.ts'

export const words: Words['mail'] = {
  hello: 'Guten Tag {name},',
  why: 'Sie erhalten diese E-Mail, weil Sie ein Guthaben bei {service} haben.',
  whyStranger: 'Sie erhalten diese E-Mail, weil jemand diese Adresse bei {service} eingegeben hat.',
  help: 'Hilfe',
  terms: 'Nutzungsbedingungen',
  privacy: 'Datenschutz',
  stop: 'Diese E-Mails abbestellen',
  codeLife: 'Er gilt einmal und läuft nach 15 Minuten ab.',

  amount: 'Betrag',
  balance: 'Guthaben danach',
  owed: 'Offener Betrag',
  app: 'App',
  forWhat: 'Wofür',
  receipt: 'Beleg',
  when: 'Wann',
  browser: 'Browser',

  confirmSubject: '{code} ist Ihr Code für Ihr Guthaben',
  confirmTitle: 'E-Mail-Adresse bestätigen',
  confirmText: 'Geben Sie diesen Code in {app} ein, um diese E-Mail-Adresse zu bestätigen.',
  confirmElse:
    'Wenn Sie sich nicht registriert haben, ignorieren Sie diese E-Mail. Ohne den Code wird kein Konto erstellt.',
  takenTitle: 'Sie haben bereits ein Konto',
  takenText: 'Jemand, vermutlich Sie, wollte sich in {app} mit dieser E-Mail-Adresse registrieren.',
  takenNext: 'Es gibt schon ein Konto: Melden Sie sich damit an oder wählen Sie „Passwort vergessen?“.',
  takenElse: 'Wenn Sie es nicht waren, müssen Sie nichts tun. Es wurde nichts geändert.',
  resetSubject: '{code} ist Ihr Code für ein neues Passwort',
  resetTitle: 'Neues Passwort wählen',
  resetText: 'Geben Sie diesen Code in {app} ein, um ein neues Passwort zu wählen.',
  resetElse:
    'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail. Ihr Passwort bleibt gleich. Geben Sie diesen Code niemandem weiter.',
  unconfirmedTitle: 'Ihre Registrierung ist nicht abgeschlossen',
  unconfirmedText: 'Jemand, vermutlich Sie, hat in {app} ein neues Passwort angefordert.',
  unconfirmedNext:
    'Zu dieser E-Mail-Adresse gibt es noch kein Konto: Eine Registrierung wartet auf den Code, den wir gesendet haben. Geben Sie ihn ein, oder registrieren Sie sich noch einmal, um einen neuen zu erhalten.',
  noPasswordTitle: 'Wählen Sie ein Passwort',
  noPasswordText:
    'Ihre E-Mail-Adresse ist bestätigt. Davor hat sich jemand mehrmals damit registriert, mit verschiedenen Passwörtern. Wir können nicht wissen, welches Ihres ist; deshalb gilt keines davon.',
  noPasswordNext: 'Wählen Sie bei der Anmeldung „Passwort vergessen?“, um eines festzulegen.',
  changeSubject: '{code} ist Ihr Code zum Ändern der E-Mail-Adresse',
  changeTitle: 'E-Mail-Adresse ändern',
  changeOldText:
    'Jemand, vermutlich Sie, möchte die E-Mail-Adresse Ihres Kontos in {email} ändern. Geben Sie diesen Code dort ein, um es zu erlauben.',
  changeOldElse:
    'Wenn Sie es nicht waren, geben Sie diesen Code niemandem und wählen Sie ein neues Passwort: Wer ihn angefordert hat, ist in Ihrem Konto angemeldet.',
  changeNewText: 'Geben Sie diesen Code ein, damit dies die E-Mail-Adresse Ihres Kontos wird.',
  changeNewElse: 'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail. Ohne den Code ändert sich nichts.',

  welcomeTitle: 'Willkommen bei {service}',
  welcomeText: 'Ihr Guthabenkonto ist bereit: eines für {app} und jede andere App, die es nutzt.',
  welcomeNext:
    'Mit „Aufladen“ füllen Sie es per Karte. Jede Zahlung und jede Aufladung steht in Ihrer Übersicht, egal in welcher App Sie sie öffnen.',
  welcomeElse: 'Wir fragen Sie nie per E-Mail oder Telefon nach Ihrem Passwort oder einem Code.',
  topupTitle: '{amount} sind auf Ihrem Guthaben',
  topupText: 'Ihre Kartenzahlung ist angekommen. Dies ist Ihr Beleg.',
  refundTitle: '{amount} gehen zurück auf Ihre Karte',
  refundText:
    'Eine Aufladung wurde erstattet. Das Geld hat Ihr Guthaben verlassen; Ihre Bank zeigt es in wenigen Tagen an.',
  disputeTitle: 'Eine Kartenzahlung über {amount} wurde zurückgebucht',
  disputeText:
    'Ihre Bank hat eine Zahlung zurückgeholt, mit der Sie Guthaben aufgeladen haben, weil ihr widersprochen wurde. Der Betrag hat Ihr Guthaben verlassen.',
  disputeNext:
    'Wenn Sie nicht widersprochen haben, fragen Sie Ihre Bank. Stellt sich die Zahlung als berechtigt heraus, kommt das Geld automatisch zurück.',
  debtText: 'Ihr Guthaben ist jetzt im Minus; deshalb sind Zahlungen ausgesetzt.',
  debtNext:
    'Zum Ausgleichen öffnen Sie Ihr Guthaben in einer App, die es nutzt, und wählen Sie „{amount} ausgleichen“. Sobald das Guthaben wieder bei null ist, sind Zahlungen wieder möglich.',
  returnedTitle: '{amount} sind wieder auf Ihrem Guthaben',
  returnedText: 'Was wegen einer zurückgebuchten oder erstatteten Kartenzahlung abgezogen war, ist zurückgekommen.',
  declinedTitle: 'Ihre Karte wurde abgelehnt',
  declinedText: 'Sie wollten {amount} aufladen. Die Karte wurde abgelehnt, und es kam keine andere Zahlung.',
  declinedNext:
    'Es wurde nichts abgebucht. Öffnen Sie Ihr Guthaben und wählen Sie „Aufladen“, um es noch einmal zu versuchen. Nehmen Sie eine andere Karte oder fragen Sie Ihre Bank.',
  firstTitle: 'Erste Zahlung an {app}',
  firstText: '{app} hat zum ersten Mal etwas von Ihrem Guthaben abgebucht, seit Sie die App am {date} verbunden haben.',
  firstNext: 'Wenn Sie diese Zahlung kennen, müssen Sie nichts tun. Bei Fragen dazu wenden Sie sich an {app}.',
  firstElse:
    'Um weitere Zahlungen zu verhindern, öffnen Sie Ihr Guthaben, wählen Sie „Konto“, dann „Apps, die mein Guthaben nutzen“, und trennen Sie die App.',
  passwordTitle: 'Ihr Konto hat ein neues Passwort',
  passwordText: 'Das Passwort Ihres Kontos wurde geändert.',
  passwordElse:
    'Wenn Sie das nicht waren, wählen Sie sofort „Passwort vergessen?“ und ändern Sie auch das Passwort Ihres Postfachs.',
  emailTitle: 'Ihr Konto hat eine neue E-Mail-Adresse',
  emailText:
    'Die E-Mail-Adresse Ihres Kontos wurde in {email} geändert. E-Mails gehen ab jetzt dorthin und nicht mehr hierher.',
  emailElse: 'Wenn Sie das nicht waren, wenden Sie sich sofort an den Support.',
  signInTitle: 'Neue Anmeldung in Ihrem Konto',
  signInText: 'Jemand, vermutlich Sie, hat sich von einem Ort angemeldet, den wir noch nicht kennen.',
  signInElse: 'Wenn Sie das nicht waren, wählen Sie sofort „Passwort vergessen?“ und legen Sie ein neues fest.',
  deletedTitle: 'Ihr Konto ist gelöscht',
  deletedText:
    'Ihr Konto wurde gelöscht. Ihr Name, Ihre E-Mail-Adresse und Ihr Passwort sind nicht mehr bei uns gespeichert.',
  deletedNext: 'Wenn Sie wieder ein Konto möchten, registrieren Sie sich neu.',
  exportedTitle: 'Eine Kopie Ihrer Daten wurde heruntergeladen',
  exportedText:
    'Eine Datei mit den Daten Ihres Guthabenkontos wurde heruntergeladen: Ihr Konto, Ihre Apps, Ihre Buchungen und Ihre Anmeldungen.',
  disconnectedTitle: '{app} wurde von Ihrem Guthaben getrennt',
  disconnectedText:
    '{app} kann nichts mehr von Ihrem Guthaben abbuchen und nichts mehr gutschreiben. Um die App wieder zu verbinden, melden Sie sich dort an.',
  stoppedTitle: 'Warn-E-Mails wurden ausgeschaltet',
  stoppedText: 'E-Mails, die Sie vor Vorgängen in Ihrem Guthabenkonto warnen, wurden zum Teil ausgeschaltet.',
  stoppedKind: 'Ausgeschaltet',
  actElse: 'Wenn Sie das nicht waren, wählen Sie sofort „Passwort vergessen?“ und legen Sie ein neues fest.',

  receiptsKind: 'Belege und Nachrichten zu Kartenzahlungen',
  paymentsKind: 'Erste Zahlung an eine neue App',
  signInsKind: 'Anmeldungen von einem neuen Ort',
  stopAsk: 'Diese E-Mails abbestellen?',
  stopButton: 'Abbestellen',
  stopDone: 'Sie erhalten diese E-Mails nicht mehr',
  stopBack: 'Unter „Konto“ können Sie sie wieder einschalten.',
  stopBad: 'Dieser Link funktioniert nicht',
  stopBadText: 'Er ist unvollständig oder zu alt. Welche E-Mails Sie erhalten, legen Sie unter „Konto“ fest.',
}
