import type { Words } from '../words.ts'
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words: Words['prove'] = {
  proveTitle: 'Iniciar sesión en este dispositivo',
  proveText: 'Escribe tu contraseña una vez en este dispositivo para ver todos tus pagos y tu cuenta.',
  proveEnded: 'Se cerró la sesión en este dispositivo. Escribe tu contraseña para continuar donde estabas.',
  presenceTitle: 'Confirma que eres tú',
  presenceText: 'Escribe tu contraseña para continuar. Te la pediremos de nuevo después de 10 minutos.',
  proveFor: 'Monedero de {name}',
  proveBusy: 'Muchas personas están iniciando sesión ahora. Inténtalo de nuevo en unos segundos.',
  continue: topup.continue,
  passwordWrong: account.passwordWrong,
  cancel: account.cancel,
  signOut: account.signOut,
  logOutText: account.logOutText,
  disconnect: account.disconnect,
  disconnectApp: account.disconnectApp,
  disconnectAsk: account.disconnectAsk,
  disconnectText: account.disconnectText,
  disconnectHeld: account.disconnectHeld,
}
