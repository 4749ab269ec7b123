import type { Words } from '../words.ts'
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words: Words['prove'] = {
  proveTitle: 'Entrar neste dispositivo',
  proveText: 'Digite sua senha uma vez neste dispositivo para ver todos os seus pagamentos e a sua conta.',
  proveEnded: 'Você saiu neste dispositivo. Digite sua senha para continuar de onde parou.',
  presenceTitle: 'Confirme que é você',
  presenceText: 'Digite sua senha para continuar. Vamos pedi-la de novo depois de 10 minutos.',
  proveFor: 'Carteira de {name}',
  proveBusy: 'Muitas pessoas estão entrando agora. Tente de novo em alguns segundos.',
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
