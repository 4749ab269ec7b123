import type { words as english } from './en.ts'

export const words: Readonly<Record<keyof typeof english, string>> = {
  apps: 'Aplicativos que usam minha carteira',
  appsText: 'Estes aplicativos podem ver seu saldo e fazer pagamentos com ele.',
  thisApp: 'Este aplicativo',
  connected: 'Conectado {date}',
  disconnect: 'Desconectar',
  disconnectApp: 'Desconectar {app}',
  disconnectAsk: 'Desconectar {app}?',
  disconnectText: '{app} não poderá mais ver nem usar sua carteira. Seu dinheiro continua sendo seu.',
  disconnected: '{app} foi desconectado.',
  cancel: 'Cancelar',
  switchAccount: 'Trocar de conta',
  logOut: 'Sair',
}
