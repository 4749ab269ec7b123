/** English: the keys of every language are these. Words in braces are filled in; every language keeps them. */
export const words = {
  hello: 'Hello {name},',
  why: 'You are receiving this email because you have a wallet at {service}.',
  whyDeleted: 'You are receiving this email because you had a wallet at {service}.',
  whyStranger: 'You are receiving this email because someone entered this address at {service}.',
  help: 'Help',
  terms: 'Terms',
  privacy: 'Privacy',
  stop: 'Unsubscribe from these emails',
  codeLife: 'It works once and expires after 15 minutes.',

  amount: 'Amount',
  balance: 'Balance after',
  owed: 'You owe',
  app: 'App',
  forWhat: 'For',
  receipt: 'Receipt',
  when: 'When',
  browser: 'Browser',

  confirmSubject: '{code} is your wallet code',
  confirmTitle: 'Confirm your email',
  confirmText: 'Enter this code in the {app} wallet to confirm this email address.',
  confirmElse: 'If you did not sign up, ignore this email. No account is created without the code.',
  takenTitle: 'You already have a wallet',
  takenText: 'Someone, probably you, tried to sign up in the {app} wallet with this email address.',
  takenNext: 'You already have an account. Sign in with it, or choose “Forgot your password?”.',
  takenElse: 'If this was not you, you do not need to do anything. Nothing was changed.',
  resetSubject: '{code} is your password reset code',
  resetTitle: 'Choose a new password',
  resetText: 'Enter this code in the {app} wallet to choose a new password.',
  resetElse:
    'If you did not request this, ignore this email. Your password stays the same. Never share this code with anyone.',
  unconfirmedTitle: 'Your sign-up is not finished',
  unconfirmedText: 'Someone, probably you, asked for a new password in the {app} wallet.',
  unconfirmedNext:
    'There is no account with this email address yet. A sign-up is waiting for the code we sent. Enter that code, or sign up again to get a new one.',
  noPasswordTitle: 'Choose a password for your wallet',
  noPasswordText:
    'Your email address is confirmed. Before that, someone signed up with it more than once, with different passwords. We cannot know which one is yours, so none of them works.',
  noPasswordNext: 'To choose a password, go to the sign-in page and choose “Forgot your password?”.',
  changeSubject: '{code} is your code to change your email',
  changeTitle: 'Change your wallet’s email address',
  changeOldText:
    'Someone, probably you, wants to change the email address of your wallet to {email}. Enter this code in your wallet to allow it.',
  changeOldElse:
    'If this was not you, do not share this code with anyone, and choose a new password: the person who requested it is signed in to your wallet.',
  changeNewText: 'Enter this code in your wallet to make this its email address.',
  changeNewElse: 'If you did not request this, ignore this email. Nothing changes without the code.',

  welcomeTitle: 'Welcome to {service}',
  welcomeText: 'Your wallet is ready: one wallet for {app} and every other app that uses it.',
  welcomeNext:
    'Choose “Add money” to top it up by card. Your wallet lists every payment and top-up, whichever app you open it in.',
  welcomeElse: 'We never ask for your password or for a code by email or by phone.',
  topupTitle: '{amount} is in your wallet',
  topupText: 'Your card payment has arrived. This is your receipt.',
  refundTitle: '{amount} goes back to your card',
  refundText: 'A top-up was refunded. The money has left your wallet; your bank shows it within a few days.',
  disputeTitle: 'A card payment of {amount} was reversed',
  disputeText:
    'Your bank reversed a card payment that added money to your wallet, because the payment was disputed. The amount has left your wallet.',
  disputeNext:
    'If you did not dispute it, ask your bank. If the payment is found to be valid, the money comes back automatically.',
  debtText: 'Your available balance is now below zero, so payments are paused.',
  debtNext:
    'To repay, open your wallet in an app that uses it and choose “Repay {amount}”. Payments work again as soon as your available balance is back to zero.',
  returnedTitle: '{amount} is back in your wallet',
  returnedText: 'The money that left your wallet for a disputed or refunded card payment has come back.',
  declinedTitle: 'Your card was declined',
  declinedText: 'You tried to add {amount} to your wallet. The card was declined, and no other payment followed.',
  declinedNext:
    'No money was taken. To try again, open your wallet and choose “Add money”. Use another card, or ask your bank.',
  firstTitle: 'First payment to {app}',
  firstText: '{app} took its first payment from your wallet since you connected it on {date}.',
  firstNext: 'If you recognize this payment, you do not need to do anything. For questions about it, contact {app}.',
  firstElse:
    'To stop further payments, open your wallet, choose “Account”, then “Apps using my wallet”, and disconnect the app.',
  passwordTitle: 'Your wallet has a new password',
  passwordText: 'The password of your wallet was changed.',
  passwordElse:
    'If this was not you, choose “Forgot your password?” right away, and change the password of your email account too.',
  emailTitle: 'Your wallet has a new email address',
  emailText:
    'The email address of your wallet was changed to {email}. From now on, emails go there and no longer here.',
  emailElse: 'If this was not you, contact support right away.',
  signInTitle: 'New sign-in to your wallet',
  signInText: 'Someone, probably you, signed in from a location we have not seen before.',
  signInElse: 'If this was not you, choose “Forgot your password?” right away and set a new one.',
  deletedTitle: 'Your wallet has been deleted',
  deletedText: 'Your account has been deleted. We no longer have your name, your email or your password.',
  deletedNext: 'To use a wallet again, sign up for a new one.',
  exportedTitle: 'A copy of your data was downloaded',
  exportedText:
    'A file with the data of your wallet was downloaded: your account, your apps, your entries and your sign-ins.',
  deletedForText: '{service} deleted your account because we received a request to delete it.',
  deletionTitle: 'We received a request to delete your wallet',
  deletionText:
    '{service} received a request to delete your wallet and your account. Nothing is deleted yet: a second person at {service} checks the request first.',
  deletionNext:
    'If the request is not approved by {date}, nothing is deleted. If the wallet is deleted, you get one more email.',
  exportedForTitle: 'We made a copy of your data',
  exportedForText:
    '{service} received a request for the data of your wallet, and made a file with it: your account, your apps, your entries and your sign-ins.',
  requestElse: 'If you did not ask for this, contact support right away.',
  disconnectedTitle: '{app} was disconnected from your wallet',
  disconnectedText:
    '{app} can no longer take payments from your wallet or add money to it. To connect it again, sign in through the app.',
  stoppedTitle: 'Warning emails were turned off',
  stoppedText: 'Some emails that warn you about activity in your wallet were turned off.',
  stoppedKind: 'Turned off',
  actElse: 'If this was not you, choose “Forgot your password?” right away and set a new one.',

  receiptsKind: 'Receipts and card payment updates',
  paymentsKind: 'First payment to a new app',
  signInsKind: 'Sign-ins from a new location',
  stopAsk: 'Unsubscribe from these emails?',
  stopButton: 'Unsubscribe',
  stopDone: 'You will no longer receive these emails',
  stopBack: 'You can turn them back on in your wallet, under “Account”.',
  stopBad: 'This link does not work',
  stopBadText: 'It is incomplete or too old. You can choose which emails you receive in your wallet, under “Account”.',
}
