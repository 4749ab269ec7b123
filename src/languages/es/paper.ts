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
  heldNow: 'Reservado al crear este documento: {amount}. No forma parte de estos movimientos.',
  moneyIn: 'Entradas',
  moneyOut: 'Salidas',
  timeZone: 'Zona horaria',
  noEntries: 'Sin movimientos este mes.',
  tooLong:
    'Movimientos de este mes: {count}. Esta página muestra los primeros {shown}. El archivo CSV los tiene todos.',
  selection: 'Movimientos seleccionados',
  selectionText:
    'Esto es una selección: solo los movimientos que coinciden con la búsqueda de abajo. No es un extracto completo y no incluye saldo inicial ni final.',
  matches: 'Movimientos encontrados',
  noMatches: 'Ningún movimiento coincide con esta búsqueda.',
  searchedPart:
    'Movimientos: {count}. Solo se revisaron los {shown} más recientes. Los anteriores no están en esta selección.',
  tooMany:
    'Movimientos encontrados: {count}. Esta página muestra los {shown} más recientes. El archivo CSV los tiene todos.',
  period: 'Período',
  asOf: 'A fecha de',
  amount: 'Importe',
  balance: 'Saldo',
  reference: 'Referencia',
  currency: 'Moneda',
  archived: 'Esta página necesita movimientos que están en el archivo. Pídela al soporte.',
  usedTitle: 'Esta página solo se abre una vez',
  usedText: 'Para proteger tus datos, el enlace ha caducado. Ábrela de nuevo desde tu monedero.',
  data: 'Mis datos',
  dataText:
    'Todos los datos que este servicio tiene sobre ti, en un archivo JSON: tu cuenta, las apps que has conectado, tus recargas, el historial de tu cuenta y todos los movimientos de tu monedero.',
  dataFile: 'Descargar',
  proof: 'Descargar prueba',
  qrText:
    'Escanea este código para comprobar que este recibo es auténtico. La página muestra el importe, el día y la tienda, y nada más.',
  qrLink: 'Abrir la página',
  qrLabel: 'Código QR: dirección que confirma este recibo',
  proofLater: 'La prueba de este movimiento aún no está lista. Abre esta página de nuevo en unos diez minutos.',
  proofText:
    'La prueba es un archivo que demuestra, sin este servicio, que este movimiento está en sus libros firmados. Compruébala en {address}.',
  statementProof:
    'La prueba es un archivo que demuestra, sin este servicio, que el último movimiento de este mes está en sus libros firmados. Con una prueba anterior también muestra si se modificó algún movimiento previo. Compruébala en {address}.',
  earlierProof: 'Tengo una prueba anterior de este monedero',
  earlierText: 'Elige el archivo anterior. Así, la nueva prueba también muestra si tu historial sigue igual.',
  notProof: 'Este archivo no es una prueba.',
  sinceEntry: 'La prueba abarcará tu historial desde el movimiento {size}.',
}
