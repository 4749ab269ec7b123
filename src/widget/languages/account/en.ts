/** The words of the account view, in English: the keys of every language are these. */
export const words = {
  apps: 'Apps using my wallet',
  appsText: 'These apps can see your balance and make payments from it.',
  thisApp: 'This app',
  connected: 'Connected {date}',
  disconnect: 'Disconnect',
  disconnectApp: 'Disconnect {app}',
  disconnectAsk: 'Disconnect {app}?',
  disconnectText: '{app} will no longer see or use your wallet. Your money stays yours.',
  disconnected: '{app} is disconnected.',
  cancel: 'Cancel',
  switchAccount: 'Switch account',
  logOut: 'Log out',
}
