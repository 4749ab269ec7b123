import type { Words } from '../words.ts'
import { words as account } from './account.ts'
import { words as topup } from './topup.ts'

export const words: Words['prove'] = {
  proveTitle: 'Se connecter sur cet appareil',
  proveText: 'Saisissez une fois votre mot de passe sur cet appareil pour voir tous vos paiements et votre compte.',
  proveEnded: 'Cet appareil a été déconnecté. Saisissez votre mot de passe pour reprendre où vous étiez.',
  presenceTitle: 'Confirmez que c’est bien vous',
  presenceText: 'Saisissez votre mot de passe pour continuer. Nous le redemanderons après 10 minutes.',
  proveFor: 'Portefeuille de {name}',
  proveBusy: 'Beaucoup de personnes se connectent en ce moment. Réessayez dans quelques secondes.',
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
