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
  moneyIn: 'Entradas',
  moneyOut: 'Saídas',
  timeZone: 'Fuso horário',
  noEntries: 'Nenhuma atividade neste mês.',
  tooLong: 'Lançamentos deste mês: {count}. Esta página mostra os primeiros {shown}. O arquivo CSV contém todos.',
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
}
