import type { Words } from '../words.ts'

export const words: Words['mail'] = {
  hello: 'Bonjour {name},',
  why: 'Vous recevez cet e-mail parce que vous avez un portefeuille chez {service}.',
  whyDeleted: 'Vous recevez cet e-mail parce que vous aviez un portefeuille chez {service}.',
  whyStranger: 'Vous recevez cet e-mail parce que quelqu’un a saisi cette adresse chez {service}.',
  help: 'Aide',
  terms: 'Conditions',
  privacy: 'Confidentialité',
  stop: 'Se désabonner de ces e-mails',
  codeLife: 'Il est valable une fois et expire après 15 minutes.',

  amount: 'Montant',
  balance: 'Solde après',
  owed: 'Vous devez',
  app: 'Application',
  forWhat: 'Objet',
  receipt: 'Reçu',
  when: 'Quand',
  browser: 'Navigateur',

  confirmSubject: '{code} est le code de votre portefeuille',
  confirmTitle: 'Confirmez votre adresse e-mail',
  confirmText: 'Saisissez ce code dans le portefeuille de {app} pour confirmer cette adresse e-mail.',
  confirmElse: 'Si vous ne vous êtes pas inscrit, ignorez cet e-mail. Sans le code, aucun compte n’est créé.',
  takenTitle: 'Vous avez déjà un portefeuille',
  takenText: 'Quelqu’un, sans doute vous, a voulu s’inscrire dans le portefeuille de {app} avec cette adresse e-mail.',
  takenNext: 'Vous avez déjà un compte : connectez-vous, ou choisissez « Mot de passe oublié ? ».',
  takenElse: 'Si ce n’était pas vous, vous n’avez rien à faire. Rien n’a été modifié.',
  resetSubject: '{code} est votre code de réinitialisation du mot de passe',
  resetTitle: 'Choisissez un nouveau mot de passe',
  resetText: 'Saisissez ce code dans le portefeuille de {app} pour choisir un nouveau mot de passe.',
  resetElse:
    'Si vous ne l’avez pas demandé, ignorez cet e-mail. Votre mot de passe reste le même. Ne donnez ce code à personne.',
  unconfirmedTitle: 'Votre inscription n’est pas terminée',
  unconfirmedText: 'Quelqu’un, sans doute vous, a demandé un nouveau mot de passe dans le portefeuille de {app}.',
  unconfirmedNext:
    'Il n’y a pas encore de compte avec cette adresse e-mail : une inscription attend le code que nous avons envoyé. Saisissez-le, ou inscrivez-vous à nouveau pour en recevoir un autre.',
  noPasswordTitle: 'Choisissez un mot de passe pour votre portefeuille',
  noPasswordText:
    'Votre adresse e-mail est confirmée. Auparavant, quelqu’un s’est inscrit plusieurs fois avec elle, avec des mots de passe différents. Nous ne pouvons pas savoir lequel est le vôtre : aucun n’est donc valable.',
  noPasswordNext: 'Pour en choisir un, ouvrez la connexion et choisissez « Mot de passe oublié ? ».',
  changeSubject: '{code} est votre code pour changer d’adresse e-mail',
  changeTitle: 'Changer l’adresse e-mail de votre portefeuille',
  changeOldText:
    'Quelqu’un, sans doute vous, veut remplacer l’adresse e-mail de votre portefeuille par {email}. Saisissez ce code dans votre portefeuille pour l’autoriser.',
  changeOldElse:
    'Si ce n’était pas vous, ne donnez ce code à personne et choisissez un nouveau mot de passe : la personne qui l’a demandé est connectée à votre portefeuille.',
  changeNewText: 'Saisissez ce code dans votre portefeuille pour que cette adresse e-mail devienne la sienne.',
  changeNewElse: 'Si vous ne l’avez pas demandé, ignorez cet e-mail. Sans le code, rien ne change.',

  welcomeTitle: 'Bienvenue chez {service}',
  welcomeText: 'Votre portefeuille est prêt : un seul pour {app} et toutes les applications qui l’utilisent.',
  welcomeNext:
    'Choisissez « Ajouter de l’argent » pour le recharger par carte. Chaque paiement et chaque rechargement figure dans votre portefeuille, quelle que soit l’application où vous l’ouvrez.',
  welcomeElse: 'Nous ne demandons jamais votre mot de passe ni un code par e-mail ou par téléphone.',
  topupTitle: '{amount} dans votre portefeuille',
  topupText: 'Votre paiement par carte est arrivé. Voici votre reçu.',
  refundTitle: '{amount} retournent sur votre carte',
  refundText:
    'Un rechargement a été remboursé. L’argent a quitté votre portefeuille ; votre banque l’affichera d’ici quelques jours.',
  disputeTitle: 'Un paiement par carte de {amount} a été annulé',
  disputeText:
    'Votre banque a annulé un paiement par carte avec lequel vous aviez ajouté de l’argent, parce qu’il a été contesté. Le montant a quitté votre portefeuille.',
  disputeNext:
    'Si vous ne l’avez pas contesté, interrogez votre banque. Si le paiement est reconnu valable, l’argent revient automatiquement.',
  debtText: 'Votre solde disponible est maintenant négatif : les paiements sont suspendus.',
  debtNext:
    'Pour rembourser, ouvrez votre portefeuille dans une application qui l’utilise et choisissez « Rembourser {amount} ». Les paiements fonctionnent à nouveau dès que le solde disponible est revenu à zéro.',
  returnedTitle: '{amount} sont revenus dans votre portefeuille',
  returnedText: 'Ce qui avait quitté votre portefeuille pour un paiement par carte contesté ou remboursé est revenu.',
  declinedTitle: 'Votre carte a été refusée',
  declinedText:
    'Vous vouliez ajouter {amount} à votre portefeuille. La carte a été refusée, et aucun autre paiement n’a suivi.',
  declinedNext:
    'Rien n’a été débité. Pour réessayer, ouvrez votre portefeuille et choisissez « Ajouter de l’argent ». Utilisez une autre carte ou contactez votre banque.',
  firstTitle: 'Premier paiement à {app}',
  firstText: '{app} a prélevé son premier paiement sur votre portefeuille depuis que vous l’avez associée le {date}.',
  firstNext:
    'Si vous reconnaissez ce paiement, vous n’avez rien à faire. Pour toute question à son sujet, contactez {app}.',
  firstElse:
    'Pour empêcher d’autres paiements, ouvrez votre portefeuille, choisissez « Compte », puis « Applications utilisant mon portefeuille », et dissociez l’application.',
  passwordTitle: 'Votre portefeuille a un nouveau mot de passe',
  passwordText: 'Le mot de passe de votre portefeuille a été changé.',
  passwordElse:
    'Si ce n’était pas vous, choisissez tout de suite « Mot de passe oublié ? », et changez aussi le mot de passe de votre compte e-mail.',
  emailTitle: 'Votre portefeuille a une nouvelle adresse e-mail',
  emailText:
    'L’adresse e-mail de votre portefeuille est maintenant {email}. Les e-mails y sont envoyés désormais, et plus ici.',
  emailElse: 'Si ce n’était pas vous, contactez tout de suite l’assistance.',
  signInTitle: 'Nouvelle connexion à votre portefeuille',
  signInText: 'Quelqu’un, sans doute vous, s’est connecté depuis un endroit que nous ne connaissions pas.',
  signInElse: 'Si ce n’était pas vous, choisissez tout de suite « Mot de passe oublié ? » pour en définir un nouveau.',
  deletedTitle: 'Votre portefeuille a été supprimé',
  deletedText: 'Votre compte a été supprimé. Nous ne conservons plus votre nom, votre e-mail ni votre mot de passe.',
  deletedNext: 'Si vous voulez de nouveau un portefeuille, inscrivez-vous à nouveau.',
  exportedTitle: 'Une copie de vos données a été téléchargée',
  exportedText:
    'Un fichier contenant les données de votre portefeuille a été téléchargé : votre compte, vos applications, vos opérations et vos connexions.',
  deletedForText: '{service} a supprimé votre compte parce que nous avons reçu une demande de suppression.',
  deletionTitle: 'Nous avons reçu une demande de suppression de votre portefeuille',
  deletionText:
    '{service} a reçu une demande de suppression de votre portefeuille et de votre compte. Rien n’est encore supprimé : une deuxième personne chez {service} vérifie d’abord la demande.',
  deletionNext:
    'Si la demande n’est pas approuvée d’ici au {date}, rien n’est supprimé. Si le portefeuille est supprimé, vous recevrez un autre e-mail.',
  exportedForTitle: 'Nous avons fait une copie de vos données',
  exportedForText:
    '{service} a reçu une demande portant sur les données de votre portefeuille et en a fait un fichier : votre compte, vos applications, vos opérations et vos connexions.',
  requestElse: 'Si vous n’avez pas fait cette demande, contactez tout de suite l’assistance.',
  disconnectedTitle: '{app} a été dissociée de votre portefeuille',
  disconnectedText:
    '{app} ne peut plus prélever de paiements sur votre portefeuille ni y ajouter d’argent. Pour l’associer de nouveau, connectez-vous depuis cette application.',
  stoppedTitle: 'Des e-mails d’alerte ont été désactivés',
  stoppedText: 'Certains e-mails qui vous avertissent de l’activité de votre portefeuille ont été désactivés.',
  stoppedKind: 'Désactivé',
  actElse: 'Si ce n’était pas vous, choisissez tout de suite « Mot de passe oublié ? » pour en définir un nouveau.',

  receiptsKind: 'Reçus et suivi des paiements par carte',
  paymentsKind: 'Premier paiement à une nouvelle application',
  signInsKind: 'Connexions depuis un nouvel endroit',
  stopAsk: 'Se désabonner de ces e-mails ?',
  stopButton: 'Se désabonner',
  stopDone: 'Vous ne recevrez plus ces e-mails',
  stopBack: 'Vous pouvez les réactiver dans votre portefeuille, sous « Compte ».',
  stopBad: 'Ce lien ne fonctionne pas',
  stopBadText:
    'Il est incomplet ou trop ancien. Vous pouvez choisir les e-mails que vous recevez dans votre portefeuille, sous « Compte ».',
}
