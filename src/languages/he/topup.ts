import type { Words } from '../words.ts'

export const words: Words['topup'] = {
  amount: 'סכום',
  otherAmount: 'סכום אחר',
  continue: 'המשך',
  amountWrong: 'יש להזין סכום בין {min} ל־{max}.',
  amountUnclear: 'אפשר לקרוא את הסכום הזה בשתי דרכים. עבור {amount} יש להזין {example}.',
  amountForeign: 'המטבע של הארנק הזה הוא {currency}. יש להזין את הסכום במטבע {currency}.',
  amountMalformed: 'אי אפשר לקרוא את הסכום הזה. יש לכתוב אותו כך: {example}.',
  topupAtLeast: 'סכום הטעינה המינימלי הוא {min}. מה שיישאר יישמר בארנק שלך.',
  topupAtMost: 'סכום הטעינה המרבי הוא {max}. את היתר אפשר להוסיף בטעינה נוספת.',
  topupNoneTitle: 'לא ניתן לבצע טעינה',
  topupNoneText: 'הארנק הזה אינו מקבל כרגע תשלומים בכרטיס. היתרה שלך לא מושפעת.',
  topupFrozenText: 'הארנק מוקפא, ולכן אי אפשר להוסיף כסף בכרטיס.',
  topupExpiredText: 'יש לסגור את החלון ולבחור שוב ב”הוספת כסף” ב־{app}.',
  topupInto: 'לארנק של {name}',
  topupPreparing: 'התשלום בהכנה…',
  topupChecking: 'התשלום בבדיקה…',
  onItsWay: '{amount} כבר בדרך. הבנק שלך עדיין מעבד את התשלום.',
  topupLands: 'אם שילמת, הכסף בכל זאת יגיע לארנק שלך.',
  backToWallet: 'חזרה לארנק',
}
