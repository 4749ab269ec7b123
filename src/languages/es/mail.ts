import type { Words } from '../words.ts'

export const words: Words['mail'] = {
  hello: 'Hola, {name}:',
  why: 'Recibes este correo porque tienes un monedero en {service}.',
  whyDeleted: 'Recibes este correo porque tenías un monedero en {service}.',
  whyStranger: 'Recibes este correo porque alguien ha escrito esta dirección en {service}.',
  help: 'Ayuda',
  terms: 'Condiciones',
  privacy: 'Privacidad',
  stop: 'Cancelar la suscripción a estos correos',
  codeLife: 'Sirve una vez y caduca a los 15 minutos.',

  amount: 'Importe',
  balance: 'Saldo después',
  owed: 'Debes',
  app: 'App',
  forWhat: 'Concepto',
  receipt: 'Recibo',
  when: 'Cuándo',
  browser: 'Navegador',

  confirmSubject: '{code} es el código de tu monedero',
  confirmTitle: 'Confirma tu correo',
  confirmText: 'Escribe este código en el monedero de {app} para confirmar esta dirección de correo.',
  confirmElse: 'Si no te has registrado, ignora este correo. Sin el código no se crea ninguna cuenta.',
  takenTitle: 'Ya tienes un monedero',
  takenText:
    'Alguien, probablemente tú, ha intentado registrarse en el monedero de {app} con esta dirección de correo.',
  takenNext: 'Ya tienes una cuenta: inicia sesión con ella o elige «¿Has olvidado la contraseña?».',
  takenElse: 'Si no has sido tú, no tienes que hacer nada. No se ha cambiado nada.',
  resetSubject: '{code} es tu código para restablecer la contraseña',
  resetTitle: 'Elige una contraseña nueva',
  resetText: 'Escribe este código en el monedero de {app} para elegir una contraseña nueva.',
  resetElse:
    'Si no lo has pedido, ignora este correo. Tu contraseña sigue siendo la misma. No compartas este código con nadie.',
  unconfirmedTitle: 'Tu registro no está terminado',
  unconfirmedText: 'Alguien, probablemente tú, ha pedido una contraseña nueva en el monedero de {app}.',
  unconfirmedNext:
    'Todavía no hay ninguna cuenta con esta dirección de correo: un registro espera el código que enviamos. Escríbelo, o regístrate otra vez para recibir uno nuevo.',
  noPasswordTitle: 'Elige una contraseña para tu monedero',
  noPasswordText:
    'Tu dirección de correo está confirmada. Antes, alguien se registró con ella más de una vez, con contraseñas distintas. No podemos saber cuál es la tuya, así que no vale ninguna.',
  noPasswordNext: 'Para elegir una, ve a iniciar sesión y elige «¿Has olvidado la contraseña?».',
  changeSubject: '{code} es tu código para cambiar de correo',
  changeTitle: 'Cambiar el correo de tu monedero',
  changeOldText:
    'Alguien, probablemente tú, quiere cambiar el correo de tu monedero por {email}. Escribe este código en tu monedero para permitirlo.',
  changeOldElse:
    'Si no has sido tú, no le digas este código a nadie y elige una contraseña nueva: quien lo ha pedido ha iniciado sesión en tu monedero.',
  changeNewText: 'Escribe este código en tu monedero para que esta sea su dirección de correo.',
  changeNewElse: 'Si no lo has pedido, ignora este correo. Sin el código no cambia nada.',

  welcomeTitle: 'Te damos la bienvenida a {service}',
  welcomeText: 'Tu monedero está listo: uno solo para {app} y las demás apps que lo usan.',
  welcomeNext:
    'Elige «Añadir dinero» para recargarlo con tarjeta. Tu monedero muestra cada pago y cada recarga, lo abras en la app que lo abras.',
  welcomeElse: 'Nunca te pedimos la contraseña ni un código por correo o por teléfono.',
  topupTitle: '{amount} en tu monedero',
  topupText: 'Tu pago con tarjeta ha llegado. Este es tu recibo.',
  refundTitle: '{amount} vuelven a tu tarjeta',
  refundText: 'Se ha reembolsado una recarga. El dinero ha salido de tu monedero; tu banco lo mostrará en unos días.',
  disputeTitle: 'Se ha devuelto un pago con tarjeta de {amount}',
  disputeText:
    'Tu banco ha anulado un pago con tarjeta con el que añadiste dinero, porque se ha disputado. El importe ha salido de tu monedero.',
  disputeNext:
    'Si no has disputado tú el pago, pregunta a tu banco. Si se decide que el pago era correcto, el dinero vuelve automáticamente.',
  debtText: 'Tu saldo disponible es ahora negativo, así que los pagos están en pausa.',
  debtNext:
    'Para pagarlo, abre tu monedero en una app que lo use y elige «Devolver {amount}». Los pagos vuelven a funcionar en cuanto el saldo disponible vuelve a cero.',
  returnedTitle: '{amount} han vuelto a tu monedero',
  returnedText: 'Ha vuelto el dinero que había salido de tu monedero por un pago con tarjeta disputado o reembolsado.',
  declinedTitle: 'Tu tarjeta ha sido rechazada',
  declinedText: 'Querías añadir {amount} a tu monedero. La tarjeta ha sido rechazada y no ha llegado ningún otro pago.',
  declinedNext:
    'No se ha cobrado nada. Para intentarlo otra vez, abre tu monedero y elige «Añadir dinero». Usa otra tarjeta o consulta a tu banco.',
  firstTitle: 'Primer pago a {app}',
  firstText: '{app} ha cobrado su primer pago de tu monedero desde que la conectaste el {date}.',
  firstNext: 'Si reconoces este pago, no tienes que hacer nada. Si tienes preguntas sobre él, contacta con {app}.',
  firstElse:
    'Para impedir más pagos, abre tu monedero, elige «Cuenta», luego «Apps que usan mi monedero», y desconecta la app.',
  passwordTitle: 'Tu monedero tiene una contraseña nueva',
  passwordText: 'Se ha cambiado la contraseña de tu monedero.',
  passwordElse:
    'Si no has sido tú, elige enseguida «¿Has olvidado la contraseña?» y cambia también la contraseña de tu cuenta de correo.',
  emailTitle: 'Tu monedero tiene un correo nuevo',
  emailText:
    'El correo de tu monedero se ha cambiado por {email}. A partir de ahora los correos van allí y ya no aquí.',
  emailElse: 'Si no has sido tú, contacta enseguida con soporte.',
  signInTitle: 'Nuevo inicio de sesión en tu monedero',
  signInText: 'Alguien, probablemente tú, ha iniciado sesión desde un lugar que no conocíamos.',
  signInElse: 'Si no has sido tú, elige enseguida «¿Has olvidado la contraseña?» y pon una nueva.',
  deletedTitle: 'Tu monedero se ha eliminado',
  deletedText: 'Tu cuenta se ha eliminado. Ya no guardamos tu nombre, tu correo ni tu contraseña.',
  deletedNext: 'Si quieres volver a tener un monedero, regístrate de nuevo.',
  exportedTitle: 'Se ha descargado una copia de tus datos',
  exportedText:
    'Se ha descargado un archivo con los datos de tu monedero: tu cuenta, tus apps, tus movimientos y tus inicios de sesión.',
  deletedForText: '{service} ha eliminado tu cuenta porque recibimos una solicitud para eliminarla.',
  deletionTitle: 'Hemos recibido una solicitud para eliminar tu monedero',
  deletionText:
    '{service} ha recibido una solicitud para eliminar tu monedero y tu cuenta. Todavía no se ha eliminado nada: antes, una segunda persona de {service} revisa la solicitud.',
  deletionNext:
    'Si la solicitud no se aprueba a más tardar el {date}, no se elimina nada. Si el monedero se elimina, recibirás otro correo.',
  exportedForTitle: 'Hemos hecho una copia de tus datos',
  exportedForText:
    '{service} ha recibido una solicitud de los datos de tu monedero y ha creado un archivo con ellos: tu cuenta, tus apps, tus movimientos y tus inicios de sesión.',
  requestElse: 'Si no lo has pedido tú, contacta enseguida con soporte.',
  disconnectedTitle: '{app} se ha desconectado de tu monedero',
  disconnectedText:
    '{app} ya no puede cobrar pagos de tu monedero ni añadirle dinero. Para volver a conectarla, inicia sesión en esa app.',
  stoppedTitle: 'Se han desactivado correos de aviso',
  stoppedText: 'Se han desactivado algunos correos que te avisan de la actividad de tu monedero.',
  stoppedKind: 'Desactivado',
  actElse: 'Si no has sido tú, elige enseguida «¿Has olvidado la contraseña?» y pon una nueva.',

  receiptsKind: 'Recibos y avisos de pagos con tarjeta',
  paymentsKind: 'Primer pago a una app nueva',
  signInsKind: 'Inicios de sesión desde un lugar nuevo',
  stopAsk: '¿Cancelar la suscripción a estos correos?',
  stopButton: 'Cancelar la suscripción',
  stopDone: 'Ya no recibirás estos correos',
  stopBack: 'Puedes volver a activarlos en tu monedero, en «Cuenta».',
  stopBad: 'Este enlace no funciona',
  stopBadText: 'Está incompleto o es demasiado antiguo. Puedes elegir qué correos recibes en tu monedero, en «Cuenta».',
}
