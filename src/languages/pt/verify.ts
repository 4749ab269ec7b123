import type { Words } from '../words.ts'

export const words: Words['verify'] = {
  genuineTitle: 'Este recibo é autêntico',
  genuineText: 'Ele está nos livros assinados de {service}.',
  compareText: 'Compare com o papel. Se algo for diferente, o papel foi alterado.',
  day: 'Dia',
  dayUtc: '{day} (UTC)',
  unsealedTitle: 'Este recibo ainda não está nos livros assinados',
  unsealedText: 'Os livros são assinados a cada dez minutos, aproximadamente. Tente mais tarde.',
  unknownTitle: 'Nenhum recibo tem este endereço',
  unknownText: 'Confira se o endereço inteiro foi lido ou digitado. Se foi, {service} não emitiu o recibo.',
  differsTitle: 'Este recibo não corresponde aos livros assinados',
  differsText: 'O lançamento foi alterado depois da assinatura dos livros. Guarde o recibo e fale com o suporte.',
  limitedTitle: 'Verificações demais',
  limitedText: 'Foram verificados recibos demais a partir da sua rede. Tente de novo em alguns minutos.',
  title: 'Verificar uma prova',
  intro: 'Escolha um ou dois arquivos de prova. Nada sai deste dispositivo, e a página funciona sem internet.',
  choose: 'Escolher arquivos',
  drop: 'Ou solte-os aqui.',
  save: 'Salvar esta página',
  saveText: 'Uma cópia salva funciona sem este serviço.',
  keys: 'Chaves em que você confia',
  keysText:
    'Uma chave por linha. Estas são as chaves de {service}. Uma prova vale mais se você obteve a chave em outro lugar, como um jornal, um auditor ou uma cópia anterior desta página.',
  results: 'Resultados',
  clear: 'Limpar',
  payment: 'Este pagamento de {amount} em {time} é o lançamento {sequence} de {size} da sua carteira.',
  credit: 'Este crédito de {amount} em {time} é o lançamento {sequence} de {size} da sua carteira.',
  signed: 'Os livros que o contêm foram assinados por {signer}.',
  reference: 'Referência: {text}',
  erased: 'Os textos deste lançamento foram apagados. A prova continua válida.',
  file: 'Arquivo {name}',
  empty: 'Este arquivo está vazio.',
  tooLarge: 'Este arquivo é grande demais para ser uma prova.',
  notText: 'Este arquivo não é texto, portanto não é uma prova.',
  notProof: 'Este arquivo não é uma prova ou está danificado.',
  unknownSigner: 'Nenhuma das chaves em que você confia assinou esta prova.',
  notInBooks: 'Os livros assinados não contêm este lançamento. O arquivo foi alterado.',
  otherBooks: 'Há duas versões dos livros: este ponto de controle e a prova se contradizem. Guarde os dois arquivos.',
  checkpointFits: 'Este ponto de controle está assinado por {signer}, e a prova corresponde a ele.',
  checkpointOther:
    'Este ponto de controle está assinado por {signer}. Ele é de outros livros ou de outro momento que as provas aqui, portanto não as confirma nem as contradiz.',
  checkpointUnsigned: 'Nenhuma das chaves em que você confia assinou este ponto de controle.',
  sameHistory:
    'As duas provas são da mesma carteira, e o histórico é igual em ambas: os primeiros {size} lançamentos não mudaram.',
  rewritten:
    'O histórico desta carteira foi reescrito entre estas duas provas. Guarde os dois arquivos: juntos, eles provam isso.',
  restored:
    'As duas provas são da mesma carteira, mas o histórico é diferente. Entre elas, o serviço foi restaurado de um backup, o que pode ser o motivo. Pergunte ao serviço.',
  noLink:
    'As duas provas são da mesma carteira e não se contradizem. Elas não mostram se todos os lançamentos anteriores são iguais. Para isso, baixe de novo a prova mais recente e escolha o arquivo mais antigo ao lado do botão.',
  otherWallets: 'Estas provas são de carteiras diferentes, portanto não podem ser comparadas.',
  tooMany: 'Escolha no máximo duas provas e um ponto de controle.',
  noCrypto:
    'Este navegador não verifica assinaturas nesta página. Salve a página e abra-a no seu dispositivo, ou use outro navegador.',
  noScript: 'Esta página precisa de JavaScript para verificar arquivos.',
}
