/** The notice a page shows after a change. The address carries a key of this list, never the text. */

const notices: Readonly<Record<string, string>> = {
  'app-saved': 'The changes are saved. Every process uses them within a second.',
  'app-activated': 'The app is active: its credentials are accepted.',
  'app-deactivated': 'The app is inactive: its credentials are refused and its widgets are off.',
  'secret-revoked': 'The secret is revoked. It is refused everywhere within a second.',
  'wallet-frozen': 'The wallet is frozen: it takes credits only.',
  'wallet-unfrozen': 'The wallet is active again.',
  'wallet-in-debt': 'Your freeze is lifted, but the wallet is below zero: it stays frozen until the debt is repaid.',
  'topup-refunded': 'The refund is made. The ledger shows it within a minute.',
  'note-kept': 'The note is saved. Every operator sees it here.',
  'work-again': 'It runs again now.',
  'mail-again': 'The mail is being sent again.',
  'correction-waiting': 'A second operator has to approve it. Until then nothing moves.',
  'correction-done': 'The correction is in the ledger.',
  'correction-declined': 'The correction is declined: nothing moved.',
  'correction-withdrawn': 'The correction is withdrawn: nothing moved.',
  'correction-decided': 'This correction was already decided.',
  'deletion-waiting': 'A second operator has to approve the deletion. The user is mailed about it now.',
  'deletion-approved': 'The account is deleted. The user is mailed about it.',
  'deletion-declined': 'The deletion is declined: the account stays.',
  'deletion-withdrawn': 'The request is withdrawn: the account stays.',
  'deletion-decided': 'This request was already decided. The page shows how.',
  settled: 'The period is marked as paid out.',
  unsettled: 'The settlement is reversed: the amount is owed again.',
  'day-ordered': 'The day is being read again. This takes about a minute if the processor answers.',
  'difference-settled': 'The difference is resolved. It opens again if either side changes.',
  'report-read': 'The report was read and its days were compared.',
  'report-contradicts':
    'The report was read. Lines that contradict the card processor were not stored: they are listed below.',
  'contradiction-resolved': 'The contradiction is resolved.',
  'bonus-granted': 'The bonus is credited.',
  'password-changed': 'Your password is changed, and your other sessions are signed out.',
  'identity-connected': 'The account is connected. You can sign in with it from now on.',
  'identity-disconnected': 'The account is disconnected. You sign in with your password.',
  'session-ended': 'That session is signed out.',
  'sessions-ended': 'The other sessions are signed out.',
  'access-changed': 'The operator’s access is changed.',
  'link-mailed':
    'The link goes to the person’s mailbox. “Open links” below shows where, and whether the mail was sent.',
  'change-waiting': 'A second admin has to approve it. Until then nothing changes.',
  'change-approved': 'The change is approved and made.',
  'change-declined': 'The change is declined.',
  'change-withdrawn': 'The change is withdrawn.',
  'operator-suspended': 'The operator is suspended: the sessions ended, and signing in is refused.',
  'link-revoked': 'The link is revoked and no longer works.',
  'operator-signed-out': 'All of the operator’s sessions are signed out.',
  'signed-out': 'You are signed out.',
}

export function noticeOf(key: string): string | undefined {
  return Object.hasOwn(notices, key) ? notices[key] : undefined
}
