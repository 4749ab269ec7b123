import type { Words } from '../words.ts'

export const words: Words['pending'] = {
  waitingEntry: 'טעינה בתהליך',
  failedEntry: 'הטעינה לא הושלמה',
  failedDeclined: 'הכרטיס נדחה. לא הועבר כסף.',
  failedAuthentication: 'הבנק לא הצליח לאמת את זהותך. לא הועבר כסף.',
  failedUnconfirmed: 'הבנק לא קיבל אישור. לא הועבר כסף.',
  failedCancelled: 'היא בוטלה. לא הועבר כסף.',
  failedOther: 'הבנק לא השלים אותה. לא הועבר כסף.',

  holdEntry: 'תשלום משוריין',
  holdUntil: 'עד {when}',
  holdsText: 'אפליקציות שריינו את הכסף הזה לתשלומים. מה שלא ייגבה בזמן יחזור לרשותך.',
  holdTaken: '{taken} מתוך {amount} כבר שולמו',
  holdsNone: 'אין כסף משוריין.',
  holdsAll: 'הצגת כל המשוריין',
  holdsMore: 'ישנים יותר אינם מוצגים.',
  wholeBalance: 'יתרה',
}
