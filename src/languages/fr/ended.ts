import type { Words } from '../words.ts'

export const words: Words['ended'] = {
  signedOutTitle: 'Vous êtes déconnecté',
  signedOutText:
    'Vous vous êtes déconnecté de {app} dans une autre fenêtre ou sur un autre appareil. {app} reste associée et peut encore prélever des paiements d’elle-même.',
  everywhereTitle: 'Vous êtes déconnecté partout',
  everywhereText:
    '« Se déconnecter partout » a fermé votre portefeuille dans chaque application et chaque navigateur. Les applications restent associées et peuvent encore prélever des paiements d’elles-mêmes.',
  passwordChangedTitle: 'Votre mot de passe a été modifié',
  passwordChangedText:
    'Vous avez donc été déconnecté ici. Si ce n’était pas vous, choisissez tout de suite un nouveau mot de passe.',
  disconnectedTitle: '{app} est dissociée',
  disconnectedText:
    '{app} ne peut plus voir ni utiliser votre portefeuille. Pour l’associer de nouveau, connectez-vous.',
  appOffTitle: '{app} est en pause',
  appOffText:
    '{service} a désactivé cette application. Elle ne peut ni ouvrir votre portefeuille ni prélever de paiements. Votre argent est en sécurité.',
  deletedTitle: 'Votre compte a été supprimé',
  deletedText: 'Ce portefeuille n’existe plus, et chaque application est dissociée.',
  noSessionTitle: 'Votre portefeuille n’est pas ouvert ici',
  noSessionText: 'Pour l’ouvrir, connectez-vous. Votre argent est en sécurité.',
  closeWindow: 'Vous pouvez fermer cette fenêtre et retourner sur {app}.',
}
