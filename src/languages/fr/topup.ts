import type { Words } from '../words.ts'

export const words: Words['topup'] = {
  amount: 'Montant',
  otherAmount: 'Autre montant',
  continue: 'Continuer',
  amountWrong: 'Saisissez un montant compris entre {min} et {max}.',
  amountUnclear: 'Ce montant peut se lire de deux façons. Pour {amount}, saisissez {example}.',
  amountForeign: 'Ce portefeuille est en {currency}. Saisissez le montant en {currency}.',
  amountMalformed: 'Nous ne pouvons pas lire ce montant. Saisissez-le ainsi : {example}.',
  topupAtLeast: 'Le rechargement minimal est de {min}. Le reste demeure dans votre portefeuille.',
  topupAtMost: 'Le rechargement maximal est de {max}. Vous pouvez ajouter le reste avec un autre rechargement.',
  topupNoneTitle: 'Le rechargement n’est pas disponible',
  topupNoneText: 'Ce portefeuille n’accepte pas de paiement par carte pour le moment. Votre solde n’est pas concerné.',
  topupFrozenText: 'Le portefeuille est bloqué : il ne peut pas être rechargé par carte.',
  topupExpiredText: 'Fermez cette fenêtre et choisissez de nouveau « Ajouter de l’argent » dans {app}.',
  topupInto: 'Dans le portefeuille de {name}',
  topupPreparing: 'Préparation du paiement…',
  topupChecking: 'Vérification du paiement…',
  onItsWay: '{amount} sont déjà en route. Votre banque traite encore le paiement.',
  topupLands: 'Si vous avez payé, l’argent arrivera quand même dans votre portefeuille.',
  backToWallet: 'Retour au portefeuille',
}
