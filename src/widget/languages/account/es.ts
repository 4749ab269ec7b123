import type { words as english } from './en.ts'

export const words: Readonly<Record<keyof typeof english, string>> = {
  apps: 'Aplicaciones que usan mi monedero',
  appsText: 'Estas aplicaciones pueden ver tu saldo y pagar con él.',
  thisApp: 'Esta aplicación',
  connected: 'Conectada {date}',
  disconnect: 'Desconectar',
  disconnectApp: 'Desconectar {app}',
  disconnectAsk: '¿Desconectar {app}?',
  disconnectText: '{app} ya no podrá ver ni usar tu monedero. Tu dinero sigue siendo tuyo.',
  disconnected: '{app} se ha desconectado.',
  cancel: 'Cancelar',
  switchAccount: 'Cambiar de cuenta',
  logOut: 'Cerrar sesión',
}
