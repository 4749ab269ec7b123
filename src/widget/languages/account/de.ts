import type { words as english } from './en.ts'

export const words: Readonly<Record<keyof typeof english, string>> = {
  apps: 'Apps, die mein Guthaben nutzen',
  appsText: 'Diese Apps können Ihr Guthaben sehen und damit bezahlen.',
  thisApp: 'Diese App',
  connected: 'Verbunden {date}',
  disconnect: 'Trennen',
  disconnectApp: '{app} trennen',
  disconnectAsk: '{app} trennen?',
  disconnectText: '{app} kann Ihr Guthaben dann nicht mehr sehen oder nutzen. Ihr Geld bleibt Ihnen.',
  disconnected: '{app} ist getrennt.',
  cancel: 'Abbrechen',
  switchAccount: 'Konto wechseln',
  logOut: 'Abmelden',
}
