import type { Words } from '../words.ts'

export const words: Words['mail'] = {
  hello: 'Guten Tag {name},',
  why: 'Sie erhalten diese E-Mail, weil Sie eine Wallet bei {service} haben.',
  whyDeleted: 'Sie erhalten diese E-Mail, weil Sie eine Wallet bei {service} hatten.',
  whyStranger: 'Sie erhalten diese E-Mail, weil jemand diese Adresse bei {service} eingegeben hat.',
  help: 'Hilfe',
  terms: 'Nutzungsbedingungen',
  privacy: 'Datenschutz',
  stop: 'Diese E-Mails abbestellen',
  codeLife: 'Er gilt einmal und läuft nach 15 Minuten ab.',

  amount: 'Betrag',
  balance: 'Kontostand danach',
  owed: 'Offener Betrag',
  app: 'App',
  forWhat: 'Wofür',
  receipt: 'Beleg',
  when: 'Wann',
  browser: 'Browser',

  confirmSubject: '{code} ist der Code für Ihre Wallet',
  confirmTitle: 'E-Mail-Adresse bestätigen',
  confirmText: 'Geben Sie diesen Code in der Wallet von {app} ein, um diese E-Mail-Adresse zu bestätigen.',
  confirmElse:
    'Wenn Sie sich nicht registriert haben, ignorieren Sie diese E-Mail. Ohne den Code wird kein Konto erstellt.',
  takenTitle: 'Sie haben bereits eine Wallet',
  takenText: 'Jemand, vermutlich Sie, wollte sich in der Wallet von {app} mit dieser E-Mail-Adresse registrieren.',
  takenNext: 'Es gibt schon ein Konto: Melden Sie sich damit an oder wählen Sie „Passwort vergessen?“.',
  takenElse: 'Wenn Sie es nicht waren, müssen Sie nichts tun. Es wurde nichts geändert.',
  resetSubject: '{code} ist Ihr Code für ein neues Passwort',
  resetTitle: 'Neues Passwort wählen',
  resetText: 'Geben Sie diesen Code in der Wallet von {app} ein, um ein neues Passwort zu wählen.',
  resetElse:
    'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail. Ihr Passwort bleibt gleich. Geben Sie diesen Code niemandem weiter.',
  unconfirmedTitle: 'Ihre Registrierung ist nicht abgeschlossen',
  unconfirmedText: 'Jemand, vermutlich Sie, hat in der Wallet von {app} ein neues Passwort angefordert.',
  unconfirmedNext:
    'Zu dieser E-Mail-Adresse gibt es noch kein Konto: Eine Registrierung wartet auf den Code, den wir gesendet haben. Geben Sie ihn ein, oder registrieren Sie sich noch einmal, um einen neuen zu erhalten.',
  noPasswordTitle: 'Wählen Sie ein Passwort für Ihre Wallet',
  noPasswordText:
    'Ihre E-Mail-Adresse ist bestätigt. Davor hat sich jemand mehrmals damit registriert, jedes Mal mit einem anderen Passwort. Wir können nicht wissen, welches Ihres ist; deshalb gilt keines davon.',
  noPasswordNext: 'Wählen Sie bei der Anmeldung „Passwort vergessen?“, um eines festzulegen.',
  changeSubject: '{code} ist Ihr Code zum Ändern der E-Mail-Adresse',
  changeTitle: 'E-Mail-Adresse Ihrer Wallet ändern',
  changeOldText:
    'Jemand, vermutlich Sie, möchte die E-Mail-Adresse Ihrer Wallet in {email} ändern. Geben Sie diesen Code in Ihrer Wallet ein, um es zu erlauben.',
  changeOldElse:
    'Wenn Sie es nicht waren, geben Sie diesen Code niemandem und wählen Sie ein neues Passwort: Wer ihn angefordert hat, ist in Ihrer Wallet angemeldet.',
  changeNewText: 'Geben Sie diesen Code in Ihrer Wallet ein, damit dies ihre E-Mail-Adresse wird.',
  changeNewElse: 'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail. Ohne den Code ändert sich nichts.',

  welcomeTitle: 'Willkommen bei {service}',
  welcomeText: 'Ihre Wallet ist bereit: eine für {app} und jede andere App, die sie nutzt.',
  welcomeNext:
    'Mit „Aufladen“ laden Sie sie per Karte auf. Ihre Wallet zeigt jede Zahlung und jede Aufladung, egal in welcher App Sie sie öffnen.',
  welcomeElse: 'Wir fragen Sie nie per E-Mail oder Telefon nach Ihrem Passwort oder einem Code.',
  topupTitle: '{amount} sind in Ihrer Wallet',
  topupText: 'Ihre Kartenzahlung ist angekommen. Dies ist Ihr Beleg.',
  refundTitle: '{amount} gehen zurück auf Ihre Karte',
  refundText:
    'Eine Aufladung wurde erstattet. Das Geld hat Ihre Wallet verlassen; Ihre Bank zeigt es in wenigen Tagen an.',
  disputeTitle: 'Eine Kartenzahlung über {amount} wurde zurückgebucht',
  disputeText:
    'Ihre Bank hat eine Kartenzahlung zurückgebucht, mit der Sie Ihre Wallet aufgeladen haben, weil die Zahlung angefochten wurde. Der Betrag hat Ihre Wallet verlassen.',
  disputeNext:
    'Wenn Sie die Zahlung nicht angefochten haben, fragen Sie Ihre Bank. Stellt sich die Zahlung als berechtigt heraus, kommt das Geld automatisch zurück.',
  debtText: 'Ihr verfügbarer Kontostand ist jetzt im Minus; deshalb sind Zahlungen ausgesetzt.',
  debtNext:
    'Zum Ausgleichen öffnen Sie Ihre Wallet in einer App, die sie nutzt, und wählen Sie „{amount} ausgleichen“. Sobald der verfügbare Kontostand wieder bei null ist, sind Zahlungen wieder möglich.',
  returnedTitle: '{amount} sind wieder in Ihrer Wallet',
  returnedText:
    'Was Ihre Wallet wegen einer angefochtenen oder erstatteten Kartenzahlung verlassen hatte, ist zurückgekommen.',
  declinedTitle: 'Ihre Karte wurde abgelehnt',
  declinedText:
    'Sie wollten Ihre Wallet mit {amount} aufladen. Die Karte wurde abgelehnt, und es kam keine andere Zahlung.',
  declinedNext:
    'Es wurde nichts abgebucht. Öffnen Sie Ihre Wallet und wählen Sie „Aufladen“, um es noch einmal zu versuchen. Nehmen Sie eine andere Karte oder fragen Sie Ihre Bank.',
  firstTitle: 'Erste Zahlung an {app}',
  firstText:
    '{app} hat zum ersten Mal eine Zahlung von Ihrer Wallet abgebucht, seit Sie die App am {date} verbunden haben.',
  firstNext: 'Wenn Sie diese Zahlung kennen, müssen Sie nichts tun. Bei Fragen dazu wenden Sie sich an {app}.',
  firstElse:
    'Um weitere Zahlungen zu verhindern, öffnen Sie Ihre Wallet, wählen Sie „Konto“, dann „Apps, die meine Wallet nutzen“, und trennen Sie die App.',
  passwordTitle: 'Ihre Wallet hat ein neues Passwort',
  passwordText: 'Das Passwort Ihrer Wallet wurde geändert.',
  passwordElse:
    'Wenn Sie das nicht waren, wählen Sie sofort „Passwort vergessen?“ und ändern Sie auch das Passwort Ihres E-Mail-Kontos.',
  emailTitle: 'Ihre Wallet hat eine neue E-Mail-Adresse',
  emailText:
    'Die E-Mail-Adresse Ihrer Wallet wurde in {email} geändert. E-Mails gehen ab jetzt dorthin und nicht mehr hierher.',
  emailElse: 'Wenn Sie das nicht waren, wenden Sie sich sofort an den Support.',
  signInTitle: 'Neue Anmeldung in Ihrer Wallet',
  signInText: 'Jemand, vermutlich Sie, hat sich von einem Ort angemeldet, den wir noch nicht kennen.',
  signInElse: 'Wenn Sie das nicht waren, wählen Sie sofort „Passwort vergessen?“ und legen Sie ein neues fest.',
  deletedTitle: 'Ihre Wallet wurde gelöscht',
  deletedText:
    'Ihr Konto wurde gelöscht. Ihr Name, Ihre E-Mail-Adresse und Ihr Passwort sind nicht mehr bei uns gespeichert.',
  deletedNext: 'Wenn Sie wieder eine Wallet möchten, registrieren Sie sich neu.',
  exportedTitle: 'Eine Kopie Ihrer Daten wurde heruntergeladen',
  exportedText:
    'Eine Datei mit den Daten Ihrer Wallet wurde heruntergeladen: Ihr Konto, Ihre Apps, Ihre Einträge und Ihre Anmeldungen.',
  deletedForText: '{service} hat Ihr Konto gelöscht, weil wir einen Antrag auf Löschung erhalten haben.',
  deletionTitle: 'Wir haben einen Antrag auf Löschung Ihrer Wallet erhalten',
  deletionText:
    '{service} hat den Antrag erhalten, Ihre Wallet und Ihr Konto zu löschen. Noch ist nichts gelöscht: Zuerst prüft eine zweite Person bei {service} den Antrag.',
  deletionNext:
    'Wenn der Antrag nicht bis {date} genehmigt wird, wird nichts gelöscht. Wenn die Wallet gelöscht wird, erhalten Sie noch eine E-Mail.',
  exportedForTitle: 'Wir haben eine Kopie Ihrer Daten erstellt',
  exportedForText:
    '{service} hat eine Anfrage nach den Daten Ihrer Wallet erhalten und eine Datei damit erstellt: Ihr Konto, Ihre Apps, Ihre Einträge und Ihre Anmeldungen.',
  requestElse: 'Wenn Sie das nicht beantragt haben, wenden Sie sich sofort an den Support.',
  disconnectedTitle: '{app} wurde von Ihrer Wallet getrennt',
  disconnectedText:
    '{app} kann keine Zahlungen mehr von Ihrer Wallet abbuchen und ihr kein Geld mehr gutschreiben. Um die App wieder zu verbinden, melden Sie sich dort an.',
  stoppedTitle: 'Warn-E-Mails wurden ausgeschaltet',
  stoppedText: 'Einige E-Mails, die Sie vor Aktivität in Ihrer Wallet warnen, wurden ausgeschaltet.',
  stoppedKind: 'Ausgeschaltet',
  actElse: 'Wenn Sie das nicht waren, wählen Sie sofort „Passwort vergessen?“ und legen Sie ein neues fest.',

  receiptsKind: 'Belege und Nachrichten zu Kartenzahlungen',
  paymentsKind: 'Erste Zahlung an eine neue App',
  signInsKind: 'Anmeldungen von einem neuen Ort',
  stopAsk: 'Diese E-Mails abbestellen?',
  stopButton: 'Abbestellen',
  stopDone: 'Sie erhalten diese E-Mails nicht mehr',
  stopBack: 'In Ihrer Wallet können Sie sie unter „Konto“ wieder einschalten.',
  stopBad: 'Dieser Link funktioniert nicht',
  stopBadText:
    'Er ist unvollständig oder zu alt. Welche E-Mails Sie erhalten, legen Sie in Ihrer Wallet unter „Konto“ fest.',
}
