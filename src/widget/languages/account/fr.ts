import type { words as english } from './en.ts'

export const words: Readonly<Record<keyof typeof english, string>> = {
  apps: 'Applications utilisant mon portefeuille',
  appsText: 'Ces applications peuvent voir votre solde et s’en servir pour payer.',
  thisApp: 'Cette application',
  connected: 'Connectée {date}',
  disconnect: 'Déconnecter',
  disconnectApp: 'Déconnecter {app}',
  disconnectAsk: 'Déconnecter {app} ?',
  disconnectText: '{app} ne pourra plus voir ni utiliser votre portefeuille. Votre argent reste à vous.',
  disconnected: '{app} est déconnectée.',
  cancel: 'Annuler',
  switchAccount: 'Changer de compte',
  logOut: 'Se déconnecter',
}
