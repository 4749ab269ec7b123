import type { Words } from '../words.ts'

export const words: Words['pending'] = {
  waitingEntry: 'Recarga pendiente',
  failedEntry: 'Recarga no completada',
  failedDeclined: 'La tarjeta fue rechazada. No se movió dinero.',
  failedAuthentication: 'El banco no pudo confirmar que eras tú. No se movió dinero.',
  failedUnconfirmed: 'Tu banco no recibió la confirmación. No se movió dinero.',
  failedCancelled: 'Se canceló. No se movió dinero.',
  failedOther: 'El banco no la completó. No se movió dinero.',

  holdEntry: 'Pago reservado',
  holdUntil: 'Hasta {when}',
  holdsText: 'Las apps han reservado este dinero para pagos. Lo que no cobren a tiempo podrás volver a gastarlo.',
  holdTaken: '{taken} de {amount} ya pagados',
  holdsNone: 'No hay nada reservado.',
  holdsAll: 'Mostrar todo lo reservado',
  holdsMore: 'No se muestran los más antiguos.',
  wholeBalance: 'Saldo',
}
