import type { Words } from '../words.ts'

export const words: Words['topup'] = {
  amount: 'Importe',
  otherAmount: 'Otro importe',
  continue: 'Continuar',
  amountWrong: 'Escribe un importe entre {min} y {max}.',
  amountUnclear: 'Este importe se puede leer de dos formas. Para {amount}, escribe {example}.',
  amountForeign: 'Este monedero usa {currency}. Escribe el importe en {currency}.',
  amountMalformed: 'No podemos leer este importe. Escríbelo así: {example}.',
  topupAtLeast: 'La recarga mínima es de {min}. Lo que sobre se queda en tu monedero.',
  topupAtMost: 'El máximo por recarga es de {max}. Puedes añadir el resto con otra recarga.',
  topupNoneTitle: 'Las recargas no están disponibles',
  topupNoneText: 'En este momento el monedero no admite pagos con tarjeta. Tu saldo no se ve afectado.',
  topupFrozenText: 'El monedero está bloqueado, por lo que no se puede añadir dinero con tarjeta.',
  topupExpiredText: 'Cierra esta ventana y elige «Añadir dinero» otra vez en {app}.',
  topupInto: 'Al monedero de {name}',
  topupPreparing: 'Preparando el pago…',
  topupChecking: 'Comprobando el pago…',
  onItsWay: '{amount} ya están en camino. Tu banco sigue procesándolo.',
  topupLands: 'Si has pagado, el dinero llegará igualmente a tu monedero.',
  backToWallet: 'Volver al monedero',
}
