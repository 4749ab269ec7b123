import type { Words } from '../words.ts'

export const words: Words['ended'] = {
  signedOutTitle: 'Sie sind abgemeldet',
  signedOutText:
    'Sie haben sich in einem anderen Fenster oder auf einem anderen Gerät bei {app} abgemeldet. {app} bleibt verbunden und kann weiterhin von sich aus Zahlungen abbuchen.',
  everywhereTitle: 'Sie sind überall abgemeldet',
  everywhereText:
    '„Überall abmelden“ hat Ihre Wallet in jeder App und jedem Browser geschlossen. Apps bleiben verbunden und können weiterhin von sich aus Zahlungen abbuchen.',
  passwordChangedTitle: 'Ihr Passwort wurde geändert',
  passwordChangedText:
    'Dadurch wurden Sie hier abgemeldet. Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort.',
  disconnectedTitle: '{app} ist getrennt',
  disconnectedText:
    '{app} kann Ihre Wallet nicht mehr sehen oder nutzen. Um die App wieder zu verbinden, melden Sie sich an.',
  appOffTitle: '{app} ist pausiert',
  appOffText:
    '{service} hat diese App abgeschaltet. Sie kann Ihre Wallet nicht öffnen und keine Zahlungen abbuchen. Ihr Geld ist sicher.',
  deletedTitle: 'Ihr Konto wurde gelöscht',
  deletedText: 'Diese Wallet gibt es nicht mehr, und jede App ist getrennt.',
  noSessionTitle: 'Ihre Wallet ist hier nicht geöffnet',
  noSessionText: 'Melden Sie sich an, um sie zu öffnen. Ihr Geld ist sicher.',
  closeWindow: 'Sie können dieses Fenster schließen und zu {app} zurückkehren.',
}
