import type { Words } from '../words.ts'

export const words: Words['pending'] = {
  waitingEntry: 'Recarga a caminho',
  failedEntry: 'Recarga não concluída',
  failedDeclined: 'O cartão foi recusado. Nenhum valor foi movido.',
  failedAuthentication: 'O banco não confirmou que era você. Nenhum valor foi movido.',
  failedUnconfirmed: 'Seu banco não recebeu a confirmação. Nenhum valor foi movido.',
  failedCancelled: 'Foi cancelada. Nenhum valor foi movido.',
  failedOther: 'O banco não a concluiu. Nenhum valor foi movido.',

  holdEntry: 'Pagamento reservado',
  holdUntil: 'Até {when}',
  holdsText: 'Apps reservaram este dinheiro para pagamentos. O que eles não cobrarem a tempo volta a ficar disponível.',
  holdTaken: '{taken} de {amount} já pagos',
  holdsNone: 'Nada está reservado.',
  holdsAll: 'Mostrar tudo o que está reservado',
  holdsMore: 'Os mais antigos não são mostrados.',
  wholeBalance: 'Saldo',
}
