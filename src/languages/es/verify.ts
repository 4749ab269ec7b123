import type { Words } from '../words.ts'

export const words: Words['verify'] = {
  genuineTitle: 'Este recibo es auténtico',
  genuineText: 'Está en los libros firmados de {service}.',
  compareText: 'Compáralo con el papel. Si algo es distinto, el papel fue modificado.',
  day: 'Día',
  dayUtc: '{day} (UTC)',
  archivedTitle: 'Este recibo está en el archivo',
  archivedText:
    '{service} emitió este recibo. Su movimiento está en el archivo, por eso esta página no puede mostrarlo.',
  unsealedTitle: 'Este recibo aún no está en los libros firmados',
  unsealedText: 'Los libros se firman cada diez minutos aproximadamente. Inténtalo más tarde.',
  unknownTitle: 'Ningún recibo tiene esta dirección',
  unknownText:
    'Comprueba que la dirección se haya escaneado o escrito completa. Si es así, {service} no emitió el recibo.',
  differsTitle: 'Este recibo no coincide con los libros firmados',
  differsText: 'El movimiento se modificó después de firmar los libros. Guarda el recibo y contacta con soporte.',
  limitedTitle: 'Demasiadas comprobaciones',
  limitedText: 'Se han comprobado demasiados recibos desde tu red. Inténtalo en unos minutos.',
  title: 'Comprobar una prueba',
  intro: 'Elige uno o dos archivos de prueba. Nada sale de este dispositivo y la página funciona sin internet.',
  choose: 'Elegir archivos',
  drop: 'O suéltalos aquí.',
  save: 'Guardar esta página',
  saveText: 'Una copia guardada funciona sin este servicio.',
  keys: 'Claves en las que confías',
  keysText:
    'Una clave por línea. Estas son las claves de {service}. Una prueba vale más si obtuviste la clave en otro lugar, como un periódico, un auditor o una copia anterior de esta página.',
  results: 'Resultados',
  clear: 'Borrar',
  payment: 'Este pago de {amount} del {time} es el movimiento {sequence} de {size} de su monedero.',
  credit: 'Este abono de {amount} del {time} es el movimiento {sequence} de {size} de su monedero.',
  signed: 'Los libros correspondientes fueron firmados por {signer}.',
  signedAt: 'Los libros correspondientes fueron firmados por {signer} el {time}.',
  position: 'Al final del {day} (UTC), la cuenta {account} tenía un saldo de {amount}.',
  positionSums: 'Recibido: {received}. Pagado: {paid}. Movimientos: {count}.',
  reference: 'Referencia: {text}',
  erased: 'Los textos de este movimiento se borraron. La prueba sigue siendo válida.',
  file: 'Archivo {name}',
  empty: 'Este archivo está vacío.',
  tooLarge: 'Este archivo es demasiado grande para ser una prueba.',
  notText: 'Este archivo no es texto, así que no es una prueba.',
  notProof: 'Este archivo no es una prueba o está dañado.',
  unknownSigner: 'Ninguna de las claves en las que confías firmó esta prueba.',
  notInBooks: 'Los libros firmados no contienen lo que dice este archivo. El archivo fue modificado.',
  otherBooks:
    'Hay dos versiones de los libros: este punto de control y la prueba se contradicen. Guarda ambos archivos.',
  checkpointFits: 'Este punto de control está firmado por {signer} y la prueba coincide con él.',
  checkpointOther:
    'Este punto de control está firmado por {signer}. Es de otros libros o de otro momento que las pruebas de aquí, así que ni las confirma ni las contradice.',
  checkpointUnsigned: 'Ninguna de las claves en las que confías firmó este punto de control.',
  sameHistory:
    'Ambas pruebas son del mismo monedero y su historial es igual en las dos: los primeros {size} movimientos no cambiaron.',
  rewritten:
    'El historial de este monedero se reescribió entre estas dos pruebas. Guarda ambos archivos: juntos lo demuestran.',
  restored:
    'Ambas pruebas son del mismo monedero, pero su historial es distinto. Entre ellas el servicio se restauró desde una copia de seguridad, y esa puede ser la causa. Pregunta al servicio.',
  noLink:
    'Ambas pruebas son del mismo monedero y no se contradicen. No muestran si todos los movimientos anteriores son iguales. Para eso, descarga de nuevo la prueba más reciente y elige el archivo anterior junto al botón.',
  otherWallets: 'Estas pruebas son de monederos distintos, así que no se pueden comparar.',
  noWallet: 'Solo se pueden comparar dos pruebas de movimientos de un mismo monedero.',
  tooMany: 'Elige como máximo dos pruebas y un punto de control.',
  noCrypto:
    'Este navegador no comprueba firmas en esta página. Guarda la página y ábrela desde tu dispositivo, o usa otro navegador.',
  noScript: 'Esta página necesita JavaScript para comprobar archivos.',
}
