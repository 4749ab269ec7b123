/** The notice that a page shows after a change. The address names a key of this list, never a text. */

const notices: Readonly<Record<string, string>> = {
  'app-saved': 'The changes are saved. Every process uses them within a second.',
  'app-activated': 'The app is active: its credentials are accepted.',
  'app-deactivated': 'The app is inactive: its credentials and its widgets answer nothing.',
  'secret-revoked': 'The secret is revoked. It is refused everywhere within a second.',
  'wallet-frozen': 'The wallet is frozen: it takes credits only.',
  'wallet-unfrozen': 'The wallet is active again.',
  'wallet-in-debt': 'Your freeze is lifted, but the wallet is below zero: it stays frozen until the debt is repaid.',
  'topup-refunded': 'The refund is made, and the wallet follows it.',
  'note-kept': 'The note is kept. Every operator sees it here.',
  'mail-again': 'The mail is sent once more.',
  'correction-waiting': 'A second operator has to approve it. Until then nothing moves.',
  'correction-done': 'The correction is in the ledger.',
  'correction-declined': 'The correction is declined: nothing moved.',
  'correction-withdrawn': 'The correction is withdrawn: nothing moved.',
  'correction-decided': 'It was decided before.',
  settled: 'The period is marked as paid out.',
  unsettled: 'The mark is taken back: the amount is owed again.',
  'day-ordered': 'The day is read again in the background: within a minute, if the processor answers.',
  'difference-settled': 'The difference is settled. It is open again when either side says something else.',
  'report-read': 'The report is read, and its days are compared.',
  'bonus-granted': 'The bonus is credited.',
  'password-changed': 'Your password is changed, and your other sessions are signed out.',
  'session-ended': 'That session is signed out.',
  'sessions-ended': 'The other sessions are signed out.',
  'access-changed': 'The operator’s access is changed.',
  'link-revoked': 'The link is revoked: it opens nothing any more.',
  'operator-signed-out': 'All of the operator’s sessions are signed out.',
  'signed-out': 'You are signed out.',
}

export function noticeOf(word: string): string | undefined {
  return Object.hasOwn(notices, word) ? notices[word] : undefined
}
