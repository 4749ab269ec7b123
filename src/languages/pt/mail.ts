import type { Words } from '../words.ts'

export const words: Words['mail'] = {
  hello: 'Olá, {name}.',
  why: 'Você recebe este e-mail porque tem uma carteira em {service}.',
  whyDeleted: 'Você recebe este e-mail porque tinha uma carteira em {service}.',
  whyStranger: 'Você recebe este e-mail porque alguém digitou este endereço em {service}.',
  help: 'Ajuda',
  terms: 'Termos',
  privacy: 'Privacidade',
  stop: 'Cancelar a inscrição nestes e-mails',
  codeLife: 'Ele vale uma vez e expira em 15 minutos.',

  amount: 'Valor',
  balance: 'Saldo depois',
  owed: 'Você deve',
  app: 'App',
  forWhat: 'Referente a',
  receipt: 'Recibo',
  when: 'Quando',
  browser: 'Navegador',

  confirmSubject: '{code} é o código da sua carteira',
  confirmTitle: 'Confirme seu e-mail',
  confirmText: 'Digite este código na carteira de {app} para confirmar este endereço de e-mail.',
  confirmElse: 'Se você não se cadastrou, ignore este e-mail. Sem o código nenhuma conta é criada.',
  takenTitle: 'Você já tem uma carteira',
  takenText: 'Alguém, provavelmente você, tentou se cadastrar na carteira de {app} com este endereço de e-mail.',
  takenNext: 'Você já tem uma conta: entre com ela ou escolha “Esqueceu a senha?”.',
  takenElse: 'Se não foi você, não precisa fazer nada. Nada foi alterado.',
  resetSubject: '{code} é o seu código para redefinir a senha',
  resetTitle: 'Escolha uma nova senha',
  resetText: 'Digite este código na carteira de {app} para escolher uma nova senha.',
  resetElse:
    'Se você não pediu isso, ignore este e-mail. Sua senha continua a mesma. Não compartilhe este código com ninguém.',
  unconfirmedTitle: 'Seu cadastro não foi concluído',
  unconfirmedText: 'Alguém, provavelmente você, pediu uma nova senha na carteira de {app}.',
  unconfirmedNext:
    'Ainda não há conta com este endereço de e-mail: um cadastro espera pelo código que enviamos. Digite-o, ou cadastre-se de novo para receber outro.',
  noPasswordTitle: 'Escolha uma senha para sua carteira',
  noPasswordText:
    'Seu endereço de e-mail está confirmado. Antes disso, alguém se cadastrou com ele mais de uma vez, com senhas diferentes. Não temos como saber qual é a sua, por isso nenhuma delas vale.',
  noPasswordNext: 'Para escolher uma, vá para a entrada e escolha “Esqueceu a senha?”.',
  changeSubject: '{code} é o seu código para trocar de e-mail',
  changeTitle: 'Trocar o e-mail da sua carteira',
  changeOldText:
    'Alguém, provavelmente você, quer trocar o e-mail da sua carteira por {email}. Digite este código na sua carteira para permitir.',
  changeOldElse:
    'Se não foi você, não diga este código a ninguém e escolha uma nova senha: quem o pediu entrou na sua carteira.',
  changeNewText: 'Digite este código na sua carteira para que este seja o e-mail dela.',
  changeNewElse: 'Se você não pediu isso, ignore este e-mail. Sem o código nada muda.',

  welcomeTitle: 'Boas-vindas a {service}',
  welcomeText: 'Sua carteira está pronta: uma só para {app} e todos os outros apps que a usam.',
  welcomeNext:
    'Escolha “Adicionar dinheiro” para recarregá-la com cartão. Cada pagamento e cada recarga aparece na sua carteira, em qualquer app em que você a abrir.',
  welcomeElse: 'Nunca pedimos sua senha nem um código por e-mail ou telefone.',
  topupTitle: '{amount} na sua carteira',
  topupText: 'Seu pagamento com cartão chegou. Este é o seu recibo.',
  refundTitle: '{amount} voltam para o seu cartão',
  refundText: 'Uma recarga foi reembolsada. O dinheiro saiu da sua carteira; seu banco o mostrará em alguns dias.',
  disputeTitle: 'Um pagamento com cartão de {amount} foi estornado',
  disputeText:
    'Seu banco estornou um pagamento com cartão com o qual você adicionou dinheiro, porque ele foi contestado. O valor saiu da sua carteira.',
  disputeNext:
    'Se você não o contestou, fale com seu banco. Se o pagamento for considerado correto, o dinheiro volta automaticamente.',
  debtText: 'Seu saldo disponível agora está negativo, por isso os pagamentos estão suspensos.',
  debtNext:
    'Para quitar, abra sua carteira em um app que a usa e escolha “Quitar {amount}”. Os pagamentos voltam a funcionar assim que o saldo disponível voltar a zero.',
  returnedTitle: '{amount} estão de volta na sua carteira',
  returnedText: 'Voltou o que havia saído da sua carteira por um pagamento com cartão contestado ou reembolsado.',
  declinedTitle: 'Seu cartão foi recusado',
  declinedText: 'Você queria adicionar {amount} à sua carteira. O cartão foi recusado e nenhum outro pagamento chegou.',
  declinedNext:
    'Nada foi cobrado. Para tentar de novo, abra sua carteira e escolha “Adicionar dinheiro”. Use outro cartão ou fale com seu banco.',
  firstTitle: 'Primeiro pagamento a {app}',
  firstText: '{app} cobrou o primeiro pagamento da sua carteira desde que você o conectou em {date}.',
  firstNext: 'Se você reconhece este pagamento, não precisa fazer nada. Em caso de dúvidas sobre ele, fale com {app}.',
  firstElse:
    'Para impedir outros pagamentos, abra sua carteira, escolha “Conta”, depois “Apps que usam minha carteira”, e desconecte o app.',
  passwordTitle: 'Sua carteira tem uma nova senha',
  passwordText: 'A senha da sua carteira foi alterada.',
  passwordElse:
    'Se não foi você, escolha agora mesmo “Esqueceu a senha?” e troque também a senha da sua conta de e-mail.',
  emailTitle: 'Sua carteira tem um novo e-mail',
  emailText:
    'O e-mail da sua carteira foi trocado por {email}. A partir de agora as mensagens vão para lá e não mais para cá.',
  emailElse: 'Se não foi você, fale agora mesmo com o suporte.',
  signInTitle: 'Nova entrada na sua carteira',
  signInText: 'Alguém, provavelmente você, entrou de um lugar que ainda não conhecíamos.',
  signInElse: 'Se não foi você, escolha agora mesmo “Esqueceu a senha?” e defina uma nova.',
  deletedTitle: 'Sua carteira foi excluída',
  deletedText: 'Sua conta foi excluída. Não temos mais seu nome, seu e-mail nem sua senha.',
  deletedNext: 'Para usar uma carteira de novo, faça um novo cadastro.',
  exportedTitle: 'Uma cópia dos seus dados foi baixada',
  exportedText:
    'Um arquivo com os dados da sua carteira foi baixado: sua conta, seus apps, seus lançamentos e quando você entrou.',
  deletedForText: '{service} excluiu sua conta porque recebemos um pedido de exclusão.',
  deletionTitle: 'Recebemos um pedido para excluir sua carteira',
  deletionText:
    '{service} recebeu um pedido para excluir sua carteira e sua conta. Nada foi excluído ainda: antes, uma segunda pessoa de {service} confere o pedido.',
  deletionNext:
    'Se o pedido não for aprovado até {date}, nada será excluído. Se a carteira for excluída, você receberá mais um e-mail.',
  exportedForTitle: 'Fizemos uma cópia dos seus dados',
  exportedForText:
    '{service} recebeu um pedido dos dados da sua carteira e fez um arquivo com eles: sua conta, seus apps, seus lançamentos e quando você entrou.',
  requestElse: 'Se você não pediu isso, fale agora mesmo com o suporte.',
  disconnectedTitle: '{app} foi desconectado da sua carteira',
  disconnectedText:
    '{app} não pode mais cobrar pagamentos da sua carteira nem colocar dinheiro nela. Para conectar de novo, entre pelo app.',
  stoppedTitle: 'E-mails de aviso foram desativados',
  stoppedText: 'Alguns e-mails que avisam sobre a atividade da sua carteira foram desativados.',
  stoppedKind: 'Desativado',
  actElse: 'Se não foi você, escolha agora mesmo “Esqueceu a senha?” e defina uma nova.',

  receiptsKind: 'Recibos e avisos de pagamentos com cartão',
  paymentsKind: 'Primeiro pagamento a um novo app',
  signInsKind: 'Entradas de um lugar novo',
  stopAsk: 'Cancelar a inscrição nestes e-mails?',
  stopButton: 'Cancelar a inscrição',
  stopDone: 'Você não receberá mais estes e-mails',
  stopBack: 'Você pode ativá-los de novo na sua carteira, em “Conta”.',
  stopBad: 'Este link não funciona',
  stopBadText:
    'Ele está incompleto ou é antigo demais. Você pode escolher os e-mails que recebe na sua carteira, em “Conta”.',
}
