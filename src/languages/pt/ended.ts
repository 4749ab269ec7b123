import type { Words } from '../words.ts'

export const words: Words['ended'] = {
  signedOutTitle: 'Você saiu da conta',
  signedOutText:
    'Você saiu de {app} em outra janela ou outro dispositivo. {app} continua conectado e ainda pode cobrar pagamentos por conta própria.',
  everywhereTitle: 'Você saiu de todos os lugares',
  everywhereText:
    '“Sair de todos os lugares” fechou sua carteira em todos os apps e navegadores. Os apps continuam conectados e ainda podem cobrar pagamentos por conta própria.',
  passwordChangedTitle: 'Sua senha foi alterada',
  passwordChangedText: 'Por isso, você saiu aqui. Se não foi você, escolha uma nova senha agora.',
  disconnectedTitle: '{app} foi desconectado',
  disconnectedText: '{app} não pode mais ver nem usar sua carteira. Para conectar de novo, entre na conta.',
  appOffTitle: '{app} está em pausa',
  appOffText:
    '{service} desativou este app. Ele não pode abrir sua carteira nem cobrar pagamentos. Seu dinheiro está seguro.',
  deletedTitle: 'Sua conta foi excluída',
  deletedText: 'Esta carteira não existe mais, e todos os apps foram desconectados.',
  noSessionTitle: 'Sua carteira não está aberta aqui',
  noSessionText: 'Para abri-la, entre na conta. Seu dinheiro está seguro.',
  closeWindow: 'Você pode fechar esta janela e voltar para {app}.',
}
