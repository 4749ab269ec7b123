import type { Words } from '../words.ts'

export const words: Words['paper'] = {
  receipt: 'Recibo',
  statement: 'Extracto',
  print: 'Imprimir',
  csvFile: 'Archivo CSV',
  questions: '¿Preguntas?',
  receiptCode: 'Código del recibo',
  holder: 'Titular del monedero',
  refunded: 'Reembolsado a la tarjeta',
  opening: 'Saldo inicial',
  closing: 'Saldo final',
  moneyIn: 'Entradas',
  moneyOut: 'Salidas',
  timeZone: 'Zona horaria',
  noEntries: 'Sin movimientos este mes.',
  tooLong:
    'Movimientos de este mes: {count}. Esta página muestra los primeros {shown}. El archivo CSV los tiene todos.',
  amount: 'Importe',
  balance: 'Saldo',
  reference: 'Referencia',
  currency: 'Moneda',
  usedTitle: 'Esta página solo se abre una vez',
  usedText: 'Para proteger tus datos, el enlace ha caducado. Ábrela de nuevo desde tu monedero.',
  data: 'Mis datos',
  dataText:
    'Todos los datos que este servicio tiene sobre ti, en un archivo JSON: tu cuenta, las apps que has conectado, tus recargas, el historial de tu cuenta y todos los movimientos de tu monedero.',
  dataFile: 'Descargar',
}
