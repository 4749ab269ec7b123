/** Why the wallet closed: one title and one sentence for each reason. */
export const words = {
  signedOutTitle: 'You are signed out',
  signedOutText:
    'You signed out of {app} in another window or on another device. {app} stays connected and can still take payments on its own.',
  everywhereTitle: 'You are signed out everywhere',
  everywhereText:
    '“Sign out everywhere” closed your wallet in every app and browser. Apps stay connected and can still take payments on their own.',
  passwordChangedTitle: 'Your password was changed',
  passwordChangedText: 'This signed you out here. If it was not you, choose a new password now.',
  disconnectedTitle: '{app} is disconnected',
  disconnectedText: '{app} can no longer see or use your wallet. To connect it again, sign in.',
  appOffTitle: '{app} is paused',
  appOffText: '{service} has switched off this app. It cannot open your wallet or take payments. Your money is safe.',
  deletedTitle: 'Your account was deleted',
  deletedText: 'This wallet no longer exists, and every app is disconnected.',
  noSessionTitle: 'Your wallet is not open here',
  noSessionText: 'To open it, sign in. Your money is safe.',
  closeWindow: 'You can close this window and go back to {app}.',
}
