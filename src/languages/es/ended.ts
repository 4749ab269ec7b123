import type { Words } from '../words.ts'

export const words: Words['ended'] = {
  signedOutTitle: 'Has cerrado la sesión',
  signedOutText:
    'Cerraste la sesión en {app} desde otra ventana u otro dispositivo. {app} sigue conectada y puede seguir cobrando pagos por sí misma.',
  everywhereTitle: 'Has cerrado la sesión en todas partes',
  everywhereText:
    '«Cerrar sesión en todas partes» cerró tu monedero en todas las apps y navegadores. Las apps siguen conectadas y pueden seguir cobrando pagos por sí mismas.',
  passwordChangedTitle: 'Tu contraseña ha cambiado',
  passwordChangedText: 'Por eso se ha cerrado aquí tu sesión. Si no has sido tú, elige ahora una contraseña nueva.',
  disconnectedTitle: '{app} se ha desconectado',
  disconnectedText: '{app} ya no puede ver ni usar tu monedero. Para volver a conectarla, inicia sesión.',
  appOffTitle: '{app} está en pausa',
  appOffText: '{service} ha desactivado esta app. No puede abrir tu monedero ni cobrar pagos. Tu dinero está a salvo.',
  deletedTitle: 'Tu cuenta se ha eliminado',
  deletedText: 'Este monedero ya no existe y todas las apps están desconectadas.',
  noSessionTitle: 'Tu monedero no está abierto aquí',
  noSessionText: 'Para abrirlo, inicia sesión. Tu dinero está a salvo.',
  closeWindow: 'Puedes cerrar esta ventana y volver a {app}.',
}
