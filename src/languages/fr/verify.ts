import type { Words } from '../words.ts'

export const words: Words['verify'] = {
  genuineTitle: 'Ce reçu est authentique',
  genuineText: 'Il figure dans les livres signés de {service}.',
  compareText: 'Comparez ces données avec le papier. Si quelque chose diffère, le papier a été modifié.',
  day: 'Jour',
  dayUtc: '{day} (UTC)',
  unsealedTitle: 'Ce reçu n’est pas encore dans les livres signés',
  unsealedText: 'Les livres sont signés environ toutes les dix minutes. Réessayez plus tard.',
  unknownTitle: 'Aucun reçu n’a cette adresse',
  unknownText: 'Vérifiez que l’adresse entière a été scannée ou saisie. Si oui, {service} n’a pas émis ce reçu.',
  differsTitle: 'Ce reçu ne correspond pas aux livres signés',
  differsText: 'L’opération a été modifiée après la signature des livres. Conservez le reçu et contactez l’assistance.',
  limitedTitle: 'Trop de vérifications',
  limitedText: 'Trop de reçus ont été vérifiés depuis votre réseau. Réessayez dans quelques minutes.',
  title: 'Vérifier une preuve',
  intro: 'Choisissez un ou deux fichiers de preuve. Rien ne quitte cet appareil, et la page fonctionne sans Internet.',
  choose: 'Choisir des fichiers',
  drop: 'Ou déposez-les ici.',
  save: 'Enregistrer cette page',
  saveText: 'Une copie enregistrée fonctionne sans ce service.',
  keys: 'Clés auxquelles vous faites confiance',
  keysText:
    'Une clé par ligne. Ce sont les clés de {service}. Une preuve a le plus de valeur si vous tenez la clé d’ailleurs : un journal, un auditeur ou une copie antérieure de cette page.',
  results: 'Résultats',
  clear: 'Effacer',
  payment: 'Ce paiement de {amount} du {time} est l’opération {sequence} sur {size} de son portefeuille.',
  credit: 'Ce crédit de {amount} du {time} est l’opération {sequence} sur {size} de son portefeuille.',
  signed: 'Les livres correspondants ont été signés par {signer}.',
  signedAt: 'Les livres correspondants ont été signés par {signer} le {time}.',
  position: 'À la fin du {day} (UTC), le solde du compte {account} était de {amount}.',
  positionSums: 'Reçu : {received}. Payé : {paid}. Opérations : {count}.',
  reference: 'Référence : {text}',
  erased: 'Les textes de cette opération ont été effacés. La preuve reste valable.',
  file: 'Fichier {name}',
  empty: 'Ce fichier est vide.',
  tooLarge: 'Ce fichier est trop volumineux pour être une preuve.',
  notText: 'Ce fichier n’est pas du texte : ce n’est pas une preuve.',
  notProof: 'Ce fichier n’est pas une preuve, ou il est endommagé.',
  unknownSigner: 'Aucune des clés auxquelles vous faites confiance n’a signé cette preuve.',
  notInBooks: 'Les livres signés ne contiennent pas ce que dit ce fichier. Le fichier a été modifié.',
  otherBooks:
    'Il existe deux versions des livres : ce point de contrôle et la preuve se contredisent. Conservez les deux fichiers.',
  checkpointFits: 'Ce point de contrôle est signé par {signer}, et la preuve y correspond.',
  checkpointOther:
    'Ce point de contrôle est signé par {signer}. Il concerne d’autres livres ou un autre moment que les preuves ici : il ne les confirme pas et ne les contredit pas.',
  checkpointUnsigned: 'Aucune des clés auxquelles vous faites confiance n’a signé ce point de contrôle.',
  sameHistory:
    'Les deux preuves sont du même portefeuille, et son historique est identique dans les deux : les {size} premières opérations n’ont pas changé.',
  rewritten:
    'L’historique de ce portefeuille a été réécrit entre ces deux preuves. Conservez les deux fichiers : ensemble, ils le prouvent.',
  restored:
    'Les deux preuves sont du même portefeuille, mais son historique diffère. Entre-temps, le service a été restauré à partir d’une sauvegarde, ce qui peut en être la cause. Interrogez le service.',
  noLink:
    'Les deux preuves sont du même portefeuille et ne se contredisent pas. Elles ne montrent pas si chaque opération antérieure est identique. Pour cela, téléchargez de nouveau la preuve la plus récente et choisissez l’ancien fichier à côté du bouton.',
  otherWallets: 'Ces preuves sont de portefeuilles différents : elles ne peuvent pas être comparées.',
  noWallet: 'Seules deux preuves d’opérations d’un même portefeuille peuvent être comparées.',
  tooMany: 'Choisissez au plus deux preuves et un point de contrôle.',
  noCrypto:
    'Ce navigateur ne vérifie pas les signatures sur cette page. Enregistrez la page et ouvrez-la depuis votre appareil, ou utilisez un autre navigateur.',
  noScript: 'Cette page a besoin de JavaScript pour vérifier des fichiers.',
}
