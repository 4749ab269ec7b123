import type { Words } from '../words.ts'

export const words: Words['pending'] = {
  waitingEntry: 'Rechargement en cours',
  failedEntry: 'Rechargement non abouti',
  failedDeclined: 'La carte a été refusée. Aucun argent n’a bougé.',
  failedAuthentication: 'La banque n’a pas pu confirmer que c’était vous. Aucun argent n’a bougé.',
  failedUnconfirmed: 'Votre banque n’a pas reçu de confirmation. Aucun argent n’a bougé.',
  failedCancelled: 'Il a été annulé. Aucun argent n’a bougé.',
  failedOther: 'La banque ne l’a pas exécuté. Aucun argent n’a bougé.',

  holdEntry: 'Paiement réservé',
  holdUntil: 'Échéance : {when}',
  holdsText:
    'Des applications ont réservé cet argent pour des paiements. Ce qu’elles ne prélèvent pas à temps redevient disponible.',
  holdTaken: '{taken} sur {amount} déjà payés',
  holdsNone: 'Rien n’est réservé.',
  holdsAll: 'Afficher tout ce qui est réservé',
  holdsMore: 'Les plus anciens ne sont pas affichés.',
  wholeBalance: 'Solde',
}
