/** The words of the pages that check receipts and proofs, in English: the keys of every language are these. */
export const words = {
  genuineTitle: 'This receipt is genuine',
  genuineText: 'The signed books of {service} contain it.',
  compareText: 'Compare this with the paper. If anything is different, the paper was changed.',
  day: 'Day',
  dayUtc: '{day} (UTC)',
  unsealedTitle: 'This receipt is not in the signed books yet',
  unsealedText: 'The books are signed about every ten minutes. Try again later.',
  unknownTitle: 'No receipt has this address',
  unknownText: 'Check that the whole address was scanned or typed. If it was, {service} did not issue the receipt.',
  differsTitle: 'This receipt does not match the signed books',
  differsText: 'The entry was changed after the books were signed. Keep the receipt and contact support.',
  limitedTitle: 'Too many checks',
  limitedText: 'Too many receipts were checked from your network. Try again in a few minutes.',
  title: 'Check a proof',
  intro: 'Choose one or two proof files. Nothing leaves this device, and the page works without the internet.',
  choose: 'Choose files',
  drop: 'Or drop them here.',
  save: 'Save this page',
  saveText: 'A saved copy works without this service.',
  keys: 'Keys that you trust',
  keysText:
    'One key per line. These are the keys of {service}. A proof is worth most if you got the key from somewhere else, such as a newspaper, an auditor or an earlier copy of this page.',
  results: 'Results',
  clear: 'Clear',
  payment: 'This payment of {amount} on {time} is entry {sequence} of {size} in its wallet.',
  credit: 'This credit of {amount} on {time} is entry {sequence} of {size} in its wallet.',
  signed: 'The books that contain it were signed by {signer}.',
  reference: 'Reference: {text}',
  erased: 'The texts of this entry were erased. The proof stays valid.',
  file: 'File {name}',
  empty: 'This file is empty.',
  tooLarge: 'This file is too large to be a proof.',
  notText: 'This file is not text, so it is not a proof.',
  notProof: 'This file is not a proof, or it is damaged.',
  unknownSigner: 'None of the keys that you trust signed this proof.',
  notInBooks: 'The signed books do not contain this entry. The file was changed.',
  otherBooks:
    'There are two versions of the books: this checkpoint and the proof contradict each other. Keep both files.',
  checkpointFits: 'This checkpoint is signed by {signer}, and the proof fits it.',
  checkpointOther:
    'This checkpoint is signed by {signer}. It is of other books or of another time than the proofs here, so it neither confirms nor contradicts them.',
  checkpointUnsigned: 'None of the keys that you trust signed this checkpoint.',
  sameHistory:
    'Both proofs are of the same wallet, and its history is the same in both: the first {size} entries did not change.',
  rewritten:
    'The history of this wallet was rewritten between these two proofs. Keep both files: together they prove it.',
  restored:
    'Both proofs are of the same wallet, but its history differs. The service was restored from a backup between them, which can be the reason. Ask the service about it.',
  noLink:
    'Both proofs are of the same wallet and do not contradict each other. They do not show whether every earlier entry is the same. For that, download the newer proof again and choose the older file beside the button.',
  otherWallets: 'These proofs are of different wallets, so they cannot be compared.',
  tooMany: 'Choose at most two proofs and one checkpoint.',
  noCrypto:
    'This browser does not check signatures on this page. Save the page and open it from your device, or use another browser.',
  noScript: 'This page needs JavaScript to check files.',
}
