import type { Words } from '../words.ts'

export const words: Words['paper'] = {
  receipt: 'קבלה',
  statement: 'דף חשבון',
  print: 'הדפסה',
  csvFile: 'קובץ CSV',
  questions: 'שאלות?',
  receiptCode: 'קוד הקבלה',
  holder: 'הארנק של',
  refunded: 'הוחזר לכרטיס',
  opening: 'יתרת פתיחה',
  closing: 'יתרת סגירה',
  moneyIn: 'כסף נכנס',
  moneyOut: 'כסף יוצא',
  timeZone: 'אזור זמן',
  noEntries: 'אין פעילות בחודש הזה.',
  tooLong: 'רישומים בחודש הזה: {count}. הדף מציג את {shown} הראשונים. קובץ ה־CSV מכיל את כולם.',
  amount: 'סכום',
  balance: 'יתרה',
  reference: 'אסמכתה',
  currency: 'מטבע',
  usedTitle: 'את הדף הזה אפשר לפתוח פעם אחת בלבד',
  usedText: 'כדי להגן על הנתונים שלך, תוקף הקישור פג. אפשר לפתוח את הדף שוב מהארנק.',
  data: 'הנתונים שלי',
  dataText:
    'כל הנתונים שיש לשירות הזה עליך, בקובץ JSON אחד: החשבון שלך, האפליקציות שחיברת, הטעינות שלך, היסטוריית החשבון וכל רישום בארנק.',
  dataFile: 'הורדה',
}
