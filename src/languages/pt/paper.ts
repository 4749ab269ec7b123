import type { Words } from '../words.ts'

export const words: Words['paper'] = {
  receipt: 'Recibo',
  statement: 'Extrato',
  print: 'Imprimir',
  csvFile: 'Arquivo CSV',
  questions: 'Dúvidas?',
  receiptCode: 'Código do recibo',
  holder: 'Titular da carteira',
  refunded: 'Reembolsado no cartão',
  opening: 'Saldo inicial',
  closing: 'Saldo final',
  heldNow: 'Reservado quando este documento foi criado: {amount}. Não faz parte destes lançamentos.',
  moneyIn: 'Entradas',
  moneyOut: 'Saídas',
  timeZone: 'Fuso horário',
  noEntries: 'Nenhuma atividade neste mês.',
  tooLong: 'Lançamentos deste mês: {count}. Esta página mostra os primeiros {shown}. O arquivo CSV contém todos.',
  selection: 'Lançamentos selecionados',
  selectionText:
    'Esta é uma seleção: apenas os lançamentos que correspondem à busca abaixo. Não é um extrato completo e não tem saldo inicial nem final.',
  matches: 'Lançamentos encontrados',
  noMatches: 'Nenhum lançamento corresponde a esta busca.',
  searchedPart:
    'Lançamentos: {count}. Só os {shown} mais recentes foram verificados. Os mais antigos não estão nesta seleção.',
  tooMany: 'Lançamentos encontrados: {count}. Esta página mostra os {shown} mais recentes. O arquivo CSV contém todos.',
  period: 'Período',
  asOf: 'Emitido em',
  amount: 'Valor',
  balance: 'Saldo',
  reference: 'Referência',
  currency: 'Moeda',
  usedTitle: 'Esta página só abre uma vez',
  usedText: 'Para proteger seus dados, o link expirou. Abra-a novamente pela sua carteira.',
  data: 'Meus dados',
  dataText:
    'Todos os dados que este serviço tem sobre você, em um arquivo JSON: sua conta, os apps conectados, suas recargas, o histórico da sua conta e todos os lançamentos da sua carteira.',
  dataFile: 'Baixar',
  proof: 'Baixar prova',
  qrText:
    'Leia este código para conferir se este recibo é autêntico. A página mostra o valor, o dia e a loja, e nada mais.',
  qrLink: 'Abrir a página',
  qrLabel: 'Código QR: endereço que confirma este recibo',
  proofLater: 'A prova deste lançamento ainda não está pronta. Abra esta página de novo em cerca de dez minutos.',
  proofText:
    'A prova é um arquivo que mostra, sem este serviço, que este lançamento está nos livros assinados. Confira em {address}.',
  statementProof:
    'A prova é um arquivo que mostra, sem este serviço, que o último lançamento deste mês está nos livros assinados. Com uma prova anterior, ela também mostra se algum lançamento antes dele foi alterado. Confira em {address}.',
  earlierProof: 'Tenho uma prova anterior desta carteira',
  earlierText: 'Escolha o arquivo anterior. A nova prova então também mostra se o seu histórico continua o mesmo.',
  notProof: 'Este arquivo não é uma prova.',
  sinceEntry: 'A prova abrangerá o seu histórico desde o lançamento {size}.',
}
