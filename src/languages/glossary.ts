/**
 * One word for one thing, in every language. Where an English text uses a term, its translation uses the word of that language; a word
 * under `never` is a second word for the same thing. Stems, so that inflected words match. A test checks every text and mail.
 */
type Term = { readonly english: RegExp; readonly words: Readonly<Record<string, RegExp>> }

export const terms: Readonly<Record<string, Term>> = {
  wallet: {
    english: /\bwallet/i,
    words: {
      de: /\bWallet/,
      es: /monedero/i,
      fr: /portefeuille/i,
      pt: /carteira/i,
      ar: /محفظ/,
      he: /ארנק/,
      ja: /ウォレット/,
    },
  },
  balance: {
    english: /\bbalance/i,
    words: { de: /Kontostand/, es: /saldo/i, fr: /solde/i, pt: /saldo/i, ar: /رصيد/, he: /יתר/, ja: /残高/ },
  },
  topUp: {
    english: /\btop-?up/i,
    words: { de: /auflad/i, es: /recarga/i, fr: /recharge/i, pt: /recarga/i, ar: /شحن/, he: /טעינ/, ja: /チャージ/ },
  },
  payment: {
    english: /\bpayment/i,
    words: {
      de: /zahl/i,
      es: /pago/i,
      fr: /paiement/i,
      pt: /pagamento/i,
      ar: /دفع|مدفوع/,
      he: /תשלו/,
      ja: /支払|カード決済/,
    },
  },
  refund: {
    english: /\brefund/i,
    words: { de: /erstatt/i, es: /reembols/i, fr: /rembours/i, pt: /reembols/i, ar: /رد/, he: /ה(ו)?חזר/, ja: /返金/ },
  },
  receipt: {
    english: /\breceipt/i,
    words: { de: /beleg/i, es: /recibo/i, fr: /reçu/i, pt: /recibo/i, ar: /إيصال/, he: /קבל/, ja: /領収書/ },
  },
  statement: {
    english: /\bstatement/i,
    words: {
      de: /kontoausz[uü]g/i,
      es: /extracto/i,
      fr: /relevé/i,
      pt: /extrato/i,
      ar: /كش(و)?ف/,
      he: /ד(פי|ף)/,
      ja: /取引明細/,
    },
  },
  entry: {
    english: /\b(entry|entries)\b/i,
    words: {
      de: /eintr[aä]g/i,
      es: /movimiento/i,
      fr: /opération/i,
      pt: /lançamento/i,
      ar: /حرك/,
      he: /רישו/,
      ja: /履歴/,
    },
  },
  reference: {
    english: /\breference/i,
    words: {
      de: /referenz/i,
      es: /referencia/i,
      fr: /référence/i,
      pt: /referência/i,
      ar: /مرجع/,
      he: /אסמכת/,
      ja: /参照/,
    },
  },
  card: {
    english: /\bcard/i,
    words: { de: /kart/i, es: /tarjeta/i, fr: /carte/i, pt: /cartão/i, ar: /بطاق/, he: /כרטיס/, ja: /カード/ },
  },
  dispute: {
    english: /\bdisput/i,
    words: {
      de: /anfecht|angefocht/i,
      es: /disput/i,
      fr: /contest|litige/i,
      pt: /contest/i,
      ar: /اعتراض/,
      he: /ה(ו)?כחש/,
      ja: /異議申し立て/,
    },
  },
  signIn: {
    english: /\bsign(ed|s|ing)?[- ]in\b/i,
    words: {
      de: /anmeld|angemeldet|melden (Sie )?sich/i,
      es: /sesión/i,
      fr: /conne/i,
      pt: /entr/i,
      ar: /دخول/,
      he: /תחבר/,
      ja: /ログイン/,
    },
  },
  signOut: {
    english: /\bsign(ed|s|ing)?( you)? out\b/i,
    words: {
      de: /abmeld|abgemeldet|melden Sie sich ab/i,
      es: /sesi(ón|ones)/i,
      fr: /déconne/i,
      pt: /\bsa[ií]/i,
      ar: /خروج/,
      he: /תנתק/,
      ja: /ログアウト/,
    },
  },
  disconnect: {
    english: /\bdisconnect/i,
    words: {
      de: /trenn/i,
      es: /desconect/i,
      fr: /dissoci/i,
      pt: /desconect/i,
      ar: /لغ.* (ال)?ربط/,
      he: /נתק|ניתוק|נותק/,
      ja: /解除/,
    },
  },
  account: {
    english: /\baccount/i,
    words: { de: /konto/i, es: /cuenta/i, fr: /compte/i, pt: /conta/i, ar: /حساب/, he: /חשבון/, ja: /アカウント/ },
  },
  app: {
    english: /\bapps?\b/i,
    words: { de: /\bApp/, es: /\bapp/i, fr: /application/i, pt: /\bapp/i, ar: /تطبيق/, he: /אפליקצי/, ja: /アプリ/ },
  },
  password: {
    english: /\bpassword/i,
    words: {
      de: /Passwort/,
      es: /contraseña/i,
      fr: /mots? de passe/i,
      pt: /senha/i,
      ar: /كلم(ة|ات) (ال)?مرور/,
      he: /סיסמ/,
      ja: /パスワード/,
    },
  },
  code: {
    english: /\bcodes?\b/i,
    words: { de: /code/i, es: /código/i, fr: /code/i, pt: /código/i, ar: /رمز/, he: /קוד/, ja: /コード/ },
  },
  email: {
    english: /\bemails?\b/i,
    words: {
      de: /E-Mail/,
      es: /correo/i,
      fr: /e-mail/i,
      pt: /e-mail/i,
      ar: /بريد|رسائل|رسال/,
      he: /דוא״ל|הודע/,
      ja: /メール/,
    },
  },
  onHold: {
    english: /\bon hold\b/i,
    words: {
      de: /reservier/i,
      es: /reserva/i,
      fr: /réserv/i,
      pt: /reserv/i,
      ar: /حج[زو]|محجوز/,
      he: /שריינ|משוריי/,
      ja: /確保/,
    },
  },
  frozen: {
    english: /\bfrozen\b/i,
    words: {
      de: /gesperrt/i,
      es: /bloquead/i,
      fr: /bloqué/i,
      pt: /bloquead/i,
      ar: /موقوف|إيقاف/,
      he: /מוקפא/,
      ja: /停止/,
    },
  },
  activity: {
    english: /\bactivity\b(?! in)/i,
    words: {
      de: /Umsätz/,
      es: /actividad|movimiento/i,
      fr: /activité|opération/i,
      pt: /atividade/i,
      ar: /حرك/,
      he: /פעילות/,
      ja: /履歴/,
    },
  },
  device: {
    english: /\bdevice/i,
    words: {
      de: /Gerät/,
      es: /dispositivo/i,
      fr: /appareil/i,
      pt: /dispositivo/i,
      ar: /جهاز|أجهز/,
      he: /מכשיר/,
      ja: /デバイス/,
    },
  },
  support: {
    english: /\bsupport\b/i,
    words: { de: /Support/, es: /soporte/i, fr: /assistance/i, pt: /suporte/i, ar: /دعم/, he: /תמיכ/, ja: /サポート/ },
  },
  amount: {
    english: /\bamount\b/i,
    words: { de: /Betrag/, es: /importe/i, fr: /montant/i, pt: /valor/i, ar: /مبلغ/, he: /סכום/, ja: /金額/ },
  },
  proof: {
    english: /\bproofs?\b/i,
    words: { de: /nachweis/i, es: /prueba/i, fr: /preuve/i, pt: /prova/i, ar: /إثبات/, he: /הוכח/, ja: /証明/ },
  },
  checkpoint: {
    english: /\bcheckpoint/i,
    words: {
      de: /Prüfpunkt/,
      es: /punto de control/i,
      fr: /point de contrôle/i,
      pt: /ponto de controle/i,
      ar: /نقطة التحقق|نقطة تحقق/,
      he: /נקוד(ה|ת) (ה)?ביקורת/,
      ja: /チェックポイント/,
    },
  },
  belowZero: {
    english: /\bbalance is (now )?below zero/i,
    words: {
      de: /Kontostand ist( jetzt)? im Minus/,
      es: /saldo .*cero|saldo .*negativ/i,
      fr: /solde .*négatif/i,
      pt: /saldo .*(zero|negativ)/i,
      ar: /رصيدك/,
      he: /היתרה/,
      ja: /残高/,
    },
  },
}

/** A second word for a thing that has one, or a word that users did not understand. */
export const never: Readonly<Record<string, readonly RegExp[]>> = {
  en: [
    /\blog(s|ged|ging)?[- ]?(in|out)\b/i,
    /\bmails?\b/i,
    /\blook further/i,
    /for ever/i,
    /\bto quote\b/i,
    /\btransactions?\b/i,
    /\bunlink/i,
    /\be-mail/i,
    /\blog ?in\b/i,
  ],
  de: [
    /Guthaben/,
    /Geldbörse/,
    /Brieftasche/,
    /Saldo/,
    /(?<!-)\bMails?\b/,
    /Quittung/,
    /einloggen|ausloggen/i,
    /Kennwort/,
  ],
  es: [/cartera/i, /aplicaci/i, /billetera/i, /desvincul/i, /\bemail/i, /factura/i],
  fr: [
    /\bapplis?\b/i,
    /reli(er|ée)/i,
    /\bsupport\b/i,
    /courriel/i,
    /déconnecter (\{app\}|l’application)/i,
    /\{app\} .*déconnectée/i,
  ],
  pt: [/aplicativo/i, /desvincul/i, /comprovante/i, /transaç/i, /palavra-passe/i],
  ar: [/معاملات/, /كلمة السر/, /المحفوظ/, /البنك/],
  he: [/אימייל/, /יישום/, /סיסמא\b/],
  ja: [/サインイン/, /サインアウト/, /財布/, /端末/],
}
