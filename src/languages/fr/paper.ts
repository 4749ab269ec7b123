import type { Words } from '../words.ts'

export const words: Words['paper'] = {
  receipt: 'Reçu',
  statement: 'Relevé',
  print: 'Imprimer',
  csvFile: 'Fichier CSV',
  questions: 'Des questions ?',
  receiptCode: 'Code du reçu',
  holder: 'Titulaire du portefeuille',
  refunded: 'Remboursé sur la carte',
  opening: 'Solde initial',
  closing: 'Solde final',
  heldNow: 'Réservé au moment de l’établissement : {amount}. Ce montant ne figure pas dans ces opérations.',
  moneyIn: 'Entrées',
  moneyOut: 'Sorties',
  timeZone: 'Fuseau horaire',
  noEntries: 'Aucune opération ce mois-ci.',
  tooLong:
    'Opérations de ce mois : {count}. Cette page affiche les {shown} premières. Le fichier CSV les contient toutes.',
  selection: 'Opérations sélectionnées',
  selectionText:
    'Ceci est une sélection : uniquement les opérations qui correspondent à la recherche ci-dessous. Ce n’est pas un relevé complet et il n’y a ni solde initial ni solde final.',
  matches: 'Opérations trouvées',
  noMatches: 'Aucune opération ne correspond à cette recherche.',
  searchedPart:
    'Opérations : {count}. Seules les {shown} plus récentes ont été examinées. Les plus anciennes ne sont pas dans cette sélection.',
  tooMany:
    'Opérations trouvées : {count}. Cette page affiche les {shown} plus récentes. Le fichier CSV les contient toutes.',
  period: 'Période',
  asOf: 'Établi le',
  amount: 'Montant',
  balance: 'Solde',
  reference: 'Référence',
  currency: 'Devise',
  archived: 'Cette page a besoin d’opérations qui sont dans les archives. Demandez-la à l’assistance.',
  usedTitle: 'Cette page ne s’ouvre qu’une fois',
  usedText: 'Pour protéger vos données, son lien a expiré. Ouvrez-la de nouveau depuis votre portefeuille.',
  data: 'Mes données',
  dataText:
    'Toutes les données que ce service a sur vous, dans un fichier JSON : votre compte, les applications associées, vos rechargements, l’historique de votre compte et chaque opération de votre portefeuille.',
  dataFile: 'Télécharger',
  proof: 'Télécharger la preuve',
  qrText:
    'Scannez ce code pour vérifier que ce reçu est authentique. La page affiche le montant, le jour et la boutique, et rien d’autre.',
  qrLink: 'Ouvrir la page',
  qrLabel: 'Code QR : adresse qui confirme ce reçu',
  proofLater: 'La preuve de cette opération n’est pas encore prête. Rouvrez cette page dans une dizaine de minutes.',
  proofText:
    'La preuve est un fichier qui montre, sans ce service, que cette opération figure dans ses livres signés. Vérifiez-la sur {address}.',
  statementProof:
    'La preuve est un fichier qui montre, sans ce service, que la dernière opération de ce mois figure dans ses livres signés. Avec une preuve antérieure, elle montre aussi si une opération précédente a été modifiée. Vérifiez-la sur {address}.',
  earlierProof: 'J’ai une preuve antérieure de ce portefeuille',
  earlierText:
    'Choisissez le fichier antérieur. La nouvelle preuve montre alors aussi si votre historique est resté le même.',
  notProof: 'Ce fichier n’est pas une preuve.',
  sinceEntry: 'La preuve couvrira votre historique depuis l’opération {size}.',
}
