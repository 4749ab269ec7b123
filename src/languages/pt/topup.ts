import type { Words } from '../words.ts'

export const words: Words['topup'] = {
  amount: 'Valor',
  otherAmount: 'Outro valor',
  continue: 'Continuar',
  amountWrong: 'Informe um valor entre {min} e {max}.',
  amountUnclear: 'Este valor pode ser lido de duas formas. Para {amount}, digite {example}.',
  amountForeign: 'Esta carteira usa {currency}. Informe o valor em {currency}.',
  amountMalformed: 'Não conseguimos ler este valor. Escreva assim: {example}.',
  topupAtLeast: 'A recarga mínima é de {min}. O que sobrar fica na sua carteira.',
  topupAtMost: 'O máximo por recarga é de {max}. Você pode adicionar o restante com outra recarga.',
  topupNoneTitle: 'Recargas indisponíveis',
  topupNoneText: 'Esta carteira não aceita pagamentos com cartão no momento. Seu saldo não é afetado.',
  topupFrozenText: 'A carteira está bloqueada, por isso não é possível adicionar dinheiro com cartão.',
  topupExpiredText: 'Feche esta janela e escolha “Adicionar dinheiro” novamente em {app}.',
  topupInto: 'Na carteira de {name}',
  topupPreparing: 'Preparando o pagamento…',
  topupChecking: 'Verificando o pagamento…',
  onItsWay: '{amount} já estão a caminho. Seu banco ainda está processando.',
  topupLands: 'Se você pagou, o dinheiro chega à sua carteira mesmo assim.',
  backToWallet: 'Voltar à carteira',
}
